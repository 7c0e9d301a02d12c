"""Answer formats requested by API clients, over both API formats: only a matching answer is sent, and nothing else."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from chatui.api import answer_format, functions
from chatui.backends.base import EndReason
from renderer.frames import Terminator
from tests.chatui.api.asking import Program, json_of, text_of
from tests.chatui.api.functions import WEATHER, calls_of, nested, weather
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}
NAMED: dict[str, Any] = {"name": "sum", "description": "The sum.", "schema": SCHEMA, "strict": True}
OF_CLASS = {"$defs": {"Sum": SCHEMA}, "type": "object", "properties": {"first": {"$ref": "#/$defs/Sum"}}, "required": ["first"]}


def answer_steps(text: str) -> list[Any]:
    return [*frame(ANALYSIS, "hm"), *frame(PREAMBLE, "I look."), *frame(FINAL, text, Terminator.RETURN), ended()]


def body_of(path: str, kind: str = "json_schema", **named: Any) -> dict[str, Any]:
    if path == RESPONSES:
        return {"input": "?", "text": {"format": {"type": kind, **named}}}
    return {"messages": [{"role": "user", "content": "?"}], "response_format": {"type": kind, **({"json_schema": named} if named else {})}}


def answer_of(path: str, found: dict[str, Any]) -> str:
    return (text_of(found) if path == RESPONSES else found["choices"][0]["message"]["content"]).strip()


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_only_the_matching_answer_is_returned(path: str, program: Program, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps("Four."), [answer_steps('{"sum":4}')]
    found = await program.ask(body_of(path, **NAMED), path)
    assert json.loads(answer_of(path, found)) == {"sum": 4}
    assert "Four." not in json.dumps(found)
    first, second = backend.requests
    assert first.answer_format is not None
    assert (first.answer_format.name, first.answer_format.schema, first.answer_format.is_strict) == ("sum", SCHEMA, True)
    assert second.answer_format == first.answer_format
    if path == RESPONSES:
        assert found["text"] == {"format": {"type": "json_schema", **NAMED}}
        stored = json_of(await program.get(f"{path}/{found['id']}"))
        assert stored["text"] == found["text"]
        assert json.loads(answer_of(path, stored)) == {"sum": 4}
        assert "Four." not in json.dumps(stored)


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_a_stream_contains_nothing_of_a_mismatch(path: str, program: Program, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps("Four."), [answer_steps('{"sum":4}')]
    events = await program.stream(body_of(path, **NAMED), path)
    assert "Four." not in json.dumps(events)
    if path == CHAT:
        text = "".join(event["choices"][0]["delta"].get("content", "") for event in events if event["choices"])
        assert json.loads(text) == {"sum": 4}
    else:
        assert events[-1]["type"] == "response.completed"
        assert json.loads(answer_of(path, events[-1]["response"])) == {"sum": 4}


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_two_mismatches_are_an_error_with_its_code(path: str, program: Program, backend: ScriptedBackend) -> None:
    backend.script = answer_steps('{"sum": "four"}')
    response = await program.post(path, body_of(path, **NAMED))
    error = json_of(response)["error"]
    assert (response.status_code, error["type"], error["code"]) == (500, "model_error", "model_error")
    assert "E-BODY-CONSTRAINT-VIOLATION" in error["message"]
    assert "four" not in json.dumps(error)
    events = await program.stream(body_of(path, **NAMED), path)
    assert "four" not in json.dumps(events)
    assert "E-BODY-CONSTRAINT-VIOLATION" in json.dumps(events[-1])


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_any_json_object_can_be_requested(path: str, program: Program, backend: ScriptedBackend) -> None:
    backend.script, backend.following = answer_steps("[4]"), [answer_steps('{"any":"thing"}')]
    found = await program.ask(body_of(path, "json_object"), path)
    assert json.loads(answer_of(path, found)) == {"any": "thing"}
    assert len(backend.requests) == 2


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_plain_text_needs_no_format(path: str, program: Program, backend: ScriptedBackend) -> None:
    backend.script = answer_steps("Four.")
    found = await program.ask(body_of(path, "text"), path)
    assert "Four." in answer_of(path, found)
    assert backend.requests[0].answer_format is None


FORMAT = {"type": "json_schema", "schema": SCHEMA}
TOOL = {"name": "clock", "input_schema": SCHEMA}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (RESPONSES, {"input": "?", "tools": [WEATHER]}),
        (RESPONSES, {"input": "?", "text": {"format": {"name": "sum", **FORMAT}}}),
        (CHAT, {"tools": nested(WEATHER)}),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": NAMED}}),
        (MESSAGES, {"tools": [TOOL]}),
        (MESSAGES, {"output_format": FORMAT}),
        (MESSAGES, {"output_config": {"format": FORMAT}}),
    ],
)
async def test_no_schema_is_checked_on_the_event_loop(
    path: str, body: dict[str, Any], program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script, threads = answer_steps('{"sum":4}'), list[int]()

    def watched(check: Callable[..., object]) -> Callable[..., object]:
        def watching(*given: object, **named: object) -> object:
            threads.append(threading.get_ident())
            return check(*given, **named)

        return watching

    for module, name in ((functions, "function_of"), (answer_format, "answer_format")):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    await program.post(path, body if path == RESPONSES else {"messages": [{"role": "user", "content": "?"}], "max_tokens": 500} | body)
    assert backend.requests and threads and threading.get_ident() not in threads


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_references_within_the_schema_are_inlined(path: str, program: Program, backend: ScriptedBackend) -> None:
    backend.script = answer_steps('{"first":{"sum":4}}')
    await program.ask(body_of(path, name="a", schema=OF_CLASS), path)
    [request] = backend.requests
    assert request.answer_format is not None
    assert request.answer_format.schema == {"type": "object", "properties": {"first": SCHEMA}, "required": ["first"]}
    assert not request.answer_format.is_strict


@pytest.mark.slow
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    "named",
    [
        {"name": "a"},
        {"name": "a b", "schema": SCHEMA},
        {"name": 5, "schema": SCHEMA},
        {"name": "a", "schema": []},
        {"name": "a", "schema": SCHEMA, "description": "x" * 1001},
        {"name": "a", "schema": {"$ref": "http://127.0.0.1:9/schema"}},
    ],
)
async def test_an_invalid_format_is_refused_by_name(path: str, named: dict[str, Any], program: Program, backend: ScriptedBackend) -> None:
    response = await program.post(path, body_of(path, **named))
    error = json_of(response)["error"]
    assert (response.status_code, error["type"]) == (400, "invalid_request")
    assert error["param"].startswith("text.format" if path == RESPONSES else "response_format")
    assert len(error["message"]) < 200
    assert not backend.requests


@pytest.mark.parametrize(("payload", "texts"), [("Four.", ""), ('{"sum":4}', '{"sum":4}')])
async def test_after_a_returned_call_no_other_answer_is_requested(
    payload: str, texts: str, program: Program, backend: ScriptedBackend
) -> None:
    backend.script = [*frame(FINAL, payload), *weather(), ended(EndReason.TOOL_CALLS)]
    backend.following = [answer_steps('{"sum":4}')]
    found = await program.ask({**body_of(RESPONSES, **NAMED), "tools": [WEATHER]})
    assert (found["status"], calls_of(found)) == ("completed", [("get-weather", {"city": "Tokyo"})])
    assert text_of(found).strip() == texts
    assert len(backend.requests) == 1
