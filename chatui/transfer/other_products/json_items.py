"""Splits a JSON list into its items without parsing them, so that only one of them is in parsed form at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_BRACKETS = 4_000_000
"""The most brackets of a file that are examined. A message of ChatGPT has about thirty."""

MAX_ITEMS = 50_000


class TooMuchError(Exception):
    """The rest of the file is not read."""


def begins_list(data: bytes) -> bool:
    """Whether the data begins like a JSON list."""
    return _LIST_BEGINS.match(data) is not None


def items(data: bytes) -> Iterator[bytes]:
    """The objects and lists in a JSON list. Text after the list is ignored; an unterminated item is returned as it is.

    Raises:
        TooMuchError: after the items found so far, if there is too much to examine.
    """
    found = _LIST_BEGINS.match(data)
    position, begin, depth, given = found.end() if found else len(data), 0, 1, 0
    for _ in range(MAX_BRACKETS):
        step = _TO_BRACKET.match(data, position)
        if step is None:
            break
        position = step.end()
        if data[position - 1] in b"[{":
            begin = position - 1 if depth == 1 else begin
            depth += 1
            continue
        depth -= 1
        if depth == 0:
            return
        if depth == 1:
            if (given := given + 1) > MAX_ITEMS:
                raise TooMuchError
            yield data[begin:position]
    else:
        raise TooMuchError
    if depth > 1:
        yield data[begin:]


_LIST_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\[")
# Everything up to the next bracket outside a string, in one step. An unterminated string has none.
_TO_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+[\[\]{}]', re.DOTALL)
