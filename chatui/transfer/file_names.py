"""Makes download file names from conversation titles, valid on every file system."""

from __future__ import annotations

import re
import unicodedata

from django.utils.http import content_disposition_header

_MOST_BYTES = 120
"""Of the title in the name, in UTF-8: file systems take 255 for the whole name, and people add to it."""
_RESERVED = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def file_name(title: str, ending: str) -> str:
    """The title as a file name that ends with ``ending``; ``conversation`` where nothing of the title can stand in one.

    Characters that nobody sees go as well: with those that change the direction, ``fdp.exe`` can look like ``exe.pdf``.
    """
    seen = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", title)
        if character.isspace() or unicodedata.category(character) not in _UNSEEN
    )
    name = " ".join(_RESERVED.sub(" ", seen).split()).strip(". ")
    name = name.encode()[:_MOST_BYTES].decode(errors="ignore").strip(". ")
    if not name or _DEVICES.match(name):
        name = f"conversation {name}".strip()
    return name + ending


def attachment(title: str, ending: str) -> str:
    """The ``Content-Disposition`` of a download with that name, as RFC 6266 and RFC 8187 write it."""
    return str(content_disposition_header(True, file_name(title, ending)))
