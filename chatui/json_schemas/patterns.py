"""Limits the cost of regular expressions in a schema: a few characters, such as ``\\p{L}{250}``, can compile to megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jsonschema_rs

LARGEST = 2**18
"""Bytes of one expression."""
MOST_BYTES = 2**19
"""Of all expressions of a schema."""
MOST_PATTERNS = 100
_SMALLEST = 2**10


def size_of(schema: Any) -> int | None:
    """About how many bytes its expressions take; None where that is too much."""
    found = list(_patterns(schema))
    if len(found) > MOST_PATTERNS:
        return None
    size = sum(map(_size, found))
    return size if size <= MOST_BYTES else None


def _patterns(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _patterns(each)
    elif isinstance(value, dict):
        if isinstance(pattern := value.get("pattern"), str):
            yield pattern
        if isinstance(named := value.get("patternProperties"), dict):
            # Once more where what is left over is to be found.
            yield from (*named, *named)
        for each in value.values():
            yield from _patterns(each)


def options() -> jsonschema_rs.RegexOptions:
    """How a schema's expressions are to be read."""
    import jsonschema_rs  # only here: see ``checking``

    return jsonschema_rs.RegexOptions(size_limit=LARGEST, dfa_size_limit=2**15)


def _size(pattern: str) -> int:
    """0 where it cannot be used at all, which is said when the whole schema is read."""
    import jsonschema_rs  # as above

    size = _SMALLEST
    while size <= LARGEST:
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions(size_limit=size))
        except (jsonschema_rs.ValidationError, ValueError):
            size *= 2
        else:
            return size
    return 0
