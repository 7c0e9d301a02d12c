"""Converts a JSON Schema to the TypeScript-like type that gpt-oss expects for its tools.

The result equals that of openai-harmony, character for character. What openai-harmony leaves out (``anyOf``, ``$ref``, limits, enums of
anything but strings) is left out here too: the model has never seen it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Json = Any
"""A decoded JSON value from a schema, as the author of a tool wrote it."""

_DEPTH_LIMIT = 100
_SIMPLE = {"number": "number", "integer": "number", "boolean": "boolean"}
_INTEGER_RANGE = range(-(2**63), 2**64)
"""Numbers in this range stay integers; others become floating point."""
_TOO_LARGE = 2**1024 - 2**970
"""From here on, an integer is rounded to infinity."""


def type_of(schema: Json, indent: str = "", depth: int = 0) -> str:
    """The type for ``schema``. ``indent`` is put before each line but the first. Anything unknown is ``any``."""
    if depth > _DEPTH_LIMIT:
        return "any"
    variants = _list(schema, "oneOf")
    if variants is not None:
        return "".join(f"\n{indent} | {_variant(variant, indent, depth)}" for variant in variants)
    match _get(schema, "type"):
        case list(names) if named := ["number" if name == "integer" else name for name in names if isinstance(name, str)]:
            return " | ".join(named)
        case "object":
            return _object(schema, indent, depth)
        case "string":
            return " | ".join(f'"{value}"' for value in _list(schema, "enum") or [] if isinstance(value, str)) or "string"
        case "number" | "integer" | "boolean" as name:
            return _SIMPLE[name]
        case "array":
            return f"{type_of(schema['items'], indent, depth + 1)}[]" if "items" in schema else "Array<any>"
    return "any"


def literal(value: Json) -> str:
    """A JSON value as openai-harmony prints it: compact, only control characters escaped, numbers in their shortest form."""
    match value:
        case int() if value not in _INTEGER_RANGE:
            return _float(float(value)) if abs(value) < _TOO_LARGE else "null"
        case bool() | None | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return _float(value)
        case Mapping():
            return "{" + ",".join(f"{literal(str(key))}:{literal(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ",".join(map(literal, value)) + "]"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _object(schema: Mapping[str, Json], indent: str, depth: int) -> str:
    lines = [f"{indent}// {text}\n" for text in _texts(schema, "description")]
    lines.append("{\n")
    required = {name for name in _list(schema, "required") or [] if isinstance(name, str)}
    properties = _get(schema, "properties")
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        lines += _property(name if name in required else f"{name}?", value, indent, depth)
    return "".join([*lines, f"{indent}}}"])


def _property(name: str, schema: Json, indent: str, depth: int) -> list[str]:
    lines = [f"{indent}// {title}\n{indent}//\n" for title in _texts(schema, "title")]
    described = [] if _has(schema, "oneOf") else _texts(schema, "description")
    lines += [f"{indent}// {text}\n" for text in described]
    lines += _examples(schema, indent)
    variants = _list(schema, "oneOf")
    if variants is not None:
        return [*lines, *_choice(name, schema, variants, indent, depth)]
    default = "" if _has(schema, "oneOf") else "".join(f" // {text}" for text in _default(schema))
    return [*lines, f"{indent}{name}: {_nullable(schema, f'{indent}    ', depth)},{default}\n"]


def _examples(schema: Json, indent: str) -> list[str]:
    examples = _list(schema, "examples")
    if not examples:
        return []
    return [f"{indent}// Examples:\n", *(f'{indent}// - "{example}"\n' for example in examples if isinstance(example, str))]


def _choice(name: str, schema: Json, variants: Sequence[Json], indent: str, depth: int) -> list[str]:
    """A property with several variants. Its description is written above, unless the first variant has the same."""
    described = _texts(schema, "description")
    above = [] if variants and _texts(variants[0], "description") == described else described
    lines = [f"{indent}// {text}\n" for text in (*above, *_default(schema))]
    lines.append(f"{indent}{name}:\n")
    for index, variant in enumerate(variants):
        own = [] if index == 0 and above else [text for text in _texts(variant, "description") if [text] != described]
        comment = " ".join([*own, *_default(variant)])
        written = _nullable(variant, f"{indent}   ", depth)
        lines.append(f"{indent} | {written}{f' // {comment}' if own or _default(variant) else ''}\n")
    return [*lines, f"{indent},\n"]


def _variant(schema: Json, indent: str, depth: int) -> str:
    """One line of a union that is not a property. Only here is the default of an enum in quotes."""
    comments = [*_texts(schema, "description"), *_default(schema, quoted=True)]
    return _nullable(schema, f"{indent}   ", depth) + (f" // {' '.join(comments)}" if comments else "")


def _nullable(schema: Json, indent: str, depth: int) -> str:
    written = type_of(schema, indent, depth + 1)
    return f"{written} | null" if _get(schema, "nullable") is True and "null" not in written else written


def _default(schema: Json, *, quoted: bool = False) -> list[str]:
    if not _has(schema, "default"):
        return []
    default = schema["default"]
    if not isinstance(default, str):
        return [f"default: {literal(default)}"]
    if not _list(schema, "enum"):
        return [f'default: "{default}"']
    return [f"default: {literal(default) if quoted else default}"]


def _has(schema: Json, key: str) -> bool:
    return isinstance(schema, Mapping) and key in schema


def _get(schema: Json, key: str) -> Json:
    return schema.get(key) if isinstance(schema, Mapping) else None


def _list(schema: Json, key: str) -> list[Json] | None:
    value = _get(schema, key)
    return list(value) if isinstance(value, list | tuple) else None


def _texts(schema: Json, key: str) -> list[str]:
    """The text under ``key``, as a list with at most one item."""
    value = _get(schema, key)
    return [value] if isinstance(value, str) else []


def _float(value: float) -> str:
    """The shortest form: like Python's, but exponents have no plus and no zeros, and 0.00001 has none."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    mantissa, exponent, power = repr(value).partition("e")
    if not exponent:
        return mantissa
    if int(power) == -5:
        sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e{int(power)}"
