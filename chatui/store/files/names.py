"""Cleans the names of stored files, so that a name from a model or a person is harmless."""

from __future__ import annotations

import re

from chatui.store.files.visible_names import shortened, visible

MAX_CHARS = 80
_MAX_ENDING = 12
_SEPARATORS = re.compile(r"[\\/]+")
_RESERVED = re.compile(r'[<>:"|?*]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_DEFAULT_NAME = "file"


def clean(name: str) -> str:
    """The file name without directories, with at most ``MAX_CHARS`` characters; ``a/b.png`` becomes ``a_b.png``.

    Invisible characters are removed (``visible_names``). So are names and characters with a special meaning in file systems, because people
    save the file, and sandboxes use its name.
    """
    flat = _RESERVED.sub("_", _SEPARATORS.sub("_", " ".join(visible(name).split()))).strip(". ")
    short = _shortened(flat) or _DEFAULT_NAME
    return f"{_DEFAULT_NAME}_{short}" if _DEVICES.match(short) else short


def _shortened(name: str) -> str:
    """Shorten the name before its extension, which identifies the file type."""
    if len(name) <= MAX_CHARS:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending) <= _MAX_ENDING else ""
    return shortened(name, MAX_CHARS - len(ending)).rstrip(". ") + ending
