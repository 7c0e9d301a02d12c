"""Reduces an untrusted schema to keywords that can be shown to a model and checked in bounded time.

References within the document are expanded, within limits; external ones are refused. Patterns and unknown keywords are removed. This makes
the check looser, but the server, or the function that has this schema, checks again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from chatui.json_schemas import UnusableError, listed_in, mapping, target_of
from chatui.tools.remote.offers import ArgumentPlace, argument_name, cleaned, is_clean
from chatui.tools.tool import DESCRIPTION_CHARS

MAX_CHARS = 16_000
MAX_DEPTH = 12
MAX_NODES = 600
MAX_CHOICES = 100
MAX_VARIANTS = 8
CHOICE_CHARS = 100
PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_LIMITS = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "array": ("minItems", "maxItems"),
}


def reduced(schema: Any, document: Any = None, *, is_closed: bool = True, has_patterns: bool = False) -> dict[str, Any]:
    """The schema, reduced to the known keywords. ``document``: what references refer to; by default, the schema itself. ``is_closed``:
    unnamed properties are refused unless the schema allows them explicitly. JSON Schema's own default allows them. ``has_patterns``:
    regular expressions are kept, because the schema is trusted.

    Raises:
        UnusableError: the schema is too large when expanded, has external references, or has a text that a prompt cannot contain.
    """
    found = _Reduction(schema if document is None else document, is_closed, has_patterns).of(schema, 0, ())
    if len(json.dumps(found, ensure_ascii=False)) > MAX_CHARS:
        raise UnusableError("its schema is too large")
    return found


class OfferedArguments:
    """The arguments of a tool of another server, under our own names: the place of each in a request, and one schema of all."""

    def __init__(self) -> None:
        self.places: dict[str, ArgumentPlace] = {}
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def add(self, wire: str, place: ArgumentPlace, schema: Mapping[str, Any], *, is_needed: bool) -> None:
        """Add an argument by the server's name for it, with its reduced schema.

        Raises:
            UnusableError: no name is left that a model could be shown.
        """
        name = argument_name(wire, self.places)
        if name is None:
            raise UnusableError("it has an argument whose name cannot be shown to a model")
        self.places[name], self._properties[name] = place, schema
        if is_needed:
            self._required.append(name)

    def schema(self) -> dict[str, Any]:
        """The schema of all, reduced. Raises as ``reduced``."""
        return reduced({"type": "object", "properties": self._properties, "additionalProperties": False, "required": self._required})


class _Reduction:
    def __init__(self, document: Any, is_closed: bool, has_patterns: bool) -> None:
        self._document = document
        self._is_closed = is_closed
        self._has_patterns = has_patterns
        self._nodes = MAX_NODES

    def of(self, schema: Any, depth: int, trail: tuple[str, ...]) -> dict[str, Any]:
        """One schema, reduced. ``trail``: the references that were followed to it; a recursive schema is cut where it repeats."""
        self._enter(depth)
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            raise UnusableError("its schema, or a part of it, is not an object")
        if "$ref" in schema:
            return self._referred(schema, depth, trail)
        if isinstance(schema.get("allOf"), list):
            return self.of(self._merged(schema, trail), depth + 1, trail)
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list):
                return self._varied(schema, word, depth, trail)
        return self._plain(schema, depth, trail)

    def _enter(self, depth: int) -> None:
        self._nodes -= 1
        if self._nodes < 0:
            raise UnusableError("its schema is too large when expanded")
        if depth > MAX_DEPTH:
            raise UnusableError("its schema is nested too deeply")

    def _referred(self, schema: Mapping[str, Any], depth: int, trail: tuple[str, ...]) -> dict[str, Any]:
        target = str(schema["$ref"])
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        if target in trail:
            return _described({}, schema)
        found = target_of(self._document, target)
        if isinstance(found, Mapping):
            found = {**found, **beside}
        return self.of(found, depth + 1, (*trail, target))

    def _merged(self, schema: Mapping[str, Any], trail: tuple[str, ...]) -> dict[str, Any]:
        """The objects in ``allOf``, merged into one. If several define the same property, the first takes precedence."""
        merged = {name: value for name, value in schema.items() if name != "allOf"}
        properties, required = dict(mapping(schema, "properties")), listed_in(schema, "required")
        for part in schema["allOf"][:MAX_VARIANTS]:
            self._enter(0)
            target = str(part["$ref"]) if isinstance(part, Mapping) and "$ref" in part else ""
            if target in trail:
                continue
            part = target_of(self._document, target) if target else part
            if not isinstance(part, Mapping):
                raise UnusableError("its schema, or a part of it, is not an object")
            properties = {**mapping(part, "properties"), **properties}
            required = [*required, *listed_in(part, "required")]
            merged = {**part, **merged}
        return {**merged, "properties": properties, "required": required} if properties else merged

    def _varied(self, schema: Mapping[str, Any], word: str, depth: int, trail: tuple[str, ...]) -> dict[str, Any]:
        variants = [each for each in schema[word] if not (isinstance(each, Mapping) and each.get("type") == "null")]
        beside = {name: value for name, value in schema.items() if name != word}
        if len(variants) == 1 and isinstance(variants[0], Mapping):
            return self.of({**variants[0], **beside}, depth + 1, trail)
        if not variants or len(variants) > MAX_VARIANTS:
            return _described({}, schema)
        read = [self.of(each, depth + 1, trail) for each in variants]
        if all(set(each) == {"type"} and isinstance(each["type"], str) for each in read):
            return _described({"type": sorted({each["type"] for each in read})}, schema)
        return _described({"anyOf": read}, schema)

    def _plain(self, schema: Mapping[str, Any], depth: int, trail: tuple[str, ...]) -> dict[str, Any]:
        kind = _type_of(schema)
        found: dict[str, Any] = {} if kind is None else {"type": kind}
        choices = [schema["const"]] if "const" in schema else listed_in(schema, "enum")
        if choices:
            found["enum"] = [each for each in choices if each is not None]
            if len(found["enum"]) > MAX_CHOICES or not all(map(_can_be_shown, found["enum"])):
                raise UnusableError("it has an enumeration that cannot be shown to a model")
        if kind == "array":
            found["items"] = self.of(schema.get("items", True), depth + 1, trail)
        if kind == "object":
            found |= self._object(schema, depth, trail)
        limits = {name: schema[name] for name in _LIMITS.get(str(kind), ()) if _is_number(schema.get(name))}
        if self._has_patterns and isinstance(schema.get("pattern"), str):
            limits["pattern"] = schema["pattern"]
        if "default" in schema and _can_be_shown(schema["default"]):
            found["default"] = schema["default"]
        return _described({**found, **limits}, schema, limits)

    def _object(self, schema: Mapping[str, Any], depth: int, trail: tuple[str, ...]) -> dict[str, Any]:
        required = {each for each in listed_in(schema, "required") if isinstance(each, str)}
        properties: dict[str, Any] = {}
        for name, value in mapping(schema, "properties").items():
            if not PROPERTY.fullmatch(str(name)):
                if name in required:
                    raise UnusableError("a required argument has a name that cannot be shown to a model")
            elif not (isinstance(value, Mapping) and value.get("readOnly") is True):
                properties[name] = self.of(value, depth + 1, trail)
        others = schema.get("additionalProperties")
        found: dict[str, Any] = {"properties": properties}
        if others is not None or self._is_closed or not properties:
            # Unnamed properties are refused unless the server explicitly allows them: a model must not set what it was never shown.
            found["additionalProperties"] = not properties if others is None else others is not False
        return {**found, "required": [name for name in properties if name in required]} if required & set(properties) else found


def _type_of(schema: Mapping[str, Any]) -> str | list[str] | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [each for each in _TYPES if each in kind]
        return kinds[0] if len(kinds) == 1 else kinds or None
    if kind is None and isinstance(schema.get("properties"), Mapping):
        return "object"
    return kind if kind in _TYPES else None


def _can_be_shown(value: Any) -> bool:
    """Whether a value can be used unchanged in a definition."""
    return is_clean(value, CHOICE_CHARS) if isinstance(value, str) else isinstance(value, bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def _described(found: dict[str, Any], schema: Mapping[str, Any], limits: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Add the schema's description, including the limits that a model is not shown elsewhere."""
    words = cleaned(schema["description"], DESCRIPTION_CHARS) if isinstance(schema.get("description"), str) else ""
    notes = [cleaned(f"{name} {value}", CHOICE_CHARS) for name, value in (limits or {}).items()]
    if isinstance(schema.get("format"), str) and is_clean(schema["format"], 30):
        notes.insert(0, schema["format"])
    if text := " ".join([words, f"({', '.join(notes)})" if notes else ""]).strip():
        found["description"] = text
    return found
