"""Validates a value against a JSON Schema in bounded time and memory, whatever the schema says.

The regular expressions of jsonschema-rs are linear, where the pure-Python library was stalled for seconds by one. References are refused:
each level of them can double the work, in any library, and they can name addresses. What makes schemas writes them out. What is said of
values that nothing else has looked at (``unevaluatedProperties``) is refused as well: to find those, each level looks at all below it anew.
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
MOST_WORK = 500_000_000
"""Characters of the schema times those of the value: at the worst, each part of one is held against each of the other. 0.1 seconds."""
MOST_EXPLAINED = 10_000_000
"""The same, for saying what is wrong: each variant of a schema copies the value into its complaint, and a long one fills the memory."""
MESSAGE_CHARS = 300
BYTES_PER_CHAR = 8
"""So many bytes of its regular expressions count as one character of a schema."""
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
_UNEVALUATED = ('"unevaluatedProperties"', '"unevaluatedItems"')


class SchemaUnusableError(Exception):
    """The schema is none, or too much of one. Its text says why, and quotes nothing."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises SchemaUnusableError where nothing can be checked against this."""
    _checker(_written(schema))


def fault(schema: Mapping[str, Any], value: Any, whole: str = "arguments") -> str | None:
    """What is wrong with a value of JSON, in words for the model, which may quote it; None where nothing is. ``whole``: what it is called.

    Raises:
        SchemaUnusableError: see there.
    """
    import jsonschema_rs  # 3 MB, and only some answers and calls of tools have a schema

    written = _written(schema)
    checker, weight = _checker(written)
    work = weight * len(json.dumps(value))
    if work > MOST_WORK:
        return f"{whole}: too long to be checked"
    if checker.is_valid(value):
        return None
    if work > MOST_EXPLAINED:
        return f"{whole}: it does not fit the schema"
    try:
        checker.validate(value)
    except jsonschema_rs.ValidationError as error:
        place = ".".join(map(str, error.instance_path))
        return f"{place or whole}: {error.message}"[:MESSAGE_CHARS]
    return None


def _written(schema: Mapping[str, Any]) -> str:
    try:
        return json.dumps(schema, sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        raise SchemaUnusableError("its schema is none") from None


@lru_cache(maxsize=100)
def _checker(schema: str) -> tuple[jsonschema_rs.Draft202012Validator, int]:
    """What checks, and the characters that the schema counts as."""
    import jsonschema_rs  # as above

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
        raise SchemaUnusableError("its schema is no JSON Schema that can be checked here") from None
    return checker, max(len(schema), size // BYTES_PER_CHAR)


def _depth(text: str) -> int:
    """How deep the braces and brackets go; those inside strings count as well, which can only make it more."""
    deepest = depth = 0
    for char in text:
        depth += (char in "{[") - (char in "}]")
        deepest = max(deepest, depth)
    return deepest
