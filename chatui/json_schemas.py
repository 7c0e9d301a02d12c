r"""Checks that values fit the untrusted JSON Schemas of people and programs, and inlines their references.

Everything here takes bounded time and memory. The regular expressions of jsonschema-rs take linear time, while one of them stalled the
pure-Python library for seconds. Their size is limited, because a few characters, such as ``\p{L}{250}``, can compile to megabytes.

References are refused where a value is checked: each level of them can double the work, in any library, and they can name URLs. Callers
inline them first (``inlined``), because schemas that libraries generate from classes are full of them. ``unevaluatedProperties`` and
``unevaluatedItems`` are refused as well: each level of them examines everything below it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    import jsonschema_rs


MAX_PATTERN_BYTES = 2**18
"""The largest size of one compiled expression, in bytes."""
MAX_SCHEMA_BYTES = 2**19
"""The largest size of all compiled expressions of a schema, in bytes."""
MAX_PATTERNS = 100
_SMALLEST = 2**10


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


def _size(pattern: str) -> int:
    """The size of one compiled expression in bytes; 0 if it cannot be used, which is reported when the whole schema is compiled."""
    import jsonschema_rs  # see ``fault``

    size = _SMALLEST
    while size <= MAX_PATTERN_BYTES:
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions(size_limit=size))
        except (jsonschema_rs.ValidationError, ValueError):
            size *= 2
        else:
            return size
    return 0


def can_be_matched(pattern: str) -> bool:
    """Whether a regular expression can be checked here. Those of JavaScript that look around cannot."""
    return _size(pattern) > 0


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
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a format or a function may be called."""


class UnusableError(ValueError):
    """A schema, or a tool with its definition, is invalid, not supported or too large. The message says why, and quotes nothing."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Check that values can be validated against a schema. Raises UnusableError if not."""
    _validator(_as_text(schema))


def fault(schema: Mapping[str, Any], value: Any, whole: str = "arguments") -> str | None:
    """What is wrong with a JSON value, as a message for the model that may quote the value; None if it fits the schema. ``whole``: what the
    message calls the value.

    Raises:
        UnusableError: values cannot be validated against this schema.
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


def without_nulls(schema: Mapping[str, Any], value: Any, depth: int = 0) -> Any:
    """The value without optional properties that are null where the schema does not allow that: models write null for what they leave
    out."""
    if depth > SCHEMA_DEPTH:
        return value
    if isinstance(value, list):
        return [without_nulls(mapping(schema, "items"), each, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    properties, required = mapping(schema, "properties"), listed_in(schema, "required")
    return {
        name: without_nulls(mapping(properties, name), each, depth + 1)
        for name, each in value.items()
        if each is not None or name not in properties or name in required or fault(mapping(properties, name), None) is None
    }


def _as_text(schema: Mapping[str, Any]) -> str:
    try:
        return json.dumps(schema, sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        raise UnusableError("its schema is not JSON") from None


@lru_cache(maxsize=100)
def _validator(schema: str) -> tuple[jsonschema_rs.Draft202012Validator, int]:
    """The validator for a schema, and the schema's size in characters for MAX_WORK."""
    import jsonschema_rs  # see ``fault``

    # The nesting of braces and brackets. Those inside strings count as well, which can only make it larger.
    depth = accumulate((char in "{[") - (char in "}]") for char in schema)
    if len(schema) > SCHEMA_CHARS or max(depth) > SCHEMA_DEPTH:
        raise UnusableError("its schema is too large")
    if any(word in schema for word in _REFERENCES):
        raise UnusableError("its schema has references")
    if any(word in schema for word in _UNEVALUATED):
        raise UnusableError("its schema has unevaluatedProperties or unevaluatedItems")
    read = json.loads(schema)
    patterns = list(_patterns(read))
    if len(patterns) > MAX_PATTERNS or (size := sum(map(_size, patterns))) > MAX_SCHEMA_BYTES:
        raise UnusableError("its patterns are too large")
    limits = jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=2**15)
    try:
        checker = jsonschema_rs.Draft202012Validator(read, offline=True, pattern_options=limits)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        raise UnusableError("its schema is not a JSON Schema that can be checked here") from None
    return checker, max(len(schema), size // BYTES_PER_CHAR)


MAX_VALUES = 4000
MAX_EXPANDED_CHARS = 1_000_000
"""The most values and characters of a schema with its references inlined: each level of references can double them."""
_LEFT_OUT = ("$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$comment")


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its references inlined, and without the keys that only they need.

    Raises:
        UnusableError: a reference is to another document, to nothing or to itself, or the result is too large.
    """
    written = _Inliner(schema).inline(schema, 0, ())
    return dict(written) if isinstance(written, Mapping) else {}


class _Inliner:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._left, self._chars_left = MAX_VALUES, MAX_EXPANDED_CHARS

    def inline(self, value: Any, depth: int, trail: tuple[str, ...]) -> Any:
        """A copy of ``value`` with its references inlined. ``trail``: the references that led here."""
        self._left -= 1
        self._chars_left -= len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, Mapping) else 0
        if min(self._left, self._chars_left) < 0 or depth > 2 * SCHEMA_DEPTH:
            raise UnusableError("its schema is too large when its references are inlined")
        if isinstance(value, list):
            return [self.inline(each, depth + 1, trail) for each in value]
        if not isinstance(value, Mapping):
            return value
        target = value.get("$ref")
        if isinstance(target, str):
            if target in trail:
                raise UnusableError("its schema refers to itself")
            beside = {name: each for name, each in value.items() if name != "$ref"}
            found = target_of(self._document, target)
            return self.inline({**found, **beside} if isinstance(found, Mapping) else found, depth + 1, (*trail, target))
        # Otherwise it is the value of ``properties``, where ``definitions`` could be the name of a property.
        is_schema = any(isinstance(value.get(name), str | list) for name in ("type", "anyOf", "allOf", "oneOf", "enum", "$schema", "$id"))
        left_out = _LEFT_OUT if is_schema else ()
        return {name: self.inline(each, depth + 1, trail) for name, each in value.items() if name not in left_out}


def target_of(document: Any, reference: str) -> Any:
    """What a reference within a document points to (RFC 6901, as a fragment).

    Raises:
        UnusableError: it points to another document, or to nothing.
    """
    own = document.get("$id") if isinstance(document, Mapping) else None
    address, _, fragment = reference.partition("#")
    if address and address != own:
        raise UnusableError("its schema refers to another document")
    place = document
    for part in unquote(fragment).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and name.isdecimal() and len(name) < 9 and int(name) < len(place):
            place = place[int(name)]
        elif isinstance(place, Mapping) and name in place:
            place = place[name]
        else:
            raise UnusableError("its schema refers to something that does not exist")
    return place


def mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under a key of an untrusted document; empty if there is none."""
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def listed_in(value: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a key of an untrusted document; empty if there is none."""
    found = value.get(name)
    return found if isinstance(found, list) else []
