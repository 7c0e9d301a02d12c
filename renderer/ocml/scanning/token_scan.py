"""Finds control tokens in streamed text.

Only a possible beginning of a token is held back.
"""

from __future__ import annotations

import re

from renderer.tokens import Token

TOKEN = re.compile(r"<\|(?:start|channel|message|call|constrain|return|end|literal|endliteral)\|>")
MAX_BEGINNING_CHARS = max(map(len, Token)) - 1
"""The largest number of characters that is ever held back."""


def beginnings(text: str) -> frozenset[str]:
    """All prefixes of ``text``, except the empty one and ``text`` itself."""
    return frozenset(text[:length] for length in range(1, len(text)))


BEGINNINGS = frozenset[str]().union(*(beginnings(token.value) for token in Token))


def held_back(buffer: str, position: int, among: frozenset[str] = BEGINNINGS) -> str:
    """The end of ``buffer``, from ``position`` on, that is one of ``among``; empty if there is none."""
    begin = buffer.rfind("<", max(position, len(buffer) - MAX_BEGINNING_CHARS))
    if begin < 0 or (held := buffer[begin:]) not in among:
        return ""
    return held
