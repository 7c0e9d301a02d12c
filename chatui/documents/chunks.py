"""Splits a document's text into passages of a few paragraphs, for the document search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

CHARS = 1500
"""The length of a passage, about 400 tokens of English."""
_MIN_CHARS = 600
"""The shortest passage, unless its part ends earlier."""
_ENDS = tuple(re.compile(sign) for sign in (r"\n(?=#{1,6} )", r"\n\n", r"\n", r"[.!?。！？]\s*", r"\s"))
"""Where a passage may end, in order of preference: before a heading, then between paragraphs, lines, sentences, words."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of the part ``number`` (from 1), which begins at the character offset ``start``."""

    number: int
    start: int
    text: str = field(repr=False)


def chunks(texts: Iterable[str]) -> Iterator[Chunk]:
    """The passages of a document, in order.

    ``texts``: the texts of its parts. No passage crosses the end of a part, so each is on one page.
    """
    for number, text in enumerate(texts, 1):
        start = 0
        while start < len(text):
            end = _end(text, start)
            if (piece := text[start:end]).strip():
                yield Chunk(number, start, piece)
            start = end


def _end(text: str, start: int) -> int:
    most = start + CHARS
    if len(text) <= most:
        return len(text)
    for sign in _ENDS:
        found = [match.end() for match in sign.finditer(text, start + _MIN_CHARS, most)]
        if found:
            return found[-1]
    return most
