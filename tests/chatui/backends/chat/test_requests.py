"""What the Chat Completions backend sends, and which events end, repeat or break off a sample."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from chatui import prompts
from chatui.backends.base import Endpoint, EndReason, GivenReasoning, SampleRequest, Usage
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.codes import ProductCode
from chatui.json_schemas import AnswerFormat
from renderer.errors import Code
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool
from tests.chatui.backends.chat.test_backend import answered, then
from tests.chatui.backends.harmony.test_backend import LLAMA, VLLM
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD, chunk

pytestmark = pytest.mark.asyncio

LOOK = FunctionTool("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}})
HI = then(SSE_HEAD, chunk(content="Hi"), chunk("stop"), DONE)
CUT = Frame(Header(Role.ASSISTANT, Channel.FINAL), "Two and two")
CALL = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.look", call_id="c1", constrain="json")
REPLY = Frame(Header(Role.TOOL, Channel.COMMENTARY, recipient="assistant", call_id="c1", name="functions.look"), "Found.")
CALLED = chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}])


async def asked_again(answers: list[Any], request: SampleRequest, **options: Any) -> tuple[Outcome, list[Any]]:
    """One answer after the other, and what was sent for each."""
    rest = iter(answers)

    async def answer(writer: Any) -> None:
        await next(rest)(writer)

    result, server = await answered(answer, request, **options)
    return result, [each.body for each in server.requests if each.method == "POST"]


# The request


async def test_the_tools_the_settings_and_the_chosen_model_are_sent() -> None:
    request = replace(sample_request("Hello!"), model="big", tools=(LOOK,), must_call=True, sampling={"temperature": 0.5})
    _, server = await answered(HI, request)
    function = {"name": "look", "description": "Looks.", "parameters": LOOK.parameters}
    assert server.posted["tools"] == [{"type": "function", "function": function}]
    assert (server.posted["tool_choice"], server.posted["temperature"], server.posted["model"]) == ("required", 0.5, "big")


async def test_what_a_request_does_not_want_is_not_sent() -> None:
    _, server = await answered(HI)
    assert set(server.posted) == {"messages", "stream", "stream_options", "reasoning_effort"}


async def test_a_continued_answer_is_not_constrained_by_its_format() -> None:
    """The rest of an answer alone does not fit its format."""
    wanted = AnswerFormat(name="sum", schema={"type": "object"})
    request = replace(sample_request("Hello!"), answer_format=wanted, cut_answer=CUT)
    _, server = await answered(HI, request, server_header="llama.cpp", models={"data": [{"id": "tiny"}]})
    assert "response_format" not in server.posted and server.posted["continue_final_message"] is True


async def test_reasoning_goes_back_as_its_server_gave_it() -> None:
    given = {"c1": GivenReasoning({"reasoning_details": [{"data": "x"}]})}
    frames = (Frame(CALL, "{}", Terminator.CALL), REPLY)
    _, server = await answered(HI, replace(sample_request("Hello!", *frames), given_back=given))
    assert server.posted["messages"][0]["reasoning_details"] == [{"data": "x"}]


@pytest.mark.parametrize(
    ("host", "is_open_router"), [("openrouter.ai", True), ("eu.openrouter.ai", True), ("openrouter.ai.test", False), ("a.test", False)]
)
async def test_only_open_router_gets_its_own_field(host: str, is_open_router: bool) -> None:
    backend = ChatCompletionsBackend(Endpoint(f"https://{host}/api/v1", model="m", limits=PATIENT, wants_reasoning=False))
    payload = await backend._payload(sample_request("Hello!"))
    await backend.aclose()
    assert ("reasoning" in payload, "include_reasoning" in payload) == (is_open_router, not is_open_router)


# The end


async def test_the_end_names_the_model_the_usage_and_the_reasoning() -> None:
    usage = b'data: {"model":"m-2024-08-06","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
    answer = then(SSE_HEAD, chunk(reasoning="hm"), CALLED, chunk("tool_calls"), usage, DONE)
    result, _ = await answered(answer, replace(sample_request("Hello!"), model="m", tools=(LOOK,)))
    assert result.ended is not None
    assert (result.ended.reason, result.ended.usage, result.ended.model) == (EndReason.TOOL_CALLS, Usage(3, 2), "m-2024-08-06")
    assert result.ended.reasoning == GivenReasoning({"reasoning": "hm"})


async def test_a_model_that_was_neither_asked_for_nor_offered_is_not_named() -> None:
    named = SSE_HEAD + b'data: {"model":"SECRET","choices":[]}\n\n'
    result, _ = await answered(then(named, chunk(content="Hi"), chunk("stop"), DONE), replace(sample_request("Hello!"), model="m"))
    assert result.ended is not None and result.ended.model == "m"


@pytest.mark.parametrize("has_tools", [True, False])
async def test_text_before_a_call_is_a_preamble_if_tools_were_offered(has_tools: bool) -> None:
    request = replace(sample_request("Hello!"), tools=(LOOK,) if has_tools else ())
    result, _ = await answered(then(SSE_HEAD, chunk(content="I look."), CALLED, chunk("tool_calls"), DONE), request)
    assert result.finished[0].frame.header.channel == ("commentary" if has_tools else "final")


async def test_what_follows_the_end_in_the_same_read_is_ignored() -> None:
    result, _ = await answered(then(SSE_HEAD + chunk(content="Hi") + DONE + chunk(content="SECRET") + b'data: {"error":"x"}\n\n'))
    assert (result.visible, result.hidden, result.error) == ("Hi", "", None)


async def test_the_connection_is_closed_at_the_end_although_the_server_keeps_it_open() -> None:
    result, server = await answered(then(SSE_HEAD, chunk(content="Hi"), DONE, 5.0))
    assert (result.visible, server.dropped.is_set()) == ("Hi", True)


async def test_a_white_space_around_the_last_event_is_no_difference() -> None:
    result, _ = await answered(then(SSE_HEAD, chunk(content="Hi"), b"data:  [DONE] \n\n"))
    assert (result.visible, result.error) == ("Hi", None)


@pytest.mark.parametrize("end", [b"", DONE])
async def test_events_that_cannot_be_read_are_counted(end: bytes, caplog: pytest.LogCaptureFixture) -> None:
    odd = b"data: {oops\n\ndata: 7\n\ndata: " + b"[" * 100_000 + b"\n\n"
    result, _ = await answered(then(SSE_HEAD, chunk(content="Hi"), odd, end))
    assert "a model server sent 3 events that are no JSON objects" in caplog.text
    assert (result.error and (result.error.code, "without an end; 3 events could not be read" in result.error.detail)) == (
        None if end else (Code.STREAM_TRUNCATED, True)
    )


async def test_a_stream_without_odd_events_logs_none(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await answered(HI)
    assert "no JSON objects" not in caplog.text


async def test_a_whole_answer_has_no_second_part() -> None:
    """A plain JSON answer is complete, also without a reason."""
    result, _ = await answered(stub.responds("200 OK", b'{"choices":[{"message":{"content":"Hi"}}]}'))
    assert (result.visible, result.error) == ("Hi", None)


# An answer to be continued


REFUSAL = stub.responds("400 Bad Request", b'{"error":{"message":"no prefill"}}', "Connection: close\r\n")


async def test_an_open_answer_that_is_refused_is_asked_for_in_words_without_the_cut_reasoning() -> None:
    request = SampleRequest((Frame(Header(Role.USER), "Why?"), Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), "hm")), cut_answer=CUT)
    result, bodies = await asked_again([REFUSAL, HI], request, **LLAMA)
    assert (result.visible, len(bodies)) == (" Hi", 2)
    assert bodies[0]["messages"][-1] == {"role": "assistant", "content": CUT.body, "reasoning_content": "hm"}
    assert [message["content"] for message in bodies[1]["messages"]] == ["Why?", CUT.body, prompts.read("continue")]
    assert "continue_final_message" not in bodies[1] and "hm" not in str(bodies[1])


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (stub.responds("503 Service Unavailable", b"{}", "Connection: close\r\n"), ProductCode.BACKEND_BUSY),
        (stub.responds("404 Not Found", b"{}", "Connection: close\r\n"), ProductCode.BACKEND_SETUP),
        (then(SSE_HEAD, chunk(content=" are"), b'data: {"error":{"code":400,"message":"x"}}\n\n'), ProductCode.BACKEND_REFUSED),
    ],
)
async def test_no_other_failure_of_an_open_answer_is_asked_again(failure: Any, code: ProductCode) -> None:
    result, bodies = await asked_again([failure, HI], replace(sample_request("Why?"), cut_answer=CUT), **LLAMA)
    assert (result.error and result.error.code, len(bodies)) == (code, 1)


async def test_a_server_without_prefill_is_asked_only_in_words() -> None:
    result, bodies = await asked_again([HI], replace(sample_request("Why?"), cut_answer=CUT), **VLLM)
    assert (result.visible, bodies[0]["messages"][-1]["content"]) == (" Hi", prompts.read("continue"))


async def test_an_open_answer_continues_in_the_middle_of_a_sentence() -> None:
    """A word that begins raw output is no sign there."""
    answer = then(SSE_HEAD, chunk(content="analysis of it"), chunk("length"), DONE)
    async with stub.running(answer, **LLAMA) as server:
        backend = ChatCompletionsBackend(Endpoint(server.url, limits=PATIENT, separates="always"))
        result = await outcome(backend, replace(sample_request("Why?"), cut_answer=CUT))
        await backend.aclose()
    assert result.visible == "analysis of it"
