"""Finds the line and column of a position or a message in JSON text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from renderer.errors import Location, ParseHeaderError

SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate: not a character, and not possible in UTF-8."""

BYTE_ORDER_MARK = "\ufeff"
"""Accepted at the beginning of a text. In places, it counts as three bytes and as no column."""


def without_invalid_characters(text: str | bytes) -> str:
    """The text as ``decoded``, with U+FFFD in place of characters that would be refused."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else SURROGATE.sub("\ufffd", text)


def decoded(text: str | bytes) -> str:
    """The text. Raises ParseHeaderError, with the position, for invalid UTF-8 and for lone surrogates."""
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = text[: error.start].decode("utf-8")
            raise ParseHeaderError("the bytes are not valid UTF-8", location_of(before, len(before))) from None
    if found := SURROGATE.search(text):
        raise ParseHeaderError("an unpaired surrogate", location_of(text, found.start()))
    return text


def location_of(text: str, position: int) -> Location:
    """The position of a character of ``text``, as line and column."""
    return _location_after(Location(0, 1, 1), text[:position])


_SPACE = re.compile(r"[ \t\r\n]*")


def message_locations(text: str) -> list[Location]:
    """Where each message begins, in a text, perhaps with a byte order mark, that is known to be a document with a list of messages."""
    # Numbers are skipped, not parsed: Python refuses some that are valid JSON.
    decoder = json.JSONDecoder(parse_int=len, parse_float=len)
    position, locations = _first_message(text, decoder), list[Location]()
    before, here = 0, Location(0, 1, 1)
    while text[position] != "]":
        here = replace(_location_after(here, text[before:position]), frame=len(locations))
        locations.append(here)
        before = position
        _value, end = decoder.raw_decode(text, position)
        position = _skip(text, end)
        position = _skip(text, position + (text[position] == ","))
    return locations


def _first_message(text: str, decoder: json.JSONDecoder) -> int:
    """The position of the first message, after the opening bracket of the list and any white space."""
    position = _skip(text, text.startswith(BYTE_ORDER_MARK)) + 1
    while True:
        key, position = decoder.raw_decode(text, _skip(text, position))
        position = _skip(text, _skip(text, position) + 1)
        if key == "messages":
            return _skip(text, position + 1)
        _value, position = decoder.raw_decode(text, position)
        position = _skip(text, position) + 1


def _location_after(location: Location, text: str) -> Location:
    """The position directly after ``text``, which begins at ``location``."""
    lines, last = text.count("\n"), text.removeprefix(BYTE_ORDER_MARK).rpartition("\n")[2]
    column = len(last) + (1 if lines else location.column)
    return Location(location.offset + len(text.encode("utf-8")), location.line + lines, column)


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
