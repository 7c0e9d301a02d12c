"""Finds control tokens in text that arrives in pieces: what may be the beginning of one is held back, and nothing more."""

from __future__ import annotations

import re

from renderer.tokens import Token

TOKEN = re.compile(r"<\|(?:start|channel|message|call|constrain|return|end|literal|endliteral)\|>")
LONGEST_BEGINNING = max(map(len, Token)) - 1
"""The most characters that are ever held back."""


def beginnings(text: str) -> frozenset[str]:
    """Everything that ``text`` begins with, but for nothing and all of it."""
    return frozenset(text[:length] for length in range(1, len(text)))


BEGINNINGS = frozenset[str]().union(*(beginnings(token.value) for token in Token))


def held_back(buffer: str, position: int, among: frozenset[str] = BEGINNINGS) -> str:
    """The end of ``buffer``, not before ``position``, that is one of ``among``; empty where none is."""
    begin = buffer.rfind("<", max(position, len(buffer) - LONGEST_BEGINNING))
    if begin < 0 or (held := buffer[begin:]) not in among:
        return ""
    return held
