"""Bundles style sheets: replaces each import with the imported sheet, and removes comments and unnecessary white space."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from chatui.static_storage import minify


def bundle_sheets(sources: Mapping[str, str]) -> dict[str, str]:
    """The sheets that browsers load, by name. A sheet that others import can also be loaded on its own."""
    return {name: minify.sheet(_whole(name, sources)) for name in sources}


def _whole(name: str, sources: Mapping[str, str]) -> str:
    folder = posixpath.dirname(name)
    return _SHEET_IMPORT.sub(lambda found: _whole(posixpath.normpath(posixpath.join(folder, found["path"])), sources), sources[name])


_SHEET_IMPORT = re.compile(r"""^@import "(?P<path>[^"]+)";\n""", re.MULTILINE)
