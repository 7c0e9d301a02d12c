"""Makes a tool call's text safe to judge: every character in it is visible, and none can reorder the text."""

from __future__ import annotations

import json
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_MARKS = {"Mn", "Me"}
MOST_MARKS = 5
"""More than any language writes on one letter."""
_LETTERS_OF_NOTHING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str) -> str:
    """The text with every character that cannot be seen as an escape, as JSON writes it: ``\\u202e``. Line breaks and tabs stay.

    A browser would follow such characters: the order of what is read could be another one than the order of what runs, and a name could
    hold what nobody sees (Trojan Source, CVE-2021-42574; tags and variation selectors carry whole texts). Of many marks on one letter,
    which would cover the lines around it, the first stay.
    """
    shown, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in _MARKS else 0
        shown.append(_escape(char) if marks > MOST_MARKS or _is_hidden(char) else char)
    return "".join(shown)


def _is_hidden(char: str) -> bool:
    if char in " \n\t":
        return False
    return unicodedata.category(char) in _HIDDEN or char in _LETTERS_OF_NOTHING or any(ord(char) in each for each in _SELECTORS)


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) > 0x7E else f"\\u{ord(char):04x}"
