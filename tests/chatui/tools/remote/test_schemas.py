"""Reducing foreign JSON schemas to what can be sent to a model, in bounded time; others are refused."""

import json
from typing import Any

import pytest

from chatui import json_schemas
from tests.support.cases import for_each
from tests.support.cost import cost
from tests.support.limits import limit
from tests.support.mcp_calls import NotOfferedError, tool_with

QUICK = 1_000
"""In units of ``cost``: about a second."""


def reduced(schema: Any) -> dict[str, Any]:
    """What a model is shown of the schema of a server's tool."""
    return tool_with(schema).parameters


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
            "kind": {"type": ["string", "null"], "enum": ["a", "b", None], "description": "(a, b or null)"},
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
    schema = object_schema(a={"oneOf": [{"type": "string"}, {"type": "integer"}]})
    assert reduced(schema)["properties"]["a"] == {"type": ["integer", "string"]}


def test_alternatives_that_are_alternatives_themselves_stay() -> None:
    inner = {"anyOf": [object_schema(a={}), object_schema(b={}), {"type": "string"}]}
    schema = object_schema(a={"anyOf": [{"type": "integer"}, inner, {"type": "null"}]})
    assert len(reduced(schema)["properties"]["a"]["anyOf"]) == 3


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


def below(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with this in it."""
    return {**object_schema(a={"$ref": schema["$ref"]}), "$defs": schema["$defs"]}


def deep(levels: int) -> Any:
    found: Any = {"type": "string"}
    for _ in range(levels):
        found = object_schema(a=found)
    return found


@for_each([
    doubling(30, "allOf"),
    object_schema(**{f"p{n}": {"type": "string"} for n in range(2000)}),
    {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///etc/passwd"}, {"$ref": "other.json#/x"},
    {"$ref": "#/gone"}, object_schema(a=3), False, None, [], object_schema(**{f"p{n}": {"description": "x" * 290} for n in range(300)}),
])  # fmt: skip
def test_exploding_external_or_invalid_schemas_are_refused_quickly(schema: Any) -> None:
    def refused() -> None:
        with pytest.raises(NotOfferedError):
            reduced(schema)

    assert cost(refused) < QUICK


@pytest.mark.parametrize(
    "schema", [doubling(30), below(doubling(30, "anyOf")), below(doubling(30, "oneOf")), deep(20), deep(300), object_schema(a=deep(13))]
)
def test_below_the_limit_of_levels_any_value_is_allowed(schema: dict[str, Any]) -> None:
    assert cost(lambda: reduced(schema)) < QUICK
    found = tool_with(schema)
    assert "deeper levels" in found.left_out[0] and len(json.dumps(found.parameters)) < limit("chatui.tools.remote", "MAX_CHARS")
    assert json_schemas.fault(found.parameters, {}) is None


@for_each(['a" | "b', "x}; type y = {", "<|end|>", "a\u202eb", "two\nlines", "\U000e0041hidden", "x" * 101, "\ufe00"])
def test_an_enum_value_that_could_end_the_definition_is_never_shown(word: str) -> None:
    found = tool_with(object_schema(a={"type": "string", "enum": [word, "good"]}))
    assert word not in json.dumps(found.parameters, ensure_ascii=False) and "enumeration of 2 values" in found.left_out[0]
    assert json_schemas.fault(found.parameters, {"a": "good"}) is None
    with pytest.raises(NotOfferedError, match="enumeration"):
        reduced(object_schema(a={"type": "string", "enum": [word]}))
    assert "default" not in reduced(object_schema(a={"type": "string", "default": word}))["properties"]["a"]


@for_each(["a-b", "a b", "1", "ключ", "$filter", "@type", "system.id", "page[size]"])
def test_a_name_below_the_first_level_is_shown_as_it_is(name: str) -> None:
    schema = object_schema(o={**object_schema(**{name: {"type": "string"}}), "required": [name]})
    assert reduced(schema)["properties"]["o"]["required"] == [name]


@for_each(["a}", "x" * 65, "", "a//{", "<|end|>", "a\nb", "a\u202eb", 'a"', " a", "a: any, b"])
def test_a_name_that_cannot_be_shown_is_listed_or_refused_if_required(name: str) -> None:
    found = tool_with(object_schema(o=object_schema(**{name: {"type": "string"}, "good": {}})))
    assert found.parameters["properties"]["o"]["properties"] == {"good": {}} and "name" in found.left_out[0]
    with pytest.raises(NotOfferedError, match="name that cannot be shown"):
        reduced(object_schema(o={**object_schema(**{name: {}}), "required": [name]}))


def test_a_model_cannot_set_undeclared_properties() -> None:
    schema = reduced(object_schema(title={"type": "string"}, owner={"type": "string", "readOnly": True}))
    assert json_schemas.fault(schema, {"title": "x"}) is None
    assert json_schemas.fault(schema, {"title": "x", "owner": "eve"})


def test_patterns_are_dropped_and_every_reduced_schema_is_checkable() -> None:
    schema = reduced(object_schema(a={"type": "string", "pattern": "^(a+)+$", "minLength": 2}, b={"type": ["string", "null"]}))
    assert "pattern" not in json.dumps(schema)
    assert json_schemas.fault(schema, {"a": "aaaa", "b": "x"}) is None and json_schemas.fault(schema, {"a": "a"})
