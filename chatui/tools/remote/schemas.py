"""Reduces an untrusted schema to keywords that can be shown to a model and checked in bounded time.

One rule for every schema: what is shown may allow more than the original, and never less, except for what no model may set (``readOnly``,
and properties that a server's schema does not name). What is lost is listed for the operator, and arguments are checked against the
original as well, see ``originals``. What cannot be shown even so is refused with a reason.

References within the document are expanded, within limits; external ones are refused. Keywords: JSON Schema 2020-12 with those of draft 4
and OpenAPI 3.0 that still occur (``nullable``, ``definitions``, ``dependencies``, lists of ``items``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from chatui.json_schemas import UnusableError, listed_in, mapping
from chatui.tools.remote.merging import MAX_VARIANTS, NAME_CHARS, Merging, SchemaTooLargeError, is_null, joined, kinds_of, kinds_of_values
from chatui.tools.remote.offers import ARGUMENT_CHARS, cleaned, is_clean

MAX_CHARS = 16_000
MAX_DEPTH = 12
MAX_CHOICES = 100
MAX_LEFT_OUT = 30
CHOICE_CHARS = 100
NAMED_CHOICES = 5
_ATTEMPTS = ((MAX_DEPTH, ARGUMENT_CHARS), (MAX_DEPTH, 300), (6, 300), (4, 300), (4, 80), (3, 80), (2, 80), (1, 80))
"""Depth and length of descriptions: what is too large whole is shown with its first levels, and any value below them."""
_LIMITS = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "array": ("minItems", "maxItems"),
}
_NOT_IN_NAMES = frozenset("{}()<>\"'`\\;,|")
_NOT_SHOWN = (
    "pattern", "multipleOf", "uniqueItems", "not", "if", "contains", "propertyNames", "patternProperties", "minProperties", "maxProperties",
    "dependentRequired", "dependentSchemas", "dependencies",
)  # fmt: skip
_ANNOTATIONS = ("title", "description", "default", "example", "examples", "discriminator", "xml", "externalDocs", "deprecated", "$comment")


Top = Literal["no", "shown", "mapped"]


@dataclass(frozen=True, slots=True)
class ShownSchema:
    """A reduced schema. ``left_out``: what of the original it does not say, a line each."""

    schema: dict[str, Any] = field(repr=False)
    left_out: tuple[str, ...] = ()


def reduced(
    schema: Any,
    document: Any = None,
    *,
    is_closed: bool = True,
    has_patterns: bool = False,
    top: Top = "no",
) -> ShownSchema:
    """The schema, reduced to the known keywords. ``document``: what references refer to; by default, the schema itself. ``is_closed``:
    unnamed properties are refused unless the schema allows them explicitly. JSON Schema's own default allows them. ``has_patterns``:
    regular expressions are kept, because the schema is trusted. ``top``: whether it is that of all arguments, so that alternatives become
    one object, and whether the caller gives these names of its own ("mapped").

    Raises:
        UnusableError: the schema is too large even in its first levels, has external references, or needs a text that a prompt cannot
            contain.
    """
    for max_depth, words in _ATTEMPTS:
        reduction = _Reduction(Merging(schema if document is None else document), max_depth, words)
        reduction.is_closed, reduction.has_patterns, reduction.top = is_closed, has_patterns, top
        try:
            found = reduction.of(schema, 0, (), "")
        except SchemaTooLargeError:
            continue
        except RecursionError:
            break
        if len(json.dumps(found, ensure_ascii=False)) <= MAX_CHARS:
            return ShownSchema(found, tuple(dict.fromkeys(reduction.left_out))[:MAX_LEFT_OUT])
    raise UnusableError("its schema is too large")


class _Reduction:
    """The options are those of ``reduced``. ``words``: how long a description may be."""

    is_closed = True
    has_patterns = False
    top: Top = "no"

    def __init__(self, merging: Merging, max_depth: int, words: int) -> None:
        self._merging = merging
        self._max_depth = max_depth
        self._words = words
        self._lose = merging.lose

    def _is_top(self, depth: int) -> bool:
        """Whether this is the schema of all arguments, whose values are objects, whatever it says."""
        return depth == 0 and self.top != "no"

    @property
    def left_out(self) -> list[str]:
        return self._merging.left_out

    def of(self, schema: Any, depth: int, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        """One schema, reduced. ``trail``: the references that were followed to it; a recursive schema is cut where it repeats. ``place``:
        where it is, for ``left_out``."""
        self._merging.enter()
        if schema is True or (schema == {} and not self._is_top(depth)):
            return {}
        if not isinstance(schema, Mapping):
            raise UnusableError("its schema, or a part of it, is not an object")
        if depth > self._max_depth:
            self._lose(place, "deeper levels, where any value is allowed")
            return self._described({}, schema)
        flat, trail = self._merging.flat(schema, trail, place)
        if flat is None and self._is_top(depth):
            raise UnusableError("its schema refers to nothing but itself")
        if flat is None:
            self._lose(place, "the repetition of a recursive schema")
            return self._described({}, schema)
        for word in _NOT_SHOWN:
            if word in flat and not (word == "pattern" and self.has_patterns):
                self._lose(place, word)
        return self._of_flat(flat, depth, trail, place)

    def _of_flat(self, flat: dict[str, Any], depth: int, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        for word in ("anyOf", "oneOf"):
            if not isinstance(flat.get(word), list):
                continue
            if not (self._is_top(depth) or "properties" in flat or kinds_of(flat)[0] == ["object"]):
                return self._varied(flat, word, depth, trail, place)
            flat = self._merging.united(flat, word, trail, place)
        return self._plain(flat, depth, trail, place)

    def _varied(self, flat: Mapping[str, Any], word: str, depth: int, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        variants = [each for each in flat[word] if not is_null(each)]
        base = {name: value for name, value in flat.items() if name != word}
        if len(variants) < len(flat[word]):
            base["nullable"] = True
        if len(variants) > MAX_VARIANTS:
            self._lose(place, f"{len(variants)} alternatives ({word})")
        if not variants or len(variants) > MAX_VARIANTS or any(each is True or each == {} for each in variants):
            return self._plain(base, depth, trail, place) if "type" in base else self._described({}, flat)
        if len(variants) == 1:
            return self.of({**base, "allOf": variants}, depth, trail, place)
        bare = {name: value for name, value in base.items() if name not in _ANNOTATIONS}
        read = [self.of({**bare, "allOf": [each]} if bare.keys() - {"nullable"} else each, depth + 1, trail, place) for each in variants]
        if base.get("nullable") is True and all(read):
            read = [*(each for each in read if each != _NULL), _NULL]
        return self._described(joined(read, MAX_CHOICES), flat)

    def _plain(self, flat: Mapping[str, Any], depth: int, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        """A schema without references and combinations, reduced to what a model is told: its types, choices, parts and limits."""
        kinds, can_be_null = (["object"], False) if self._is_top(depth) else kinds_of(flat)
        notes: list[str] = []
        choices = [flat["const"]] if "const" in flat else listed_in(flat, "enum")
        result: dict[str, Any] = {}
        if choices:
            kinds, can_be_null = kinds or kinds_of_values(choices), can_be_null or None in choices
            result = self._choices(choices, can_be_null, notes, place)
        elif not kinds and flat.get("type") in ("null", ["null"]):
            kinds, can_be_null = ["null"], False
        result = {**_typed(kinds, can_be_null=can_be_null), **result}
        if kinds == ["array"]:
            result["items"] = self._items(flat, depth, trail, place)
        elif kinds == ["object"]:
            result |= self._object(flat, depth, trail, place)
        elif len(kinds) > 1 and ("properties" in flat or "items" in flat):
            self._lose(place, "the parts of a value that may be of several types")
        limits = {name: flat[name] for name in _LIMITS.get("".join(kinds), ()) if _is_number(flat.get(name))}
        if self.has_patterns and isinstance(flat.get("pattern"), str):
            limits["pattern"] = flat["pattern"]
        if "default" in flat and _can_be_shown(flat["default"]):
            result["default"] = flat["default"]
        return self._described({**result, **limits}, flat, [*notes, *(f"{name} {value}" for name, value in limits.items())])

    def _choices(self, choices: Sequence[Any], can_be_null: bool, notes: list[str], place: str) -> dict[str, Any]:
        """The choices; or, if they cannot all be shown, none of them, and a note that names some."""
        shown = [each for each in choices if _can_be_shown(each)]
        others = len(choices) - len(shown) - (None in choices)
        if not others and len(shown) <= MAX_CHOICES:
            if not can_be_null:
                return {"enum": shown}
            notes.append(f"{', '.join(map(str, shown))} or null")  # where types have a list of types, they have no choices
            return {"enum": [*shown, None]}
        if not shown and any(isinstance(each, str) for each in choices):
            raise UnusableError("it has an enumeration that cannot be shown to a model")
        self._lose(place, f"an enumeration of {len(choices)} values")
        if shown:
            notes.append(f"one of {len(choices)} values, such as {', '.join(str(each) for each in shown[:NAMED_CHOICES])}")
        return {}

    def _items(self, flat: Mapping[str, Any], depth: int, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        items, first = flat.get("items", True), flat.get("prefixItems")
        if isinstance(items, list):
            items, first = flat.get("additionalItems", True), items
        if isinstance(first, list) and first:
            self._lose(place, "which value of the list has which type")
            items = True if items is True else {"anyOf": [*first, *([items] if isinstance(items, Mapping) else [])]}
        return {} if items is False else self.of(items, depth + 1, trail, f"{place}[]")

    def _object(self, flat: Mapping[str, Any], depth: int, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        required = {each for each in listed_in(flat, "required") if isinstance(each, str)}
        properties: dict[str, Any] = {}
        for name, value in mapping(flat, "properties").items():
            inner = f"{place}.{name}".lstrip(".")
            if value is False or (isinstance(value, Mapping) and value.get("readOnly") is True):
                continue
            if (self._is_top(depth) and self.top == "mapped") or can_be_name(str(name)):
                properties[name] = self.of(value, depth + 1, trail, inner)
            elif name in required:
                raise UnusableError(
                    f"a required argument has a name that cannot be shown to a model ({cleaned(str(name), CHOICE_CHARS)!r})"
                )
            else:
                self._merging.enter()
                self._lose(inner, "an argument whose name cannot be shown to a model")
        found: dict[str, Any] = {"properties": properties, **self._others(flat, properties, depth, trail, place)}
        needed = [name for name in properties if name in required]
        return {**found, "required": needed} if needed else found

    def _others(
        self, flat: Mapping[str, Any], properties: Mapping[str, Any], depth: int, trail: tuple[str, ...], place: str
    ) -> dict[str, Any]:
        """Whether there may be unnamed properties: only if the server explicitly allows them, because a model must not set what it was
        never shown."""
        others = True if mapping(flat, "patternProperties") else flat.get("additionalProperties", flat.get("unevaluatedProperties"))
        if isinstance(others, Mapping) and others:
            if self._is_top(depth):
                self._lose(place, "what unnamed arguments may be")
                return {"additionalProperties": True}
            return {"additionalProperties": self.of(others, depth + 1, trail, f"{place}.*")}
        if others is not None:
            return {"additionalProperties": others is not False}
        if self.is_closed or not properties:
            return {"additionalProperties": not (properties or (self._is_top(depth) and self.is_closed))}
        return {}

    def _described(self, found: dict[str, Any], schema: Mapping[str, Any], notes: Iterable[str] = ()) -> dict[str, Any]:
        """Add the schema's description, including the limits that a model is not shown elsewhere."""
        words = cleaned(schema["description"], self._words) if isinstance(schema.get("description"), str) else ""
        noted = [cleaned(each, 2 * CHOICE_CHARS) for each in notes]
        if isinstance(schema.get("format"), str) and is_clean(schema["format"], 30):
            noted.insert(0, schema["format"])
        if text := " ".join([words, f"({', '.join(noted)})" if noted else ""]).strip():
            found["description"] = text
        return found


def can_be_name(name: str) -> bool:
    """Whether a property's name can be shown as it is. It is a key of JSON, so it needs no other name."""
    is_plain = not _NOT_IN_NAMES & set(name) and "//" not in name and ": " not in name
    return bool(name) and is_clean(name, NAME_CHARS) and name == name.strip() and is_plain


_NULL = {"type": "null"}


def _typed(kinds: list[str], *, can_be_null: bool) -> dict[str, Any]:
    if not kinds:
        return {}
    named = [*kinds, "null"] if can_be_null else kinds
    return {"type": named[0] if len(named) == 1 else named}


def _can_be_shown(value: Any) -> bool:
    """Whether a value can be used unchanged in a definition."""
    return is_clean(value, CHOICE_CHARS) if isinstance(value, str) else isinstance(value, bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
