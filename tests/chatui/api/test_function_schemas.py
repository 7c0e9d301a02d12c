"""The schemas of a program's functions: what else an argument may have, in both formats."""

from typing import Any

import pytest

from chatui.json_schemas import fault
from tests.chatui.api.asking import Program
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)

PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPEN: dict[str, Any] = {"type": "object", "properties": {"place": PLACE}, "required": ["place"]}
MORE: list[dict[str, Any]] = [{"place": {"city": "Tokyo"}, "days": 3}, {"place": {"city": "Tokyo", "days": 3}}]
PATHS = ["/v1/responses", "/v1/chat/completions"]


async def parameters_of(program: Program, backend: ScriptedBackend, schema: dict[str, Any], path: str, **more: Any) -> Any:
    """The schema that a model gets of a function with these fields."""
    function = {"name": "weather", "parameters": schema, **more}
    if path == "/v1/responses":
        await program.ask({"input": "?", "tools": [{"type": "function", **function}]}, path)
    else:
        await program.ask({"messages": [{"role": "user", "content": "?"}], "tools": [{"type": "function", "function": function}]}, path)
    [tool] = backend.requests[-1].tools
    return tool.parameters


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("more", [{}, {"strict": False}, {"strict": None}])
async def test_undeclared_properties_are_allowed(more: dict[str, Any], path: str, program: Program, backend: ScriptedBackend) -> None:
    parameters = await parameters_of(program, backend, OPEN, path, **more)
    assert [fault(parameters, arguments) for arguments in MORE] == [None, None] and fault(parameters, {"days": 3}) is not None
    assert parameters == OPEN, "servers that enforce it get what the program sent"


@pytest.mark.parametrize("path", PATHS)
async def test_a_strict_function_has_no_other_arguments(path: str, program: Program, backend: ScriptedBackend) -> None:
    parameters = await parameters_of(program, backend, OPEN, path, strict=True)
    assert all(fault(parameters, arguments) is not None for arguments in MORE)


async def test_additional_properties_false_is_respected(program: Program, backend: ScriptedBackend) -> None:
    parameters = await parameters_of(program, backend, {**OPEN, "additionalProperties": False}, PATHS[1])
    assert fault(parameters, MORE[0]) is not None
