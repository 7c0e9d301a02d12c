"""Inlines the references of a JSON Schema. Schemas that libraries generate from classes are full of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatui.json_schemas.checking import SCHEMA_DEPTH, SchemaUnusableError

MAX_VALUES = 4000
MAX_EXPANDED_CHARS = 1_000_000
"""The most values and characters of a schema with its references inlined: each level of references can double them."""
_LEFT_OUT = ("$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$comment")


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its references inlined, and without the keys that only they need.

    Raises:
        SchemaUnusableError: a reference is to another document, to nothing or to itself, or the result is too large.
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
            raise SchemaUnusableError("its schema is too large when its references are inlined")
        if isinstance(value, list):
            return [self.inline(each, depth + 1, trail) for each in value]
        if not isinstance(value, Mapping):
            return value
        target = value.get("$ref")
        if isinstance(target, str):
            if target in trail:
                raise SchemaUnusableError("its schema refers to itself")
            beside = {name: each for name, each in value.items() if name != "$ref"}
            found = self._target_of(target)
            return self.inline({**found, **beside} if isinstance(found, Mapping) else found, depth + 1, (*trail, target))
        left_out = _LEFT_OUT if _is_schema(value) else ()
        return {name: self.inline(each, depth + 1, trail) for name, each in value.items() if name not in left_out}

    def _target_of(self, target: str) -> Any:
        if not target.startswith("#"):
            raise SchemaUnusableError("its schema refers to another document")
        place: Any = self._document
        for part in target[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or name not in place:
                raise SchemaUnusableError("its schema refers to something that does not exist")
            place = place[name]
        return place


def _is_schema(schema: Mapping[str, Any]) -> bool:
    """Whether this mapping is a schema rather than the value of ``properties``, where ``definitions`` could be the name of a property."""
    return any(isinstance(schema.get(name), str | list) for name in ("type", "anyOf", "allOf", "oneOf", "enum", "$schema", "$id"))
