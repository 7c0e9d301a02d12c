"""Each schema of a table as a tool of an MCP server: the right call is accepted and arrives under the server's names, the wrong one is
refused before it is sent, and what cannot be carried is not offered, with a reason."""

import json
import time
from typing import Any

import jsonschema_rs
import pytest

from chatui.json_schemas import UnusableError, fault, without_nulls
from chatui.tools.functions import function_of
from tests.chatui.tools.remote.cases import CASES, NULL, OTHER_DIALECTS, STRING, A, SchemaCase, of
from tests.support.mcp_calls import NotOfferedError, tool_with

CARRIED = {name: case for name, case in CASES.items() if not case.refused}


def refusal(offer: Any, arguments: dict[str, Any]) -> str | None:
    return fault(offer.parameters, arguments) or offer.fault(arguments)


@pytest.mark.parametrize("name", CARRIED)
def test_the_right_call_is_accepted_and_the_wrong_one_is_not(name: str) -> None:
    case = CARRIED[name]
    offer = tool_with(case.schema)
    assert without_nulls(offer.parameters, case.right) == case.right and refusal(offer, case.right) is None
    if name not in OTHER_DIALECTS:
        assert jsonschema_rs.validator_for(case.schema).is_valid(offer.named(case.right)), "the table says what is right"
    if case.wrong is not None:
        assert refusal(offer, case.wrong)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_what_cannot_be_carried_is_refused_with_a_reason(name: str) -> None:
    with pytest.raises(NotOfferedError, match=CASES[name].refused):
        tool_with(CASES[name].schema)


def test_the_table_is_as_large_as_it_says() -> None:
    assert (len(CASES), len(CARRIED)) == (81, 77)


@pytest.mark.parametrize("case", CARRIED.values(), ids=CARRIED)
def test_a_programs_function_takes_the_same_calls(case: SchemaCase) -> None:
    tool = function_of("f", "Does it.", case.schema)
    arguments = tool_with(case.schema).named(case.right)
    assert fault(tool.parameters, arguments) is None and (tool.fault is None or tool.fault(arguments) is None)


def test_a_null_that_is_not_allowed_is_left_out_where_the_argument_is_optional() -> None:
    schema = of("n", a=STRING, n=STRING, l={"type": "array", "items": of(x=STRING, y={"anyOf": [STRING, NULL]})})
    shown = tool_with(schema).parameters
    asked = {"a": None, "n": None, "l": [{"x": None, "y": None}]}
    assert without_nulls(shown, asked) == {"n": None, "l": [{"y": None}]}


def test_the_operator_reads_what_a_model_is_not_shown() -> None:
    offer = tool_with(of(a={"type": "string", "pattern": "^x"}, z={"enum": [str(number) for number in range(200)]}))
    assert offer.left_out == ("a: pattern", "z: an enumeration of 200 values")
    assert "a: pattern" in "\n".join(offer.lines()) and "such as 0, 1" in json.dumps(offer.parameters)
    assert offer.digest() != offer.model_copy(update={"original": None}).digest()


def test_a_definition_that_needs_nothing_new_stays_confirmed() -> None:
    """Its digest was made before offers said what they leave out."""
    offer = tool_with(of("a", a=STRING))
    assert not offer.left_out and offer.original is None
    assert offer.digest() == "a873006d96c7959547e7f917b286ebf6ed897d8ec9cc93b7021393b8d51eb815"


LONG = list(map(str, range(100_000)))
HOSTILE = {
    "a long enumeration, often": {**of(**{f"p{n}": {"$ref": "#/$defs/e"} for n in range(400)}), "$defs": {"e": {"enum": LONG}}},
    "many properties, merged often": {"allOf": [{"$ref": "#/$defs/o"}] * 400, "$defs": {"o": of(**dict.fromkeys(LONG, STRING))}},
    "many properties in alternatives": {
        "anyOf": [{"$ref": f"#/$defs/o{n}"} for n in range(50)],
        "$defs": {f"o{n}": {"properties": {key: {"const": n} for key in LONG[:10_000]}, "required": LONG} for n in range(50)},
    },
    "many odd names": of(**{f"{{{n}": STRING for n in range(100_000)}),
    "many expressions": of(**{f"p{n}": {"type": "string", "pattern": rf"\p{{L}}{{{200 + n}}}"} for n in range(300)}),
    "a long expression": of(a={"type": "string", "pattern": "(a|b)" * 200_000}),
    "references in a ring": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "allOf of itself": {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}},
    "alternatives of itself": {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, of(x={"$ref": "#/$defs/a"})]}}},
    "alternatives without end": {"$ref": "#/$defs/a0", "$defs": {
        f"a{n}": {"oneOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 8} for n in range(40)
    } | {"a40": A}},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_is_reduced_or_refused_in_bounded_time(name: str) -> None:
    began = time.process_time()
    try:
        tool_with(HOSTILE[name])
    except NotOfferedError as refused:
        assert len(str(refused).split()) > 2
    assert time.process_time() - began < 3


def test_a_schema_that_cannot_be_expanded_is_refused() -> None:
    with pytest.raises(UnusableError, match="too large"):
        function_of("f", "Does it.", of(**{f"p{number}": STRING for number in range(900)}))
