"""Makes download file names from conversation titles, valid on every file system."""

from __future__ import annotations

import re

from django.utils.http import content_disposition_header

from chatui.store.files.visible_names import shortened, visible

_MAX_BYTES = 120
"""The longest title in a name, in bytes of UTF-8. File systems allow 255 for the whole name, and people add to it."""
_RESERVED = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def file_name(title: str, ending: str) -> str:
    """The title as a file name that ends with ``ending``; ``conversation`` if no character of the title is allowed in one. Invisible
    characters are removed, too (``visible_names``).
    """
    name = " ".join(_RESERVED.sub(" ", visible(title)).split()).strip(". ")
    name = shortened(name, len(name.encode()[:_MAX_BYTES].decode(errors="ignore"))).strip(". ")
    if not name or _DEVICES.match(name):
        name = f"conversation {name}".strip()
    return name + ending


def attachment(title: str, ending: str) -> str:
    """The ``Content-Disposition`` header of a download with that name (RFC 6266, RFC 8187)."""
    return str(content_disposition_header(True, file_name(title, ending)))
