"""Cleans text for a page: removes control characters and makes characters that change the text direction visible."""

from __future__ import annotations

import re

from renderer.markup import links


def normalize(text: str) -> str:
    """Line ends as ``\\n``; U+FFFD for what a page cannot contain (control characters, lone surrogates)."""
    return _FORBIDDEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def code_text(text: str) -> str:
    """Text inside ``code``: direction controls are made visible, since reordered code looks different from what it does."""
    return links.BIDI_CONTROLS.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def prose(text: str) -> str:
    """Text outside ``code``: direction controls are left out."""
    return links.BIDI_CONTROLS.sub("", text)
