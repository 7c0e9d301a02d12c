"""Separates the code in a person's question from the rest, which is shown as it was typed."""

from __future__ import annotations

import re
from collections.abc import Iterator

MANY_CHARACTERS, MANY_LINES = 1500, 18
"""A longer question is folded on pages."""

_FENCE = re.compile(r" {0,3}(?P<marker>`{3,}(?=[^`]*$)|~{3,})")


def is_long(text: str) -> bool:
    """Whether a question would take more than about a screen."""
    return len(text) > MANY_CHARACTERS or text.count("\n") >= MANY_LINES


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """A normalized text in parts: whether each is a code block, with its fences, and its lines. Blank lines around code are left out.

    An unclosed fence is not a code block: people also paste text that merely contains one.
    """
    lines = text.split("\n")
    begin = line = 0
    unended: dict[str, int] = {}
    while line < len(lines):
        end = _end_of_fence(lines, line, unended)
        if end < 0:
            line += 1
            continue
        yield from _plain(lines[begin:line])
        yield True, "\n".join(lines[line : end + 1])
        begin = line = end + 1
    yield from _plain(lines[begin:])


def _end_of_fence(lines: list[str], line: int, unended: dict[str, int]) -> int:
    """The line that closes the fence opened in ``line``; -1 if it opens none, or if the fence is never closed.

    ``unended``: for each kind of fence, the length from which on no fence is closed. Otherwise each of many fences would be searched for to
    the end of the text.
    """
    fence = _FENCE.match(lines[line])
    if fence is None:
        return -1
    kind, length = fence["marker"][0], len(fence["marker"])
    if length >= unended.get(kind, length + 1):
        return -1
    closer = re.compile(rf" {{0,3}}{kind}{{{length},}}[ \t]*")
    end = next((at for at in range(line + 1, len(lines)) if closer.fullmatch(lines[at])), -1)
    if end < 0:
        unended[kind] = length
    return end


def _plain(lines: list[str]) -> Iterator[tuple[bool, str]]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield False, text
