"""The Responses backend over HTTP: what it sends, and how it handles a server that misbehaves."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chatui.answer_formats import AnswerFormat
from chatui.backends import registry
from chatui.backends.base import Endpoint, EndReason, GivenReasoning, SampleLimits, SampleRequest, Usage
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.frames import Channel, Frame, Header, Role
from renderer.harmony.prompt import FunctionTool
from tests.chatui.backends.wire import BEGUN, THOUGHT, VLLM, ended, event, message_event, prompt, then
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD


async def answered(
    answer: Any,
    request: SampleRequest | None = None,
    limits: SampleLimits = PATIENT,
    trusted: bool = False,
    separates: Any = "always",
    **options: Any,
) -> tuple[Outcome, stub.Stub]:
    async with stub.running(answer, **options) as server:
        backend = registry.build(Endpoint(server.url, limits=limits, separates=separates, trusts_summaries=trusted), kind="responses")
        result = await outcome(backend, request or sample_request("Hello!"))
        await backend.aclose()
    return result, server


# The request


async def test_the_request_stores_nothing_truncates_nothing_and_asks_for_no_summary() -> None:
    instructions = Frame(Header(Role.DEVELOPER), "Be kind.")
    request = sample_request("Hello!", instructions, effort="high", max_tokens=9)
    _, server = await answered(then(BEGUN, message_event("Hi"), ended()), request, models={"data": [{"id": "first"}, {"id": "second"}]})
    assert server.posted == {
        "model": "first",
        "input": [{"type": "message", "role": "user", "content": "Hello!"}],
        "instructions": "Be kind.",
        "stream": True,
        "store": False,
        "truncation": "disabled",
        "reasoning": {"effort": "high"},
        "max_output_tokens": 9,
    }
    post = server.requests[-1]
    assert (post.path, post.headers["accept-encoding"]) == ("/v1/responses", "identity")
    assert "authorization" not in post.headers


async def test_a_summary_is_requested_and_shown_only_if_trusted() -> None:
    summary = event("response.reasoning_summary_text.delta", item_id="r", delta="I checked.")
    stream = then(THOUGHT, summary, BEGUN.removeprefix(SSE_HEAD), message_event("Hi"), ended())
    plain, _ = await answered(stream)
    assert (plain.visible, "I checked." in plain.hidden) == ("Hi", True)
    trusted, server = await answered(stream, trusted=True)
    assert server.posted["reasoning"] == {"effort": "medium", "summary": "auto"}
    assert (trusted.visible, trusted.hidden) == ("I checked.Hi", "SECRET")


# Failures


@pytest.mark.parametrize(
    ("actions", "code", "visible"),
    [
        ((BEGUN, message_event("Half"), DONE), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), ended("completed").replace(b'"completed"', b'"acme_ranked"')), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), ended("failed", error={"code": "server_error", "message": "SECRET"})), ProductCode.BACKEND, "Half"),
        ((BEGUN, message_event("Half"), ended("failed")), ProductCode.BACKEND, "Half"),
        ((BEGUN, message_event("Half"), event("error", code="server_error", message="SECRET")), ProductCode.BACKEND, "Half"),
        ((SSE_HEAD, event("error", error={"type": "invalid_request_error", "message": "SECRET"})), ProductCode.BACKEND_REFUSED, ""),
        ((SSE_HEAD, event("error", code="rate_limit_exceeded", message="SECRET")), ProductCode.BACKEND_BUSY, ""),
    ],
)
async def test_a_stream_that_fails_in_a_way_of_this_format_keeps_what_was_shown(actions: Any, code: ErrorCode, visible: str) -> None:
    result, _ = await answered(then(*actions))
    assert result.error is not None
    assert (result.error.code, result.visible) == (code, visible)
    assert "SECRET" not in str(result.error)
    assert all(not done.complete for done in result.finished[-1:])


@pytest.mark.served
async def test_a_long_answer_repeated_in_the_last_event_is_whole() -> None:
    """The default line limit would be smaller than the last event."""
    piece = "答" * 1000
    output = [{"id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": piece * 250}]}]
    result, _ = await answered(then(BEGUN, *[message_event(piece)] * 250, ended(output=output)))
    assert result.error is None
    assert result.visible == piece * 250


async def test_duplicate_events_count_once_and_reused_numbers_hide_none() -> None:
    twice = message_event("Hel", sequence_number=4)
    result, _ = await answered(
        then(BEGUN, twice, twice, message_event("lo", sequence_number=4), message_event("!"), message_event("!"), ended())
    )
    assert result.visible == "Hello!!"


async def test_an_events_type_is_in_its_data_or_else_its_event_field() -> None:
    unnamed = b'event: response.output_text.delta\ndata: {"item_id":"m","delta":"Hel"}\n\n'
    misnamed = b'event: ping\ndata: {"type":"response.output_text.delta","item_id":"m","delta":"lo"}\n\n'
    result, _ = await answered(then(BEGUN, unnamed, misnamed, ended()))
    assert result.visible == "Hello"


async def test_a_gateways_bare_response_object_ends_the_stream() -> None:
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}]
    bare = {"object": "response", "status": "completed", "output": output, "usage": {"input_tokens": 3, "output_tokens": 5}}
    early = {**bare, "status": "in_progress", "output": []}
    stream = SSE_HEAD + b"".join(b"data: " + json.dumps(body).encode() + b"\n\n" for body in (early, bare))
    result, _ = await answered(then(stream))
    assert result.visible == "Hello"
    assert result.ended is not None
    assert result.ended.usage is not None
    assert (result.ended.usage.prompt_tokens, result.ended.usage.completion_tokens) == (3, 5)


async def test_a_plain_json_response_is_judged_as_a_whole() -> None:
    def body(text: str, status: str = "completed") -> bytes:
        content = [{"type": "output_text", "text": text}]
        thought = {"type": "reasoning", "content": [{"type": "output_text", "text": "SECRET"}]}
        return json.dumps({"status": status, "output": [thought, {"type": "message", "role": "assistant", "content": content}]}).encode()

    plain, _ = await answered(stub.responds("200 OK", body("Hi")))
    assert (plain.visible, plain.hidden) == ("Hi", "SECRET")
    leaked, _ = await answered(stub.responds("200 OK", body("It is 346.assistantanalysisSECRETassistantfinalHi")))
    assert leaked.visible == "It is 346.Hi"
    failed, _ = await answered(stub.responds("200 OK", b'{"error":{"code":400,"message":"SECRET"}}'))
    assert failed.error is not None
    assert failed.error.code == ProductCode.BACKEND_REFUSED
    other, _ = await answered(stub.responds("200 OK", b'{"choices":[]}'))
    assert other.error is not None
    assert other.error.code == Code.STREAM_TRUNCATED


# What the Responses backend sends, and which events end, repeat or break off a sample.


LOOK = FunctionTool("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}})
HI = then(BEGUN, message_event("Hi"), ended())
CUT = Frame(Header(Role.ASSISTANT, Channel.FINAL), "Two and two")
CALLED = event("response.output_item.done", item={"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"})


# The request


@pytest.mark.parametrize(("trusted", "wants"), [(True, True), (True, False), (False, True)])
async def test_a_summary_is_requested_if_it_is_trusted_and_wanted(trusted: bool, wants: bool) -> None:
    _, server = await answered(HI, replace(sample_request("Hello!"), wants_summary=wants), trusted=trusted)
    assert ("summary" in server.posted["reasoning"]) is (trusted and wants)


async def test_an_answer_that_is_asked_for_in_words_again_keeps_its_format() -> None:
    wanted = AnswerFormat(name="sum", schema={"type": "object"})
    request = replace(sample_request("Hello!"), answer_format=wanted, cut_answer=Frame(CUT.header, ""))
    _, server = await answered(HI, request, server_header="llama.cpp", models={"data": [{"id": "m"}]})
    assert {"text", "response_format"} <= set(server.posted)
    assert server.posted["input"][-1]["content"] == prompt("finish")


@pytest.mark.parametrize(("line", "chars", "room"), [(10, 100, 800), (1000, 100, 1000)])
async def test_the_last_event_may_repeat_a_whole_answer(line: int, chars: int, room: int) -> None:
    limits = replace(PATIENT, max_line_bytes=line, max_output_chars=chars)
    for size, is_read in ((room - 100, True), (room + 100, False)):
        last = ended(output=[], padding="x" * (size - len(ended(output=[], padding=""))))
        result, _ = await answered(then(SSE_HEAD, last), limits=limits)
        assert (result.error is None) is is_read, size


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


async def test_only_so_many_events_are_remembered() -> None:
    """Others, such as these, that say nothing, may come again."""
    remembered = 1 << 16
    odd = "".join(f'data: {{"type":"x","sequence_number":{number}}}\n\n' for number in range(1, remembered)).encode()
    first, second = message_event("a", sequence_number=0), message_event("b", sequence_number=remembered)
    result, _ = await answered(then(BEGUN, first, first, odd, second, second, ended()))
    assert result.visible == "abb"


async def test_events_without_a_number_are_never_repetitions() -> None:
    same = [message_event("a", sequence_number=number) for number in ("1", "1", None, None)]
    assert (await answered(then(BEGUN, *same, ended())))[0].visible == "aaaa"
