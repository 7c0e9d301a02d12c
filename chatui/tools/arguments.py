"""Checks the arguments of a call against the schema of its tool, in bounded time whatever the schema says.

The regular expressions of jsonschema-rs are linear, where the pure-Python library was stalled for seconds by one. References are refused:
each level of them can double the work, in any library, and they can name addresses. What makes schemas writes them out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from chatui.tools.tool import ToolUnusableError

SCHEMA_CHARS = 16_000
SCHEMA_DEPTH = 32
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
MESSAGE_CHARS = 300


def fault(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """The first thing that is wrong with the arguments, in words for the model; None where nothing is. All of them could be very many.

    Raises:
        ToolUnusableError: the schema is none, or too much of one.
    """
    try:
        _checker(json.dumps(schema, sort_keys=True)).validate(dict(arguments))
    except jsonschema_rs.ValidationError as error:
        place = ".".join(map(str, error.instance_path))
        return f"{place or 'arguments'}: {error.message}"[:MESSAGE_CHARS]
    return None


@lru_cache(maxsize=200)
def _checker(schema: str) -> jsonschema_rs.Draft202012Validator:
    if len(schema) > SCHEMA_CHARS or _depth(schema) > SCHEMA_DEPTH:
        raise ToolUnusableError("its schema is too large")
    if any(word in schema for word in _REFERENCES):
        raise ToolUnusableError("its schema has references")
    try:
        return jsonschema_rs.Draft202012Validator(json.loads(schema), offline=True, pattern_options=jsonschema_rs.RegexOptions())
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        raise ToolUnusableError("its schema is no JSON Schema that can be checked here") from None


def _depth(text: str) -> int:
    """How deep the braces and brackets go; those inside strings count as well, which can only make it more."""
    deepest = depth = 0
    for char in text:
        depth += (char in "{[") - (char in "}]")
        deepest = max(deepest, depth)
    return deepest
