"""What is printed to a terminal: text of models and people, with what could move the cursor or turn text around spelled out."""

from __future__ import annotations

import re

# Line breaks and tabs do no harm. Halves of characters cannot be written at all.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """``text`` with control characters as ``\\x1b``. Character by character, so that growing text may be cut anywhere."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
