"""Validates a value against an untrusted JSON Schema in bounded time and memory.

The regular expressions of jsonschema-rs take linear time, while one of them stalled the pure-Python library for seconds. References are
refused: each level of them can double the work, in any library, and they can name URLs. Callers inline them first (``references``).
``unevaluatedProperties`` and ``unevaluatedItems`` are refused as well: each level of them examines everything below it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatui.json_schemas import patterns

if TYPE_CHECKING:
    import jsonschema_rs

SCHEMA_CHARS = 16_000
SCHEMA_DEPTH = 32
MAX_WORK = 500_000_000
"""Characters of the schema times those of the value: in the worst case, each part of one is compared with each of the other. This much work
takes 0.1 seconds.
"""
MAX_EXPLAINED_WORK = 10_000_000
"""The same limit for finding out what is wrong: the error of each variant of a schema copies the value, and copies of a long one fill the
memory.
"""
MESSAGE_CHARS = 300
BYTES_PER_CHAR = 8
"""How many bytes of compiled regular expressions count as one character of a schema."""
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
_UNEVALUATED = ('"unevaluatedProperties"', '"unevaluatedItems"')


class SchemaUnusableError(Exception):
    """The schema is invalid, not supported or too large. The message says why, and quotes nothing."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Check that values can be validated against a schema.

    Raises:
        SchemaUnusableError: they cannot.
    """
    _validator(_as_text(schema))


def fault(schema: Mapping[str, Any], value: Any, whole: str = "arguments") -> str | None:
    """What is wrong with a JSON value, as a message for the model that may quote the value; None if it fits the schema. ``whole``: what the
    message calls the value.

    Raises:
        SchemaUnusableError: values cannot be validated against this schema.
    """
    import jsonschema_rs  # 3 MB, and only some answers and tool calls have a schema

    written = _as_text(schema)
    checker, weight = _validator(written)
    work = weight * len(json.dumps(value))
    if work > MAX_WORK:
        return f"{whole}: too long to be checked"
    if checker.is_valid(value):
        return None
    if work > MAX_EXPLAINED_WORK:
        return f"{whole}: it does not fit the schema"
    try:
        checker.validate(value)
    except jsonschema_rs.ValidationError as error:
        place = ".".join(map(str, error.instance_path))
        return f"{place or whole}: {error.message}"[:MESSAGE_CHARS]
    return None


def _as_text(schema: Mapping[str, Any]) -> str:
    try:
        return json.dumps(schema, sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        raise SchemaUnusableError("its schema is not JSON") from None


@lru_cache(maxsize=100)
def _validator(schema: str) -> tuple[jsonschema_rs.Draft202012Validator, int]:
    """The validator for a schema, and the schema's size in characters for MAX_WORK."""
    import jsonschema_rs  # see ``fault``

    if len(schema) > SCHEMA_CHARS or _depth(schema) > SCHEMA_DEPTH:
        raise SchemaUnusableError("its schema is too large")
    if any(word in schema for word in _REFERENCES):
        raise SchemaUnusableError("its schema has references")
    if any(word in schema for word in _UNEVALUATED):
        raise SchemaUnusableError("its schema has unevaluatedProperties or unevaluatedItems")
    read = json.loads(schema)
    if (size := patterns.size_of(read)) is None:
        raise SchemaUnusableError("its patterns are too large")
    try:
        checker = jsonschema_rs.Draft202012Validator(read, offline=True, pattern_options=patterns.options())
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        raise SchemaUnusableError("its schema is not a JSON Schema that can be checked here") from None
    return checker, max(len(schema), size // BYTES_PER_CHAR)


def _depth(text: str) -> int:
    """The deepest nesting of braces and brackets. Those inside strings count as well, which can only make it larger."""
    deepest = depth = 0
    for char in text:
        depth += (char in "{[") - (char in "}]")
        deepest = max(deepest, depth)
    return deepest
