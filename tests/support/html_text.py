"""A page's HTML without the line breaks and indents of its templates, so that a test does not know them."""

from __future__ import annotations

import re


def lean(html: str) -> str:
    """``html`` with each run of white space as one space, and none beside or at the end of a tag."""
    spaced = " ".join(html.split())
    return re.sub(r"\s*(<[^<>]*?)\s*(>)\s*", r"\1\2", spaced)
