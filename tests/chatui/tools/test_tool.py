"""Validating tool arguments: in bounded time and without fetching anything, whatever the schema says."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chatui.json_schemas import UnusableError, fault
from tests.support.cases import for_each

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 5}}, "required": ["city"], "additionalProperties": False}


@for_each(["Paris", "", "東京"])
def test_valid_arguments_have_no_error(city: str) -> None:
    assert fault(SCHEMA, {"city": city}) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "required"),
        ({"city": 1}, "city: 1 is not of type"),
        ({"city": "Stockholm"}, "longer than 5"),
        ({"city": "Oslo", "x": 1}, "'x' was unexpected"),
    ],
)
def test_invalid_arguments_are_reported(arguments: dict[str, Any], expected: str) -> None:
    assert expected in (fault(SCHEMA, arguments) or "")


def test_an_error_quotes_no_more_than_a_line() -> None:
    found = fault({"properties": {"a": {"type": "string"}}}, {"a": [["x" * 5000]]})
    assert found and len(found) <= 300


def doubling(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**definitions, f"d{levels}": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}


def test_no_pattern_or_nesting_stalls_the_check() -> None:
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(6):
        nested = {"anyOf": [nested, nested]}
    began = time.process_time()
    assert fault({"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}, {"a": "a" * 5000 + "!"})
    assert fault({"properties": {"a": nested}}, {"a": "x" * 5000})
    assert fault({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": ["x"] * 200_000})
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "(?=x)"}}},
        {"type": "no such type"},
        {"description": "x" * 20_000},
        doubling(30),
    ],
)
def test_an_unsafe_schema_is_refused_at_once(schema: dict[str, Any]) -> None:
    began = time.process_time()
    with pytest.raises(UnusableError):
        fault(schema, {"a": "x"})
    assert time.process_time() - began < 1


def test_a_too_deep_schema_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"properties": {"a": deep}}
    with pytest.raises(UnusableError):
        fault(deep, {})
