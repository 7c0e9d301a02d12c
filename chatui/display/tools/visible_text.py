"""Makes a tool call's text safe to judge: every character in it is visible, and none can reorder the text."""

from __future__ import annotations

import json
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_MARKS = {"Mn", "Me"}
MAX_MARKS = 5
"""More than any language puts on one letter."""
_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str) -> str:
    """The text with every invisible character as a JSON escape, such as ``\\u202e``. Line breaks and tabs stay.

    A browser would obey such characters: text could be shown in another order than it runs in, and a name could contain hidden text
    (Trojan Source, CVE-2021-42574; tags and variation selectors can carry whole texts). Many marks on one letter would cover the lines
    around it, so only the first MAX_MARKS stay.
    """
    shown, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in _MARKS else 0
        shown.append(_escape(char) if marks > MAX_MARKS or _is_hidden(char) else char)
    return "".join(shown)


def _is_hidden(char: str) -> bool:
    if char in " \n\t":
        return False
    return unicodedata.category(char) in _HIDDEN or char in _INVISIBLE_LETTERS or any(ord(char) in each for each in _SELECTORS)


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) > 0x7E else f"\\u{ord(char):04x}"
