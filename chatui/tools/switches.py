"""Parses the names of the tools that a person has switched off, as a form submits them."""

from __future__ import annotations

from chatui.tools.tool import NAME

MAX_NAMES = 40
"""The maximum number of names to read: more than there are tools on offer."""


def names_of(line: str) -> frozenset[str]:
    """The names in a comma-separated line, without invalid ones."""
    names = (name.strip() for name in line[:4000].split(","))
    return frozenset([name for name in names if NAME.fullmatch(name)][:MAX_NAMES])
