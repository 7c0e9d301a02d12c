"""Functions of API clients accept exactly what the client's own schema allows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from chatui.api.request_parts import ToolFields, parse_tools
from chatui.json_schemas import fault
from chatui.tools.remote.schemas import reduced

PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPEN: dict[str, Any] = {"type": "object", "properties": {"place": PLACE}, "required": ["place"]}
MORE: list[dict[str, Any]] = [{"place": {"city": "Tokyo"}, "days": 3}, {"place": {"city": "Tokyo", "days": 3}}]


def parameters_of(schema: dict[str, Any], is_nested: bool, **more: Any) -> Any:
    function = {"name": "weather", "parameters": schema, **more}
    tool = {"type": "function", "function": function} if is_nested else {"type": "function", **function}
    key = cast(Any, SimpleNamespace(tools=frozenset()))
    [offered] = parse_tools(ToolFields([tool], None, None, is_nested=is_nested), key).offer.functions.values()
    return offered.parameters


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("more", [{}, {"strict": False}, {"strict": None}])
@pytest.mark.parametrize("arguments", MORE)
def test_undeclared_properties_are_allowed(arguments: dict[str, Any], more: dict[str, Any], is_nested: bool) -> None:
    parameters = parameters_of(OPEN, is_nested, **more)
    assert fault(parameters, arguments) is None and fault(parameters, {"days": 3}) is not None
    assert parameters == OPEN, "servers that enforce it get what the program sent"


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("arguments", MORE)
def test_a_strict_function_has_no_other_arguments(arguments: dict[str, Any], is_nested: bool) -> None:
    assert fault(parameters_of(OPEN, is_nested, strict=True), arguments) is not None


def test_additional_properties_false_is_respected() -> None:
    assert fault(parameters_of({**OPEN, "additionalProperties": False}, is_nested=False), MORE[0]) is not None


@pytest.mark.parametrize("arguments", MORE)
def test_schemas_of_foreign_servers_stay_closed(arguments: dict[str, Any]) -> None:
    assert fault(reduced(OPEN), arguments) is not None
