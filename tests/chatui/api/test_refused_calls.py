"""A function call that was refused here is not returned to the API client: its content may be anything."""

from __future__ import annotations

import json

import pytest

from chatui.models.user import User
from chatui.tools.functions import model_name
from renderer.frames import Header, Terminator
from tests.chatui.api.asking import Program, json_of, key_of
from tests.chatui.api.functions import SECRET, WEATHER, calling, first_call, weather
from tests.support.scripted import ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def program(ada: User) -> Program:
    return Program(key_of(ada))


async def test_a_refused_call_is_in_no_output_list(program: Program, backend: ScriptedBackend) -> None:
    header = Header("assistant", channel="commentary", recipient=f"functions.{model_name('get-weather')}", call_id="c0", constrain="json")
    backend.script = calling([*frame(header, f"Let me think: {SECRET}", Terminator.CALL)])
    backend.following = [calling(weather("c1")), answer("Sunny.")]
    first = await first_call(program)
    calls = [item["call_id"] for item in first["output"] if item["type"] == "function_call"]
    assert len(calls) == 1 and SECRET not in json.dumps(first)
    output = {"type": "function_call_output", "call_id": calls[0], "output": "20 °C"}
    second = await program.ask({"input": [output], "previous_response_id": first["id"], "tools": [WEATHER]})
    for path in (f"/v1/responses/{second['id']}/input_items?order=asc", f"/v1/responses/{first['id']}"):
        body = json_of(await program.get(path))
        assert SECRET not in json.dumps(body)
    items = json_of(await program.get(f"/v1/responses/{second['id']}/input_items?order=asc"))["data"]
    assert [item["type"] for item in items] == ["message", "function_call", "function_call_output"]
