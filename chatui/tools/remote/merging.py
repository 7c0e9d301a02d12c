"""Merges the parts of an untrusted schema into one: references, ``allOf``, conditions, and the alternatives of an object.

What comes out allows everything that went in allowed, and perhaps more. What is lost is noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatui.json_schemas import UnusableError, listed_in, mapping, target_of
from chatui.tools.remote.offers import cleaned, is_clean

MAX_NODES = 900
ENTRIES_PER_NODE = 50
MAX_HOPS = 100
MAX_VARIANTS = 8
NAME_CHARS = 64
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_NO_OBJECT = "its schema, or a part of it, is not an object"


class SchemaTooLargeError(UnusableError):
    """The schema has too many parts at this depth."""


class Merging:
    """Merges parts of one schema. ``left_out``: what was lost, a line each. ``document``: what references refer to."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._nodes = MAX_NODES
        self.left_out: list[str] = []

    def lose(self, place: str, what: str) -> None:
        """Note that something at this place is not in the result."""
        self.left_out.append(cleaned(f"{place or 'the whole'}: {what}", 200))

    def enter(self, entries: int = 0) -> None:
        """Count one part with so many entries, which cost time even where they are not shown. Raises SchemaTooLargeError if it is one too
        many."""
        self._nodes -= 1 + entries // ENTRIES_PER_NODE
        if self._nodes < 0:
            raise SchemaTooLargeError("its schema is too large when expanded")

    def flat(
        self, schema: Mapping[str, Any], trail: tuple[str, ...], place: str, seen: tuple[str, ...] = ()
    ) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
        """The schema with its own reference, its ``allOf`` and its conditions merged into it, and the references followed to it; None if it
        only leads to itself. ``seen``: more references that lead to itself.

        Raises:
            UnusableError: a part is no object, or refers to another document or to nothing.
        """
        flat = dict(schema)
        self.enter(_entries(flat))
        while isinstance(flat.get("$ref"), str):
            target = flat.pop("$ref")
            if target in trail or target in seen:
                return None, trail
            trail = (*trail, target)
            if len(trail) > MAX_HOPS:
                raise SchemaTooLargeError("its schema is too large when expanded")
            found = target_of(self._document, target)
            flat = flat if found is True else self._merged(flat, _object(found), place)
            self.enter(_entries(flat))
        parts = flat.pop("allOf", None)
        for part in parts if isinstance(parts, list) else ():
            self.enter(_entries(flat))
            # What a part refers to is not on the way to this schema's properties: it only matters here that it does not lead to itself.
            own = {} if part is True else self.flat(_object(part), (), place, (*seen, *trail))[0]
            flat = self._merged(flat, own or {}, place)
        return self._with_conditions(flat, (*seen, *trail), place), trail

    def _with_conditions(self, flat: dict[str, Any], seen: tuple[str, ...], place: str) -> dict[str, Any]:
        """The schema with the properties that only its conditions name, as optional ones."""
        conditions = [
            flat.get("then"),
            flat.get("else"),
            *mapping(flat, "dependentSchemas").values(),
            *mapping(flat, "dependencies").values(),
        ]
        more: dict[str, Any] = {}
        for condition in conditions:
            if isinstance(condition, Mapping):
                more |= mapping(self.flat(condition, (), place, seen)[0] or {}, "properties")
        return {**flat, "properties": {**more, **mapping(flat, "properties")}} if more else flat

    def _merged(self, first: Mapping[str, Any], second: Mapping[str, Any], place: str) -> dict[str, Any]:
        """A schema that allows what both allow, and perhaps more."""
        merged: dict[str, Any] = {**second, **first}
        own, other = mapping(first, "properties"), mapping(second, "properties")
        if own or other:
            both = {name: {"allOf": [own[name], other[name]]} for name in own if name in other and own[name] != other[name]}
            merged["properties"] = {**other, **own, **both}
        if required := [*listed_in(first, "required"), *listed_in(second, "required")]:
            merged["required"] = required
        if False in (first.get("additionalProperties"), second.get("additionalProperties")):
            merged["additionalProperties"] = False
        if True in (first.get("nullable"), second.get("nullable")):
            merged["nullable"] = True
        if parts := [*listed_in(first, "allOf"), *listed_in(second, "allOf")]:
            merged["allOf"] = parts
        for word, free in (("anyOf", "oneOf"), ("oneOf", "anyOf")):
            if word in first and word in second and first[word] != second[word]:
                self._keep_both(merged, free, second[word], place)
        return merged

    def _keep_both(self, merged: dict[str, Any], other: str, alternatives: Any, place: str) -> None:
        """Keep second alternatives under the other word, which is read alike."""
        if other in merged:
            self.lose(place, "more alternatives")
            merged["additionalProperties"] = True  # the properties of those that are lost may be sent
        merged.setdefault(other, alternatives)

    def united(self, flat: Mapping[str, Any], word: str, trail: tuple[str, ...], place: str) -> dict[str, Any]:
        """An object with alternatives (under ``word``) as one object: the properties of all, of which those are required that all require.
        Its description says which go together."""
        base = {name: value for name, value in flat.items() if name != word}
        variants = [variant for variant in flat[word] if not is_null(variant)]
        if len(variants) < len(flat[word]):
            base["nullable"] = True
        self.lose(place, f"which of {len(variants)} alternatives ({word}) goes with which value")
        if not variants or not all(isinstance(variant, Mapping) and variant for variant in variants):
            return {"additionalProperties": True, **base} if variants else base
        flats = [self._alternative(variant, trail, place) for variant in variants]
        needs = [[name for name in listed_in(variant, "required") if isinstance(name, str)] for variant in flats]
        common = [name for name in needs[0] if all(name in need for need in needs)]
        united = {**base, "properties": _properties(base, flats), "required": [*listed_in(base, "required"), *common]}
        if "additionalProperties" not in base and any(variant.get("additionalProperties") not in (None, False) for variant in flats):
            united["additionalProperties"] = True
        if about := _choice(needs, common):
            united["description"] = f"{base['description']} {about}" if isinstance(base.get("description"), str) else about
        return united

    def _alternative(self, schema: Mapping[str, Any], trail: tuple[str, ...], place: str) -> dict[str, Any]:
        self.enter()
        flat = self.flat(schema, trail, place)[0] or {}
        for word in ("anyOf", "oneOf"):
            if isinstance(flat.get(word), list):
                flat = self.united(flat, word, trail, place)
        return flat


def _entries(schema: Mapping[str, Any]) -> int:
    """How many entries the lists and properties of a schema have."""
    return sum(len(each) for each in schema.values() if isinstance(each, list | Mapping))


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UnusableError(_NO_OBJECT)
    return value


def _properties(base: Mapping[str, Any], flats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    own = mapping(base, "properties")
    offered: dict[str, list[Any]] = {}
    for each in flats:
        for name, value in mapping(each, "properties").items():
            if name not in own and value not in offered.setdefault(name, []):
                offered[name].append(value)
    return {**own, **{name: values[0] if len(values) == 1 else {"anyOf": values} for name, values in offered.items()}}


def _choice(needs: Sequence[Sequence[str]], common: Sequence[str]) -> str:
    """A sentence about what else the alternatives require."""
    more = [[name for name in need if name not in common and is_clean(name, NAME_CHARS)] for need in needs]
    choices = list(dict.fromkeys(" and ".join(names) for names in more if names))[:MAX_VARIANTS]
    return f"Needs {', or '.join(choices)}." if len(choices) > 1 else ""


def is_null(variant: Any) -> bool:
    """Whether an alternative is null and nothing else."""
    if not isinstance(variant, Mapping):
        return False
    return variant.get("type") in ("null", ["null"]) or variant.get("enum") == [None] or ("const" in variant and variant["const"] is None)


def joined(read: Sequence[dict[str, Any]], max_choices: int) -> dict[str, Any]:
    """One of several reduced schemas: as a list of types or of choices, if they are nothing else."""
    distinct = [schema for at, schema in enumerate(read) if schema not in read[:at]]
    if not all(distinct):
        return {}
    if len(distinct) == 1:
        return dict(distinct[0])
    named = [kind for schema in distinct for kind in _listed(schema.get("type", []))]
    kinds = [*sorted(set(named) - {"null"}), *(["null"] if "null" in named else [])]
    if all(schema.keys() == {"type"} for schema in distinct):
        return {"type": kinds}
    if all(schema.keys() == {"type", "enum"} or schema == {"type": "null"} for schema in distinct) and len(set(kinds) - {"null"}) == 1:
        choices = [choice for schema in distinct for choice in schema.get("enum", [None])]
        unique = [choice for at, choice in enumerate(choices) if choice not in choices[:at]]
        if len(unique) <= max_choices:
            return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": unique}
    return {"anyOf": distinct}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def kinds_of(schema: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The types that a schema names or implies, and whether it allows null besides. No types: any value."""
    kind = schema.get("type")
    named = [each for each in _TYPES if each in _listed(kind)]
    if kind is None:
        named = ["object"] if isinstance(schema.get("properties"), Mapping) else ["array"] if "items" in schema else []
    if "number" in named and "integer" in named:
        named.remove("integer")
    return named, "null" in _listed(kind) or schema.get("nullable") is True


def kinds_of_values(values: Sequence[Any]) -> list[str]:
    """The one type of all of these values but null, if there is one."""
    kinds = {
        "boolean" if isinstance(each, bool) else "string" if isinstance(each, str) else "number" for each in values if each is not None
    }
    return list(kinds) if len(kinds) == 1 and all(each is None or isinstance(each, bool | str | int | float) for each in values) else []
