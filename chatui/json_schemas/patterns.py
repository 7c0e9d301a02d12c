"""Limits the cost of regular expressions in a schema: a few characters, such as ``\\p{L}{250}``, can compile to megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jsonschema_rs

MAX_PATTERN_BYTES = 2**18
"""The largest size of one compiled expression, in bytes."""
MAX_SCHEMA_BYTES = 2**19
"""The largest size of all compiled expressions of a schema, in bytes."""
MAX_PATTERNS = 100
_SMALLEST = 2**10


def size_of(schema: Any) -> int | None:
    """The approximate size of a schema's compiled expressions, in bytes; None if it is too large."""
    found = list(_patterns(schema))
    if len(found) > MAX_PATTERNS:
        return None
    size = sum(map(_size, found))
    return size if size <= MAX_SCHEMA_BYTES else None


def _patterns(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _patterns(each)
    elif isinstance(value, dict):
        if isinstance(pattern := value.get("pattern"), str):
            yield pattern
        if isinstance(named := value.get("patternProperties"), dict):
            # Twice, because ``additionalProperties`` compiles them again.
            yield from (*named, *named)
        for each in value.values():
            yield from _patterns(each)


def options() -> jsonschema_rs.RegexOptions:
    """The limits for compiling a schema's expressions."""
    import jsonschema_rs  # see ``checking.fault``

    return jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=2**15)


def _size(pattern: str) -> int:
    """The size of one compiled expression in bytes; 0 if it cannot be used, which is reported when the whole schema is compiled."""
    import jsonschema_rs  # see ``checking.fault``

    size = _SMALLEST
    while size <= MAX_PATTERN_BYTES:
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions(size_limit=size))
        except (jsonschema_rs.ValidationError, ValueError):
            size *= 2
        else:
            return size
    return 0
