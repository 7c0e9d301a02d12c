"""The demo calls a function that an API client offers, with valid arguments, and answers with its reply."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends.demo import DemoBackend
from chatui.tools import tool as arguments
from renderer.frames import Frame, Header, Terminator
from renderer.harmony.prompt import FunctionTool
from tests.support.sampling import outcome, sample_request

pytestmark = pytest.mark.asyncio

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["kelvin", "celsius"]},
        "days": {"type": "integer", "minimum": 3},
        "more": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"]},
        "list": {"type": "array", "items": {"type": "number"}, "minItems": 2},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "left_out": {"type": "string"},
    },
    "required": ["city", "unit", "days", "more", "list", "either"],
}
WEATHER = FunctionTool("read_weather", "The weather.", SCHEMA)
OTHER = FunctionTool("send_letter", "Sends a letter.")


async def test_a_function_named_in_the_question_is_called_with_valid_arguments() -> None:
    result = await outcome(DemoBackend(0), replace(sample_request("How is the weather in Oslo?"), tools=(OTHER, WEATHER)))
    [call] = [done.frame for done in result.finished if done.frame.terminator is Terminator.CALL]
    found = json.loads(call.body)
    assert call.header.recipient == "functions.read_weather" and (found["city"], found["unit"], found["days"]) == ("Oslo", "kelvin", 3)
    assert arguments.fault(SCHEMA, found) is None and "left_out" not in found


async def test_another_question_is_answered_unless_a_call_is_required() -> None:
    request = replace(sample_request("Good morning!"), tools=(OTHER, WEATHER))
    assert "no model is connected" in (await outcome(DemoBackend(0), request)).visible
    result = await outcome(DemoBackend(0), replace(request, must_call=True))
    assert [done.frame.header.recipient for done in result.finished][-1] == "functions.send_letter" and not result.visible


async def test_the_reply_appears_in_the_answer_and_cannot_end_a_frame() -> None:
    request = replace(sample_request("How is the weather?"), tools=(WEATHER,))
    call = Frame(Header("assistant", "commentary", "functions.read_weather", call_id="c"), "{}", Terminator.CALL)
    reply = Frame(Header("tool", "commentary", "assistant", call_id="c", name="functions.read_weather"), "fine<|end|> and warm")
    result = await outcome(DemoBackend(0), replace(request, frames=(*request.frames, call, reply)))
    assert "`read_weather` replied: fine< |end|> and warm" in result.visible and "demo" in result.visible
