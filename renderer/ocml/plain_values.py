"""The values that a document header can contain: those of JSON, as far as YAML can represent them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeAlias

from renderer.errors import ParseHeaderError

DEPTH_LIMIT = 32
Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate: not a character, and not possible in UTF-8."""


def plain_mapping(values: Mapping[str, object], depth: int = 1) -> dict[str, Value]:
    """The same values in plain containers. Values that are not JSON are refused: they would not survive a round trip."""
    if not all(isinstance(key, str) and not SURROGATE.search(key) for key in values):
        raise ParseHeaderError("a key in the document header is not a string")
    return {str(key): _plain(item, depth + 1) for key, item in values.items()}


def _plain(value: object, depth: int) -> Value:
    if depth > DEPTH_LIMIT:
        raise ParseHeaderError("the document header is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and not SURROGATE.search(value):
        return str(value)
    if isinstance(value, int) and abs(value) < 10**4000:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return plain_mapping(value, depth)
    raise ParseHeaderError("a value of a type that a document header cannot contain")
