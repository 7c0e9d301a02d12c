"""Finds the line and column of a position or a message in JSON text."""

from __future__ import annotations

import json
import re

from renderer.errors import ParseHeaderError, Place

SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate: not a character, and not possible in UTF-8."""


def decoded(text: str | bytes) -> str:
    """The text, without a byte order mark. Raises ParseHeaderError, with the place, for invalid UTF-8 and for lone surrogates."""
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            before = text[: error.start].decode("utf-8")
            raise ParseHeaderError("bytes that are no UTF-8", place_of(before, len(before))) from None
    if found := SURROGATE.search(text):
        raise ParseHeaderError("half a surrogate pair", place_of(text, found.start()))
    return text.removeprefix("\ufeff")


def place_of(text: str, position: int, frame: int | None = None) -> Place:
    """The place of a character of ``text``; ``frame`` is the number of its message."""
    before = text[:position]
    return Place(len(before.encode("utf-8")), before.count("\n") + 1, position - before.rfind("\n"), frame)


_SPACE = re.compile(r"[ \t\r\n]*")


def message_begins(text: str, number: int) -> int:
    """Where the message with this number begins, in a text that is known to be a document."""
    # Numbers are skipped, not parsed: Python refuses some that are valid JSON.
    decoder = json.JSONDecoder(parse_int=len, parse_float=len)
    position, found = _skip(text, 0) + 1, 0
    while text[_skip(text, position)] != "}":
        key, position = decoder.raw_decode(text, _skip(text, position))
        position = _skip(text, _skip(text, position) + 1)
        if key == "messages":
            found = position
        _value, position = decoder.raw_decode(text, position)
        position = _skip(text, position)
        position += text[position] == ","
    position = _skip(text, found + 1)
    for _ in range(number):
        _value, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)
    return position


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
