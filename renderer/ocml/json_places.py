"""Where in JSON text something stands: bytes to text, positions to places, and where the message of a number begins."""

from __future__ import annotations

import json
import re

from renderer.errors import ParseHeaderError, Place

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair: no character, and nothing that UTF-8 can carry."""


def decoded(text: str | bytes) -> str:
    """The text, without a byte order mark. Raises ParseHeaderError, with the place, for bytes that are no UTF-8 and for half a pair."""
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
    """The place of a character of ``text``, in the message of that number."""
    before = text[:position]
    return Place(len(before.encode("utf-8")), before.count("\n") + 1, position - before.rfind("\n"), frame)


_SPACE = re.compile(r"[ \t\r\n]*")


def message_begins(text: str, number: int) -> int:
    """Where the message of that number begins, in a text that is known to be a document."""
    # Numbers are skipped, not read: some that are JSON are none to Python.
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
