"""Cleans untrusted text: one line, of bounded length, without invisible characters and prompt markers."""

from __future__ import annotations

import re
import unicodedata

from chatui.tools.functions import one_line

_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Invisible characters, other than format and control characters, which have their own Unicode categories."""
_NOT_TEXT = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_MARKS = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Variation selectors: a sequence of them can hide arbitrary bytes."""
_BLANK = frozenset("\n\r\t\u2028\u2029")


def cleaned(text: str, max_chars: int) -> str:
    """The text on one line of at most ``max_chars`` characters, without anything that could end a definition or a message, and without
    invisible characters.
    """
    seen = "".join(char for char in text[: max_chars * 4] if _is_seen(char))
    line = one_line(_MARKS.sub("", seen))
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"


def is_clean(text: str, max_chars: int) -> bool:
    """Whether the text can be used unchanged in a definition. It is quoted there, so it must not contain quotes."""
    return cleaned(text, max_chars) == text and not set('"\\`') & set(text)


def _is_seen(char: str) -> bool:
    return char in _BLANK or (char not in _INVISIBLE and unicodedata.category(char) not in _NOT_TEXT)
