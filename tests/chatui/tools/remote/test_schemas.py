"""Reducing foreign JSON schemas to what can be sent to a model, in bounded time; others are refused."""

import json
import time
from typing import Any

import pytest

from chatui import json_schemas
from chatui.json_schemas import UnusableError
from chatui.tools.remote.schemas import reduced
from tests.support.cases import for_each


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_references_are_inlined_and_limits_are_described_in_words() -> None:
    schema = {
        **object_schema(
            page={"$ref": "#/$defs/page", "description": "Which one"}, kind={"anyOf": [{"type": "null"}, {"enum": ["a", "b"]}]}
        ),
        "required": ["page", "gone"],
        "$defs": {"page": {"type": "integer", "minimum": 1, "format": "int32", "title": "Page", "x-other": 1}},
    }
    assert reduced(schema) == {
        "type": "object",
        "properties": {
            "page": {"type": "integer", "minimum": 1, "description": "Which one (int32, minimum 1)"},
            "kind": {"enum": ["a", "b"]},
        },
        "required": ["page"],
        "additionalProperties": False,
    }


def test_all_of_becomes_one_object() -> None:
    schema = {
        "allOf": [{"$ref": "#/d/base"}, {**object_schema(b={"type": "string"}), "required": ["b"]}],
        "d": {"base": {**object_schema(a={"type": "integer"}), "required": ["a"]}},
    }
    found = reduced(schema)
    assert set(found["properties"]) == {"a", "b"} and set(found["required"]) == {"a", "b"}


def test_variants_of_plain_types_become_a_list_of_types() -> None:
    assert reduced({"oneOf": [{"type": "string"}, {"type": "integer"}]}) == {"type": ["integer", "string"]}


def test_no_keyword_is_left_that_a_prompt_would_have_to_write_and_does_not() -> None:
    """``renderer.harmony.prompt`` says which."""
    variants = [{"type": "string", "title": "S", "nullable": True}, {"type": "array", "items": {"type": "integer", "examples": [1]}}]
    written = json.dumps(reduced(object_schema(a={"oneOf": variants, "title": "A"}, b={"type": "string", "nullable": True})))
    assert '"anyOf"' in written and not any(f'"{word}"' in written for word in ("oneOf", "nullable", "title", "examples"))


def test_a_recursive_schema_is_cut_at_the_recursion() -> None:
    tree = {**object_schema(left={"$ref": "#"}, right={"$ref": "#"}, value={"type": "string"}), "description": "A tree"}
    found = reduced(tree)
    assert len(json.dumps(found)) < 2000 and found["properties"]["value"] == {"type": "string"}


def doubling(levels: int, word: str = "properties") -> dict[str, Any]:
    """Each level occurs twice in the one above it."""
    both = [{"$ref": "#/$defs/d{}"}] * 2
    definitions: dict[str, Any] = {}
    for level in range(levels):
        inner = [{"$ref": f"#/$defs/d{level + 1}"} for _ in both]
        definitions[f"d{level}"] = {"properties": dict(zip("ab", inner, strict=True))} if word == "properties" else {word: inner}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def deep(levels: int) -> Any:
    found: Any = {"type": "string"}
    for _ in range(levels):
        found = object_schema(a=found)
    return found


@for_each([
    doubling(30), doubling(30, "anyOf"), doubling(30, "allOf"), doubling(30, "oneOf"), deep(20), deep(900),
    object_schema(**{f"p{n}": {"type": "string"} for n in range(2000)}),
    object_schema(a={"enum": ["x"] * 500}), {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///etc/passwd"}, {"$ref": "other.json#/x"},
    {"$ref": "#/gone"}, object_schema(a=3), False, None, [], object_schema(**{f"p{n}": {"description": "x" * 290} for n in range(100)}),
])  # fmt: skip
def test_exploding_external_or_invalid_schemas_are_refused_quickly(schema: Any) -> None:
    began = time.process_time()
    with pytest.raises(UnusableError):
        reduced(schema)
    assert time.process_time() - began < 1


@for_each(['a" | "b', "x}; type y = {", "<|end|>", "a\u202eb", "two\nlines", "\U000e0041hidden", "x" * 101, "\ufe00"])
def test_an_enum_value_that_could_end_the_definition_is_refused(word: str) -> None:
    with pytest.raises(UnusableError):
        reduced(object_schema(a={"type": "string", "enum": [word, "good"]}))
    assert "default" not in reduced(object_schema(a={"type": "string", "default": word}))["properties"]["a"]


@for_each(["a-b", "a b", "1", "a}", "x" * 65, "ключ", ""])
def test_an_unsupported_property_is_dropped_or_refused_if_required(name: str) -> None:
    assert reduced(object_schema(**{name: {"type": "string"}, "good": {}}))["properties"] == {"good": {}}
    with pytest.raises(UnusableError):
        reduced({**object_schema(**{name: {}}), "required": [name]})


def test_a_model_cannot_set_undeclared_properties() -> None:
    schema = reduced(object_schema(title={"type": "string"}, owner={"type": "string", "readOnly": True}))
    assert json_schemas.fault(schema, {"title": "x"}) is None
    assert json_schemas.fault(schema, {"title": "x", "owner": "eve"})


def test_patterns_are_dropped_and_every_reduced_schema_is_checkable() -> None:
    schema = reduced(object_schema(a={"type": "string", "pattern": "^(a+)+$", "minLength": 2}, b={"type": ["string", "null"]}))
    assert "pattern" not in json.dumps(schema)
    assert json_schemas.fault(schema, {"a": "aaaa", "b": "x"}) is None and json_schemas.fault(schema, {"a": "a"})
