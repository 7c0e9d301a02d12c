"""Reducing foreign JSON schemas to what a model can be told, in bounded time; others are refused."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from chatui.tools import arguments
from chatui.tools.remote.schemas import reduced
from chatui.tools.tool import ToolUnusableError
from tests.support.cases import for_each


def made_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_references_are_written_out_and_limits_are_said_in_words() -> None:
    schema = {
        **made_of(page={"$ref": "#/$defs/page", "description": "Which one"}, kind={"anyOf": [{"type": "null"}, {"enum": ["a", "b"]}]}),
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


def test_parts_that_all_count_become_one_object() -> None:
    schema = {
        "allOf": [{"$ref": "#/d/base"}, {**made_of(b={"type": "string"}), "required": ["b"]}],
        "d": {"base": {**made_of(a={"type": "integer"}), "required": ["a"]}},
    }
    found = reduced(schema)
    assert set(found["properties"]) == {"a", "b"} and set(found["required"]) == {"a", "b"}


def test_variants_of_plain_types_are_a_list_of_types() -> None:
    assert reduced({"oneOf": [{"type": "string"}, {"type": "integer"}]}) == {"type": ["integer", "string"]}


def test_a_schema_that_leads_back_to_itself_is_cut_there() -> None:
    tree = {**made_of(left={"$ref": "#"}, right={"$ref": "#"}, value={"type": "string"}), "description": "A tree"}
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
        found = made_of(a=found)
    return found


@for_each([
    doubling(30), doubling(30, "anyOf"), doubling(30, "allOf"), doubling(30, "oneOf"), deep(20), deep(900),
    made_of(**{f"p{n}": {"type": "string"} for n in range(2000)}),
    made_of(a={"enum": ["x"] * 500}), {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///etc/passwd"}, {"$ref": "other.json#/x"},
    {"$ref": "#/gone"}, made_of(a=3), False, None, [], made_of(**{f"p{n}": {"description": "x" * 290} for n in range(100)}),
])  # fmt: skip
def test_what_explodes_leads_elsewhere_or_is_none_is_refused_at_once(schema: Any) -> None:
    began = time.monotonic()
    with pytest.raises(ToolUnusableError):
        reduced(schema)
    assert time.monotonic() - began < 1


@for_each(['a" | "b', "x}; type y = {", "<|end|>", "a\u202eb", "two\nlines", "\U000e0041hidden", "x" * 101, "\ufe00"])
def test_a_choice_that_could_end_the_definition_is_refused(word: str) -> None:
    with pytest.raises(ToolUnusableError):
        reduced(made_of(a={"type": "string", "enum": [word, "good"]}))
    assert "default" not in reduced(made_of(a={"type": "string", "default": word}))["properties"]["a"]


@for_each(["a-b", "a b", "1", "a}", "x" * 65, "ключ", ""])
def test_a_property_that_a_model_cannot_be_told_is_left_out_or_refused_where_it_is_needed(name: str) -> None:
    assert reduced(made_of(**{name: {"type": "string"}, "good": {}}))["properties"] == {"good": {}}
    with pytest.raises(ToolUnusableError):
        reduced({**made_of(**{name: {}}), "required": [name]})


def test_a_model_cannot_set_what_it_was_not_told_of() -> None:
    schema = reduced(made_of(title={"type": "string"}, owner={"type": "string", "readOnly": True}))
    assert arguments.fault(schema, {"title": "x"}) is None
    assert arguments.fault(schema, {"title": "x", "owner": "eve"})


def test_no_pattern_is_kept_and_every_reduced_schema_can_be_checked() -> None:
    schema = reduced(made_of(a={"type": "string", "pattern": "^(a+)+$", "minLength": 2}, b={"type": ["string", "null"]}))
    assert "pattern" not in json.dumps(schema)
    assert arguments.fault(schema, {"a": "aaaa", "b": "x"}) is None and arguments.fault(schema, {"a": "a"})
