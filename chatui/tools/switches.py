"""Reads from a form which tools are switched off."""

from __future__ import annotations

from chatui.tools.tool import NAME

MOST = 40
"""The most names to read, more than are ever offered."""


def names_of(line: str) -> frozenset[str]:
    """The names in a line with commas between them; invalid tool names are left out."""
    names = (name.strip() for name in line[:4000].split(","))
    return frozenset([name for name in names if NAME.fullmatch(name)][:MOST])
