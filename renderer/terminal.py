"""Makes text safe to print on a terminal.

Characters that could move the cursor or reverse text are printed as escapes.
"""

from __future__ import annotations

import re

# Line breaks and tabs are harmless. Lone surrogates cannot be printed at all.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_for_terminal(text: str) -> str:
    """``text`` with control characters written like ``\\x1b``. Works character by character, so a stream may be cut anywhere."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
