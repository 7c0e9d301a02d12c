"""Values are validated against untrusted schemas in bounded time and memory, and references are inlined or refused."""

import subprocess
import sys
import time
from typing import Any

import pytest

from chatui import answer_formats
from chatui.answer_formats import AnswerFormat, answer_format, from_stored, schema_of
from chatui.json_schemas import UnusableError, fault, inlined

MANY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from chatui.json_schemas import fault
print(fault({"anyOf": [{"items": {"type": "string"}}] * 500}, [1] * 10_000))
print(fault({"anyOf": [{"items": {"type": "string"}}] * 500}, [1] * 300_000))
print(fault({"anyOf": [{"items": {"type": "string"}}] * 5}, [1] * 3))
"""


CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 5}}, "required": ["city"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"city": "Paris"}, None),
        ({"city": 1}, "city: 1 is not of type"),
        ({"city": "Oslo", "x": 1}, "'x' was unexpected"),
    ],
)
def test_a_value_fits_or_the_first_fault_is_said(arguments: dict[str, Any], expected: str | None) -> None:
    found = fault(CITY, arguments)
    assert (expected in found) if expected and found else found == expected


def test_a_fault_quotes_no_more_than_a_line() -> None:
    found = fault({"properties": {"a": {"type": "string"}}}, {"a": [["x" * 5000]]})
    assert found and len(found) <= 300


def test_describing_an_error_does_not_fill_the_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    long, longer, short = done.stdout.splitlines()
    assert (long, longer) == ("arguments: it does not fit the schema", "arguments: too long to be checked")
    assert "is not valid under any of the schemas" in short


def test_no_schema_and_no_value_stall_the_check() -> None:
    began = time.process_time()
    wide: dict[str, Any] = {"items": {"allOf": [{"not": {"const": f"x{number}"}} for number in range(400)]}}
    assert fault(wide, [1] * 200_000) == "arguments: too long to be checked"
    assert fault(wide, [1] * 10_000) is None
    assert fault({"pattern": "^(a+)+$"}, "a" * 20_000 + "!")
    assert fault({"items": {"type": "integer"}}, ["x"] * 200_000)
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(6):
        nested = {"anyOf": [nested, nested]}
    assert fault(nested, "x" * 5000)
    assert time.process_time() - began < 3


def test_references_are_inlined() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "mine"}, "definitions": {"type": "string"}},
        "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/B"}}, "B": {"type": "integer"}},
    }
    assert inlined(schema) == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}, "description": "mine"}, "definitions": {"type": "string"}},
    }


def doubling(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**definitions, f"d{levels}": {"type": "integer"}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/no"},
        {"$dynamicRef": "#a"},
        doubling(30),
        {"properties": {"a": {"const": "\ud800"}}},
        {"properties": {"a\0": {}}},
    ],
)
def test_a_schema_that_leads_elsewhere_or_grows_is_refused(schema: dict[str, Any]) -> None:
    began = time.process_time()
    with pytest.raises(UnusableError):
        answer_format("a", schema)
    assert time.process_time() - began < 2


NESTED: dict[str, Any] = {}
for _ in range(40):
    NESTED = {"properties": {"a": NESTED}}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "(?=x)"}}},
        {"type": "no such type"},
        {"description": "x" * 20_000},
        NESTED,
    ],
)
def test_an_unsafe_schema_is_refused_at_once(schema: dict[str, Any]) -> None:
    began = time.process_time()
    with pytest.raises(UnusableError):
        fault(schema, {"a": "x"})
    assert time.process_time() - began < 1


@pytest.mark.parametrize("text", ["", "[]", '{"a":1,"a":2}', "[" * 5000, '{"a": NaN}', '{"enum": ["' + "x" * 70_000 + '"]}'])
def test_an_invalid_schema_is_refused(text: str) -> None:
    with pytest.raises(UnusableError):
        schema_of(text)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"a": 1}', None),
        (' \n{"a": 1} ', None),
        ('{"a": "x"}', 'a: "x" is not of type'),
        ("", "it is not JSON"),
        ('```json\n{"a": 1}\n```', "it is not JSON"),
        ('{"a": NaN}', "it is not JSON"),
        ("9" * 5000, "is not of type"),
    ],
)
def test_an_answer_fits_or_the_reason_why_not_is_returned(answer: str, expected: str | None) -> None:
    found = answer_format("a", {"type": "object", "properties": {"a": {"type": "integer"}}}).fault(answer)
    assert (found is None) is (expected is None)
    assert expected is None or expected in str(found)


def test_a_row_stores_the_whole_format() -> None:
    stored_format = answer_format("a", {"type": "object"}, "Two\nlines\0 and <|end|>.", is_strict=False)
    assert from_stored(stored_format.stored()) == stored_format
    assert stored_format.description == "Two lines and <|end|>."
    assert from_stored(None) is None
    assert from_stored(AnswerFormat().stored()) == AnswerFormat()
    assert answer_formats.as_text({"a": "ä"}) == '{\n  "a": "ä"\n}'


def test_references_that_come_to_megabytes_are_refused_before_they_are_written() -> None:
    long, there = {"long": {"const": "x" * 50_000}}, {"$ref": "#/$defs/long"}
    with pytest.raises(UnusableError):
        inlined({"$defs": long, "anyOf": [there] * 1000})
    assert len(inlined({"$defs": long, "anyOf": [there] * 2})["anyOf"]) == 2, "the twin"


LARGE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
from chatui.answer_formats import answer_format
from chatui.json_schemas import UnusableError
for count in (1, 90, 400):
    try:
        answer_format("it", {"allOf": [{"pattern": r"\\\\p{L}{%d}" % (250 - place % 200)} for place in range(count)]})
    except UnusableError as error:
        print(error)
"""


def test_large_patterns_are_refused_before_they_fill_the_memory() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert len(done.stdout.splitlines()) == 3
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("word", ["unevaluatedProperties", "unevaluatedItems"])
def test_keywords_that_examine_every_level_again_are_refused(word: str) -> None:
    schema: dict[str, Any] = {"properties": {"a": True}}
    for _ in range(28):
        schema = {"if": schema, "then": True, word: False}
    with pytest.raises(UnusableError):
        answer_format("it", {"type": "object", **schema})


def test_common_patterns_are_accepted() -> None:
    uuid, date = "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", r"^\d{4}-\d{2}-\d{2}$"
    many = {"type": "object", "properties": {f"p{number}": {"pattern": uuid} for number in range(50)}}
    answer_format("it", many | {"patternProperties": {"^x-": {"pattern": date}}, "additionalProperties": False})
    assert fault({"pattern": date}, "2026-11-21") is None
    assert fault({"pattern": uuid}, "x" * 20_000)


def test_slow_patterns_are_matched_against_short_values() -> None:
    began = time.process_time()
    slow = {"pattern": "(?:é|a){1500}b"}
    assert fault(slow, "a" * 10_000) is not None
    assert fault(slow, "a" * 1_000_000) == "arguments: too long to be checked"
    assert time.process_time() - began < 3
