"""Cleans the names of stored files, so that a name from a model or a person is harmless."""

from __future__ import annotations

import re
import unicodedata

MOST_CHARS = 80
_MOST_ENDING = 12
_DIVIDERS = re.compile(r"[\\/]+")
_RESERVED = re.compile(r'[<>:"|?*]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_NAMELESS = "file"


def clean(name: str) -> str:
    """The name of a file in one part, of at most ``MOST_CHARS`` characters; ``a/b.png`` becomes ``a_b.png``.

    Without characters that nobody sees: with those that change the direction, ``exe.png`` can look like ``gnp.exe``. Without what a file
    system reads as something else, because people save the file, and it is laid into a sandbox under this name.
    """
    seen = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", name)
        if character.isspace() or unicodedata.category(character) not in _UNSEEN
    )
    flat = _RESERVED.sub("_", _DIVIDERS.sub("_", " ".join(seen.split()))).strip(". ")
    short = _shortened(flat) or _NAMELESS
    return f"{_NAMELESS}_{short}" if _DEVICES.match(short) else short


def _shortened(name: str) -> str:
    """Cut before the ending, by which people and programs know what a file is."""
    if len(name) <= MOST_CHARS:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending) <= _MOST_ENDING else ""
    return name[: MOST_CHARS - len(ending)].rstrip(". ") + ending
