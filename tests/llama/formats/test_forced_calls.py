"""Forced calls on a real llama.cpp server over token ids: a model that would otherwise answer calls the function, with valid arguments."""

import json
from dataclasses import replace

import pytest

from chatui.backends.base import Backend, EndReason
from renderer.harmony.prompt import FunctionTool
from tests.backends.recorded import GREETING, PARIS, PLAN, TOKYO
from tests.llama.asked import WEATHER, over
from tests.support.sampling import outcome, sample_request

pytestmark = [pytest.mark.llama, over("harmony")]

MOODS = ["calm", "glad"]
MOOD = FunctionTool(
    "note_mood",
    "Notes the mood.",
    {"type": "object", "properties": {"mood": {"type": "string", "enum": MOODS}}, "required": ["mood"], "additionalProperties": False},
)
CLOCK = FunctionTool("tell_time", "Tells the time.", {"type": "object", "properties": {}, "additionalProperties": False})


async def test_a_model_that_answers_calls_the_function_that_it_has_to_call(backend: Backend) -> None:
    greeted = replace(sample_request("Hello!"), tools=(MOOD,), max_tokens=300)
    free = await outcome(backend, greeted)
    assert (free.visible, free.calls) == (GREETING, []), "the premise: unforced, the model answers without a call"
    result = await outcome(backend, replace(greeted, must_call=True))
    assert result.error is None and result.visible == "" and GREETING not in str(result.finished)
    [(recipient, body)] = result.calls
    assert recipient == "functions.note_mood" and json.loads(body)["mood"] in MOODS
    assert result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS
    thought = [[done.frame.body for done in each.finished if done.frame.header.channel == "analysis"] for each in (free, result)]
    assert thought[0] == thought[1] != [], "its reasoning stays"


async def test_of_several_functions_the_model_names_one_under_a_grammar(backend: Backend) -> None:
    result = await outcome(backend, replace(sample_request("Hello!"), tools=(MOOD, CLOCK), must_call=True, max_tokens=300))
    assert result.error is None and result.visible == ""
    [(recipient, body)] = result.calls
    assert recipient in ("functions.note_mood", "functions.tell_time")
    assert json.loads(body) == {} if recipient == "functions.tell_time" else json.loads(body)["mood"] in MOODS


@pytest.mark.parametrize(
    ("question", "call", "text"), [("What is the weather in Tokyo?", TOKYO, ""), ("Plan a weekend trip to Paris.", PARIS, PLAN)]
)
async def test_a_call_that_the_model_would_make_anyway_is_the_same_when_required(
    backend: Backend, question: str, call: tuple[str, str], text: str
) -> None:
    result = await outcome(backend, replace(sample_request(question), tools=(WEATHER,), must_call=True, max_tokens=300))
    assert (result.calls, result.visible) == ([call], text)
