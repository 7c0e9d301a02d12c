"""What the Responses backend sends, and which events end, repeat or break off a sample."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from chatui import prompts
from chatui.backends.base import Endpoint, EndReason, GivenReasoning, SampleLimits, Usage
from chatui.backends.hosted_tools import HostedTools
from chatui.backends.responses import backend as backends
from chatui.backends.responses.backend import ResponsesBackend
from chatui.codes import ProductCode
from chatui.json_schemas import AnswerFormat
from renderer.errors import Code
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool
from tests.chatui.backends.chat.test_backend import then
from tests.chatui.backends.harmony.test_backend import VLLM
from tests.chatui.backends.responses.test_backend import BEGUN, THOUGHT, answered, ended, event, message_event
from tests.support import stub
from tests.support.sampling import sample_request
from tests.support.stub import DONE, SSE_HEAD

pytestmark = pytest.mark.asyncio

LOOK = FunctionTool("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}})
HI = then(BEGUN, message_event("Hi"), ended())
CUT = Frame(Header(Role.ASSISTANT, Channel.FINAL), "Two and two")
CALL = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.look", call_id="c1", constrain="json")
REPLY = Frame(Header(Role.TOOL, Channel.COMMENTARY, recipient="assistant", call_id="c1", name="functions.look"), "Found.")
CALLED = event("response.output_item.done", item={"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"})


# The request


async def test_the_tools_the_settings_and_the_chosen_model_are_sent() -> None:
    search = {"type": "web_search"}
    request = replace(sample_request("Hello!"), model="big", tools=(LOOK,), must_call=True, sampling={"temperature": 0.5})
    _, server = await answered(HI, replace(request, hosted=HostedTools((search,))))
    function = {"type": "function", "name": "look", "description": "Looks.", "parameters": LOOK.parameters, "strict": False}
    assert server.posted["tools"] == [search, function]
    assert server.posted["include"] == ["reasoning.encrypted_content"]
    assert (server.posted["tool_choice"], server.posted["temperature"], server.posted["model"]) == ("required", 0.5, "big")


async def test_what_a_request_does_not_want_is_not_sent() -> None:
    _, server = await answered(HI)
    assert set(server.posted) == {"input", "stream", "store", "truncation", "reasoning"}


@pytest.mark.parametrize(("trusted", "wants"), [(True, True), (True, False), (False, True)])
async def test_a_summary_is_requested_if_it_is_trusted_and_wanted(trusted: bool, wants: bool) -> None:
    _, server = await answered(HI, replace(sample_request("Hello!"), wants_summary=wants), trusted=trusted)
    assert ("summary" in server.posted["reasoning"]) is (trusted and wants)


async def test_an_answer_that_is_asked_for_in_words_again_keeps_its_format() -> None:
    wanted = AnswerFormat(name="sum", schema={"type": "object"})
    request = replace(sample_request("Hello!"), answer_format=wanted, cut_answer=Frame(CUT.header, ""))
    _, server = await answered(HI, request, server_header="llama.cpp", models={"data": [{"id": "m"}]})
    assert {"text", "response_format"} <= set(server.posted)
    assert server.posted["input"][-1]["content"] == prompts.read("finish")


async def test_a_continued_answer_is_asked_for_without_the_reasoning_that_was_cut() -> None:
    thought = Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), "SECRET")
    request = replace(sample_request("Hello!"), cut_answer=CUT)
    result, server = await answered(HI, replace(request, frames=(*request.frames, thought)))
    assert result.visible == " Hi" and "SECRET" not in str(server.posted)
    assert server.posted["input"][-1]["content"] == prompts.read("continue")


async def test_reasoning_goes_back_as_its_server_gave_it() -> None:
    item = {"type": "reasoning", "id": "r", "encrypted_content": "x"}
    frames = (Frame(CALL, "{}", Terminator.CALL), REPLY)
    _, server = await answered(HI, replace(sample_request("Hello!", *frames), given_back={"c1": GivenReasoning(items=(item,))}))
    assert server.posted["input"][0] == item


@pytest.mark.parametrize(("line", "chars", "room"), [(10, 100, 800), (1000, 100, 1000)])
async def test_the_last_event_may_repeat_a_whole_answer(line: int, chars: int, room: int) -> None:
    backend = ResponsesBackend(Endpoint("http://a.test", limits=SampleLimits(max_line_bytes=line, max_output_chars=chars)))
    assert backend._limits.max_line_bytes == backend._upstream.limits.max_line_bytes == room
    await backend.aclose()


# The end


async def test_the_end_names_the_model_the_usage_and_the_reasoning() -> None:
    item = {"type": "reasoning", "id": "r", "encrypted_content": "x"}
    last = event(
        "response.completed",
        response={"status": "completed", "model": "m-2024-08-06", "usage": {"input_tokens": 3, "output_tokens": 2}, "output": []},
    )
    answer = then(SSE_HEAD + event("response.output_item.done", item=item), CALLED, last)
    result, _ = await answered(answer, replace(sample_request("Hello!"), model="m", tools=(LOOK,)))
    assert result.ended is not None
    assert (result.ended.reason, result.ended.usage, result.ended.model) == (EndReason.TOOL_CALLS, Usage(3, 2), "m-2024-08-06")
    assert result.ended.reasoning == GivenReasoning(items=(item,))


async def test_a_model_that_was_neither_asked_for_nor_offered_is_not_named() -> None:
    result, _ = await answered(HI, replace(sample_request("Hello!"), model="m"))
    assert result.ended is not None and result.ended.model == "m"


@pytest.mark.parametrize("has_tools", [True, False])
async def test_text_before_a_call_is_a_preamble_if_tools_were_offered(has_tools: bool) -> None:
    request = replace(sample_request("Hello!"), tools=(LOOK,) if has_tools else ())
    result, _ = await answered(then(BEGUN, message_event("I look."), CALLED, ended()), request)
    assert result.finished[0].frame.header.channel == ("commentary" if has_tools else "final")


@pytest.mark.parametrize(
    ("max_tokens", "usage", "server", "reason"),
    [
        (5, {"output_tokens": 5}, {}, EndReason.LENGTH),
        (6, {"output_tokens": 5}, {}, EndReason.STOP),
        (None, {"input_tokens": 4000, "output_tokens": 96}, VLLM, EndReason.LENGTH),
        (None, {"input_tokens": 4000, "output_tokens": 95}, VLLM, EndReason.STOP),
    ],
)
async def test_an_answer_that_reached_a_limit_was_cut_whatever_the_server_says(
    max_tokens: int | None, usage: dict[str, int], server: dict[str, Any], reason: EndReason
) -> None:
    answer = then(BEGUN, message_event("Hi"), ended(usage=usage))
    result, _ = await answered(answer, replace(sample_request("Hello!"), max_tokens=max_tokens), **server)
    assert result.ended is not None and result.ended.reason is reason


async def test_nothing_is_read_after_the_sign_of_another_format() -> None:
    result, _ = await answered(then(BEGUN, message_event("Half"), DONE + message_event("SECRET") + ended()))
    assert (result.visible, result.hidden, result.error and result.error.code) == ("Half", "", Code.STREAM_TRUNCATED)


async def test_the_connection_is_closed_at_the_end_although_the_server_keeps_it_open() -> None:
    result, server = await answered(then(BEGUN, message_event("Hi"), ended(), 5.0))
    assert (result.visible, server.dropped.is_set()) == ("Hi", True)


async def test_an_event_is_what_its_type_says_whatever_else_it_calls_itself() -> None:
    piece = message_event("Hi", object="response", status="completed")
    assert (await answered(then(BEGUN, piece, message_event("!"), ended())))[0].visible == "Hi!"


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed", "cancelled"])
async def test_a_bare_response_ends_the_stream_whatever_its_status(status: str) -> None:
    bare = b"data: " + json.dumps({"object": "response", "status": status, "output": []}).encode() + b"\n\n"
    result, _ = await answered(then(BEGUN, message_event("Hi"), bare + message_event("SECRET") + ended()))
    codes = {"failed": ProductCode.BACKEND, "cancelled": Code.STREAM_TRUNCATED}
    assert (result.visible, result.hidden, result.error and result.error.code) == ("Hi", "", codes.get(status))


@pytest.mark.parametrize("body", [{"object": "response", "status": "queued"}, {"object": "response"}, {"status": "completed"}])
async def test_another_object_without_a_type_does_not_end_the_stream(body: dict[str, Any]) -> None:
    result, _ = await answered(then(BEGUN, b"data: " + json.dumps(body).encode() + b"\n\n", message_event("Hi"), ended()))
    assert (result.visible, result.error) == ("Hi", None)


async def test_a_whole_response_of_any_status_is_the_whole_answer() -> None:
    result, _ = await answered(stub.responds("200 OK", b'{"status":"in_progress","output":[]}'))
    assert result.error is not None
    assert (result.error.code, "the last status was 'in_progress'" in result.error.detail) == (Code.STREAM_TRUNCATED, True)


async def test_a_stream_that_broke_off_says_what_was_last_known() -> None:
    result, _ = await answered(then(BEGUN, message_event("Half"), b"data: {oops\n\ndata: 7\n\n"))
    assert result.error is not None
    assert result.error.detail == "the stream ended without an end: the last status was ''; 2 events could not be read"
    odd, _ = await answered(then(BEGUN, ended("completed", output=[]).replace(b'"completed"', b'"%s"' % (b"x" * 50))))
    assert odd.error is not None and f"the last status was '{'x' * 40}';" in odd.error.detail


# Errors and odd events


@pytest.mark.parametrize("begun", [BEGUN, THOUGHT, SSE_HEAD])
async def test_a_failure_is_retryable_only_if_nothing_had_arrived(begun: bytes) -> None:
    result, _ = await answered(then(begun, ended("failed", error={"code": "server_error", "message": "x"})))
    assert result.error is not None
    assert (result.error.code, result.error.retryable) == (ProductCode.BACKEND, begun is SSE_HEAD)


async def test_a_failed_response_is_reported_with_its_own_error() -> None:
    for error, code in (({"code": "rate_limit_exceeded", "message": "x"}, ProductCode.BACKEND_BUSY), (None, ProductCode.BACKEND)):
        result, _ = await answered(then(SSE_HEAD, ended("failed", error=error)))
        assert result.error is not None and result.error.code is code
        assert error is not None or result.error.detail == "the response failed"


@pytest.mark.parametrize(
    "odd",
    [b'event: error\ndata: {"message":"x"}\n\n', b'event: error\ndata: {"type":"x","message":"x"}\n\n', b'data: {"type":"error"}\n\n'],
)
async def test_an_error_event_is_one_by_its_name_or_by_its_type(odd: bytes) -> None:
    result, _ = await answered(then(BEGUN, message_event("Half"), odd, message_event("more"), ended()))
    assert (result.visible, result.error and result.error.code) == ("Half", ProductCode.BACKEND)


async def test_a_field_called_error_in_another_event_is_none() -> None:
    result, _ = await answered(then(BEGUN, message_event("Hi", error={"code": "x"}, sequence_number=None), ended(error=None)))
    assert result.error is None


async def test_a_type_that_is_no_text_is_the_name_of_the_event() -> None:
    named = b'event: response.output_text.delta\ndata: {"type":5,"item_id":"m","delta":"Hi"}\n\n'
    assert (await answered(then(BEGUN, named, ended())))[0].visible == "Hi"


async def test_only_so_many_events_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_MAX_REMEMBERED", 1)
    first, second = message_event("a", sequence_number=1), message_event("b", sequence_number=2)
    result, _ = await answered(then(BEGUN, first, first, second, second, ended()))
    assert result.visible == "abb"


async def test_events_without_a_number_are_never_repetitions() -> None:
    same = [message_event("a", sequence_number=number) for number in ("1", "1", None, None)]
    assert (await answered(then(BEGUN, *same, ended())))[0].visible == "aaaa"


async def test_an_ordinary_stream_logs_nothing_odd(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await answered(HI)
    assert "other oddities" not in caplog.text
    await answered(then(BEGUN, b"data: 7\n\n", message_event("Hi"), ended()))
    assert "1 events that are no JSON objects; other oddities: none" in caplog.text
    await answered(then(BEGUN, event("x"), event("y"), event("response.output_item.added"), message_event("Hi"), ended()))
    assert "0 events that are no JSON objects; other oddities: 2 × unknown event, 1 × unknown item" in caplog.text
