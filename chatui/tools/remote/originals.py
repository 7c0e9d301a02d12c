"""Prepares a server's own schema for checking arguments before they are sent.

What a model is shown may allow more than the server does (``schemas``). The original is checked as well, as far as that takes bounded time:
references are inlined, a recursive schema allows any value where it repeats, and keywords of other drafts are rewritten or dropped. It
never refuses what the original allows. The server checks again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chatui.json_schemas import UnusableError, can_be_matched, check_schema, listed_in, mapping, target_of

MAX_NODES = 2000
MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 1000
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_WITHIN = ("contains", "propertyNames")


def original(schema: Any, document: Any) -> dict[str, Any] | None:
    """The schema as it can be checked; None if it allows anything, or is too large to be checked here.

    Raises:
        UnusableError: it refers to another document, or to nothing.
    """
    for has_patterns in (True, False):
        found = _Original(document, has_patterns=has_patterns)
        try:
            rewritten = found.of(schema, ())
            if not rewritten or not isinstance(rewritten, dict):
                return None
            check_schema(rewritten)
        except _TooLargeError:
            return None
        except RecursionError:
            return None
        except UnusableError:
            continue
        return rewritten
    return None


class _TooLargeError(UnusableError):
    """The schema is too large to be checked."""


class _Original:
    def __init__(self, document: Any, *, has_patterns: bool) -> None:
        self._document = document
        self._has_patterns = has_patterns
        self._nodes = MAX_NODES
        self._patterns = MAX_PATTERNS

    def of(self, schema: Any, trail: tuple[str, ...]) -> Any:
        self._enter()
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            return True
        found = self._values(schema) | self._parts(schema, trail)
        if isinstance(target := schema.get("$ref"), str) and target not in trail:
            inner = self.of(target_of(self._document, target), (*trail, target))
            found = inner if not found else found if inner in (True, {}) else {"allOf": [inner, found]}
        if schema.get("nullable") is True and isinstance(found, dict) and found:
            found = {"anyOf": [found, {"type": "null"}]}
        return found

    def _enter(self, entries: int = 0) -> None:
        """Count one part of the schema, with so many entries. Few references can repeat a part very often, so the number is limited."""
        self._nodes -= 1 + entries // 10
        if self._nodes < 0:
            raise _TooLargeError("its schema is too large to be checked")

    def _matches(self, pattern: object) -> bool:
        """Whether an expression can be checked. Finding out takes longest of all, so it is done for a limited number of short ones.

        Raises:
            UnusableError: there are too many.
        """
        if not self._has_patterns or not isinstance(pattern, str) or len(pattern) > MAX_PATTERN_CHARS:
            return False
        self._patterns -= 1
        if self._patterns < 0:
            raise UnusableError("it has too many patterns")
        return can_be_matched(pattern)

    def _values(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords that have no schema in them."""
        found = _numbers(schema)
        if kinds := [each for each in _TYPES if each in _listed(schema.get("type"))]:
            found["type"] = kinds
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            self._enter(len(schema["enum"]))
            found["enum"] = list({json.dumps(each, sort_keys=True): each for each in schema["enum"]}.values())
        if "const" in schema:
            found["const"] = schema["const"]
        if schema.get("uniqueItems") is True:
            found["uniqueItems"] = True
        pattern = schema.get("pattern")
        if self._matches(pattern):
            found["pattern"] = pattern
        read_only = {
            name for name, each in mapping(schema, "properties").items() if isinstance(each, Mapping) and each.get("readOnly") is True
        }
        if isinstance(required := schema.get("required"), list):
            found["required"] = sorted({each for each in required if isinstance(each, str)} - read_only)
        return found

    def _parts(self, schema: Mapping[str, Any], trail: tuple[str, ...]) -> dict[str, Any]:
        """The keywords that have schemas in them. ``oneOf`` becomes ``anyOf``, and conditions and ``not`` are left to the server:
        where a part allows more, they would allow less."""
        found = self._properties(schema, trail)
        items, first = schema.get("items"), schema.get("prefixItems")
        if isinstance(items, list):
            items, first = schema.get("additionalItems"), items
        if isinstance(first, list) and first:
            found["prefixItems"] = [self.of(each, trail) for each in first]
        if isinstance(items, bool | Mapping):
            found["items"] = self.of(items, trail)
        found |= {word: self.of(schema[word], trail) for word in _WITHIN if isinstance(schema.get(word), bool | Mapping)}
        every = [self.of(each, trail) for each in listed_in(schema, "allOf")]
        some = [schema[word] for word in ("anyOf", "oneOf") if listed_in(schema, word)]
        every += [{"anyOf": [self.of(each, trail) for each in listed]} for listed in some]
        return {**found, "allOf": every} if every else found

    def _properties(self, schema: Mapping[str, Any], trail: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if isinstance(schema.get("properties"), Mapping):
            found["properties"] = {str(name): self.of(each, trail) for name, each in schema["properties"].items()}
        patterns = mapping(schema, "patternProperties")
        matched = {name: self.of(each, trail) for name, each in patterns.items() if self._matches(name)}
        if matched:
            found["patternProperties"] = matched
        if len(matched) == len(patterns) and isinstance(others := schema.get("additionalProperties"), bool | Mapping):
            found["additionalProperties"] = self.of(others, trail)
        return found


def _numbers(schema: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: schema[name] for name in _NUMBERS if _is_number(schema.get(name))}
    for exclusive, bound in _BOUNDS.items():  # in draft 4 they say how the other is meant
        if schema.get(exclusive) is True and bound in found:
            found[exclusive] = found.pop(bound)
    found |= {name: schema[name] for name in _COUNTS if type(schema.get(name)) is int and schema[name] >= 0}
    if _is_number(schema.get("multipleOf")) and schema["multipleOf"] > 0:
        found["multipleOf"] = schema["multipleOf"]
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
