"""Cleans the names of stored files, so that a name from a model or a person is harmless."""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 80
_MAX_ENDING = 12
_SEPARATORS = re.compile(r"[\\/]+")
_RESERVED = re.compile(r'[<>:"|?*]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_DEFAULT_NAME = "file"


def clean(name: str) -> str:
    """The file name without directories, with at most ``MAX_CHARS`` characters; ``a/b.png`` becomes ``a_b.png``.

    Invisible characters are removed: those that change the writing direction can make ``exe.png`` look like ``gnp.exe``. So are names and
    characters with a special meaning in file systems, because people save the file, and sandboxes use its name.
    """
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", name)
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )
    flat = _RESERVED.sub("_", _SEPARATORS.sub("_", " ".join(visible.split()))).strip(". ")
    short = _shortened(flat) or _DEFAULT_NAME
    return f"{_DEFAULT_NAME}_{short}" if _DEVICES.match(short) else short


def _shortened(name: str) -> str:
    """Shorten the name before its extension, which identifies the file type."""
    if len(name) <= MAX_CHARS:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending) <= _MAX_ENDING else ""
    return name[: MAX_CHARS - len(ending)].rstrip(". ") + ending
