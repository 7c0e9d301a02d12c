"""A JSON parser that accepts only what RFC 8259 defines: no NaN, and limited nesting.

It checks ``<|constrain|>json`` and reads tool calls, replies and the JSON interchange. Its result never depends on the caller's stack.
"""

from __future__ import annotations

import json
import math
import re
from itertools import islice
from typing import Any, TypeAlias

from renderer import characters

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

DEPTH_LIMIT = 200
"""The deepest nesting that is read. Deeper values are refused: the recursion limit must not decide which body is valid."""

# An unclosed string matches up to the end of the text, so that no part of it is scanned twice.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


class JsonError(ValueError):
    """The text is not JSON as accepted here. ``position`` is a character offset from 0; the message does not quote the text."""

    def __init__(self, hint: str, position: int = 0) -> None:
        super().__init__(hint)
        self.position = position


class TooManyValuesError(JsonError):
    """There are more values than may be read at once."""


def object_of(value: object) -> dict[str, Any]:
    """The value, if it is an object; else an empty one: for values of others, whose types cannot be relied on."""
    return value if type(value) is dict else {}


def list_of(value: object) -> list[Any]:
    """The value, if it is a list; else an empty one."""
    return value if type(value) is list else []


def text_of(value: object) -> str:
    """The value, if it is text; else empty text."""
    return value if type(value) is str else ""


def loads(text: str, *, exact: bool = False) -> JsonValue:
    """Parse ``text`` as one value. ``exact`` refuses what could not be written back unchanged: duplicate keys, numbers beyond a double or
    4,000 digits. Raises JsonError."""
    if _is_too_deep(text):
        raise JsonError("the value is nested too deeply")
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_constant, **(_EXACT if exact else _ROUNDED))
    except json.JSONDecodeError as error:
        raise JsonError("the text is not valid JSON", error.pos) from None
    return value


def is_json(text: str, *, exact: bool = False) -> bool:
    """Whether ``text`` is one JSON value, as ``loads`` reads it. White space around it is allowed."""
    try:
        loads(text, exact=exact)
    except JsonError:
        return False
    return True


def loads_bounded(data: bytes, most: int) -> Any:
    """Parse the bytes of somebody else, if they have at most ``most`` marks (``has_more_marks``), as Python's own parser does.

    Nothing else runs in the process meanwhile, on no thread: a few megabytes of empty lists take half a second. Only UTF-8 is read, as
    RFC 8259 (8.1) says: Python would read UTF-16 and UTF-32, too, in whose bytes marks hide.

    Raises:
        TooManyValuesError: there are more.
        JsonError: it is not JSON.
    """
    # Each string of JSON follows one of these, or its key does: most data has so few that nothing need be counted exactly.
    if 3 * sum(map(data.count, (b",", b"[", b"{"))) > most and has_more_marks(data, most):
        raise TooManyValuesError("there are too many values")
    try:
        return json.loads(data.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        raise JsonError("the data is not valid JSON") from None


def has_more_marks(data: bytes, most: int) -> bool:
    """Whether JSON has more strings, commas and opening brackets together than ``most``."""
    return next(islice(_JSON_MARK.finditer(data), most, None), None) is not None


def storable(value: Any) -> Any:
    """The JSON value without characters that cannot be stored or sent."""
    match value:
        case str():
            return characters.storable(value)
        case list() | tuple():
            return [storable(item) for item in value]
        case dict():
            return {characters.storable(name): storable(item) for name, item in value.items()}
        case _:
            return value


def finite(value: Any) -> Any:
    """A value of Python's own parser with numbers that JSON has: an infinite one becomes the largest, and NaN null."""
    match value:
        case float():
            return None if math.isnan(value) else max(min(value, _LARGEST), -_LARGEST)
        case list():
            return [finite(item) for item in value]
        case dict():
            return {name: finite(item) for name, item in value.items()}
        case _:
            return value


# An unterminated string is matched up to the end of the data, once.
_JSON_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,]', re.DOTALL)


def _is_too_deep(text: str) -> bool:
    """Whether the nesting exceeds the limit; fast for text with few brackets."""
    if text.count("[") + text.count("{") <= DEPTH_LIMIT:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        bracket = match[0]
        if bracket in "[{":
            depth += 1
            if depth > DEPTH_LIMIT:
                return True
        elif bracket in "]}":
            depth -= 1
    return False


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise JsonError("an object has a duplicate key")
    return values


def _no_constant(_name: str) -> JsonValue:
    raise JsonError("NaN and Infinity are not JSON")


def _finite(digits: str) -> float:
    # 1e999 is JSON. As infinity it could not be written again, so it becomes the largest number instead.
    value = float(digits)
    return max(min(value, _LARGEST), -_LARGEST)


def _integer(digits: str) -> int | float:
    # Python refuses to convert integers of more than 4,300 digits, but they are valid JSON.
    return int(digits) if len(digits) < _DIGITS else _finite(digits)


def _exact_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value) or (value == 0 and _NOT_ZERO.match(digits)):
        raise JsonError("a number that cannot be represented exactly")
    return value


def _exact_integer(digits: str) -> int:
    if len(digits) >= _DIGITS:
        raise JsonError("a number that cannot be represented exactly")
    return int(digits)


_LARGEST = 1.7976931348623157e308
_DIGITS = 4000
_NOT_ZERO = re.compile(r"[-0.]*[1-9]")
_ROUNDED: dict[str, Any] = {"parse_float": _finite, "parse_int": _integer}
_EXACT: dict[str, Any] = {"parse_float": _exact_float, "parse_int": _exact_integer, "object_pairs_hook": _object}
