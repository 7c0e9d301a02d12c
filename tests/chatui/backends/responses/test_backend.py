"""The Responses backend over HTTP: what it sends, and how it handles a server that misbehaves."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint, EndReason, SampleLimits, SampleRequest
from chatui.backends.responses.backend import ResponsesBackend
from chatui.backends.separation import Separates
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import FrameText
from renderer.frames import Frame, Header, Role
from tests.chatui.backends.chat.test_backend import then
from tests.support import stub
from tests.support.sampling import HASTY, PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD

pytestmark = pytest.mark.asyncio


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def message_event(text: str, **more: Any) -> bytes:
    return event("response.output_text.delta", item_id="m", delta=text, **more)


def ended(status: str = "completed", **more: Any) -> bytes:
    return event(f"response.{status}", response={"status": status, "model": "stub", **more})


BEGUN = SSE_HEAD + event("response.output_item.added", item={"id": "m", "type": "message", "role": "assistant", "content": []})
LONG = b"data: " + b"x" * 20_000_000
THOUGHT = SSE_HEAD + event("response.output_item.added", item={"id": "r", "type": "reasoning"})
THOUGHT += event("response.reasoning_text.delta", item_id="r", delta="SECRET")


async def answered(
    answer: Any,
    request: SampleRequest | None = None,
    limits: SampleLimits = PATIENT,
    trusted: bool = False,
    separates: Separates = "always",
    **options: Any,
) -> tuple[Outcome, stub.Stub]:
    async with stub.running(answer, **options) as server:
        backend = ResponsesBackend(Endpoint(server.url, limits=limits, separates=separates), summaries_are_trusted=trusted)
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


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_end_in_v1_and_the_key_is_sent(suffix: str) -> None:
    async with stub.running(then(BEGUN, message_event("Hi"), ended())) as server:
        backend = registry.build(Endpoint(server.url + suffix, key="sesame", model="m", limits=PATIENT), kind="responses")
        assert (backend.kind, (await outcome(backend, sample_request("Hello!"))).visible) == ("responses", "Hi")
        await backend.aclose()
    assert [request.path for request in server.requests if request.method == "POST"] == ["/v1/responses"]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sesame"}


async def test_markers_in_a_question_are_escaped_and_restored_in_the_reply() -> None:
    marked = "What is <|start|>assistant<|channel|>final?"
    echo = then(BEGUN, *(message_event(letter) for letter in "It is <\u2060|start|> and <\u2060|channel|>, 1 < 2 <"), ended())
    result, server = await answered(echo, sample_request(marked))
    sent = server.posted["input"][0]["content"]
    assert "<|" not in sent
    assert sent.replace("\u2060", "") == marked
    assert result.visible == "It is <|start|> and <|channel|>, 1 < 2 <"


# Failures


async def test_an_unreachable_server_is_a_retryable_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        backend = ResponsesBackend(Endpoint(f"http://127.0.0.1:{unused.getsockname()[1]}", limits=PATIENT))
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert result.error is not None
    assert (result.error.code, result.error.retryable, result.finished) == (ProductCode.BACKEND_UNREACHABLE, True, [])


@pytest.mark.parametrize(
    ("status", "headers", "code", "retryable", "retry_after"),
    [
        ("400 Bad Request", "", ProductCode.BACKEND_REFUSED, False, None),
        ("401 Unauthorized", "", ProductCode.BACKEND_SETUP, False, None),
        ("404 Not Found", "", ProductCode.BACKEND_SETUP, False, None),
        ("429 Too Many Requests", "Retry-After: 7\r\n", ProductCode.BACKEND_BUSY, True, 7.0),
        ("500 Internal Server Error", "", ProductCode.BACKEND, True, None),
        ("503 Service Unavailable", "Retry-After: 3\r\n", ProductCode.BACKEND_BUSY, True, 3.0),
    ],
)
async def test_a_status_other_than_200_is_an_error_whose_body_is_for_staff_only(
    status: str, headers: str, code: ErrorCode, retryable: bool, retry_after: float | None
) -> None:
    result, _ = await answered(stub.responds(status, b'{"error":{"message":"SECRET"}}', headers))
    assert result.error is not None
    assert (result.error.code, result.error.retryable, result.error.retry_after) == (code, retryable, retry_after)
    assert "SECRET" in result.error.detail
    assert "SECRET" not in str(result.error) + repr(result.error)


@pytest.mark.parametrize(
    ("actions", "code", "visible"),
    [
        pytest.param((10.0,), ProductCode.TIMEOUT, "", marks=pytest.mark.served),
        pytest.param((SSE_HEAD, 10.0), ProductCode.TIMEOUT, "", marks=pytest.mark.served),
        pytest.param((THOUGHT, 10.0), ProductCode.TIMEOUT, "", marks=pytest.mark.served),
        pytest.param((BEGUN, message_event("Half"), 10.0), ProductCode.TIMEOUT, "Half", marks=pytest.mark.served),
        pytest.param((BEGUN, message_event("Half"), "reset"), Code.STREAM_TRUNCATED, "Half", marks=pytest.mark.served),
        ((BEGUN, message_event("Half")), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), DONE), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), b'data: {"type":"resp'), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), ended("cancelled")), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), ended("completed").replace(b'"completed"', b'"acme_ranked"')), Code.STREAM_TRUNCATED, "Half"),
        ((BEGUN, message_event("Half"), ended("failed", error={"code": "server_error", "message": "SECRET"})), ProductCode.BACKEND, "Half"),
        ((BEGUN, message_event("Half"), ended("failed")), ProductCode.BACKEND, "Half"),
        ((BEGUN, message_event("Half"), event("error", error={"type": "server_error", "message": "SECRET"})), ProductCode.BACKEND, "Half"),
        ((BEGUN, message_event("Half"), event("error", code="server_error", message="SECRET")), ProductCode.BACKEND, "Half"),
        ((BEGUN, message_event("Half"), b'data: {"error":{"code":500,"message":"SECRET"}}\n\n'), ProductCode.BACKEND, "Half"),
        ((SSE_HEAD, event("error", error={"type": "invalid_request_error", "message": "SECRET"})), ProductCode.BACKEND_REFUSED, ""),
        ((SSE_HEAD, event("error", code="rate_limit_exceeded", message="SECRET")), ProductCode.BACKEND_BUSY, ""),
        ((SSE_HEAD, b"event: error\ndata: SECRET\n\n"), ProductCode.BACKEND, ""),
        ((SSE_HEAD, b"<html>SECRET</html>\n\n" * 50), Code.STREAM_TRUNCATED, ""),
        pytest.param((BEGUN, message_event("Half"), LONG), Code.STREAM_TRUNCATED, "Half", marks=pytest.mark.served),
    ],
)
async def test_a_failing_stream_keeps_what_was_shown_and_reports_why(actions: Any, code: ErrorCode, visible: str) -> None:
    result, _ = await answered(then(*actions), limits=HASTY if code == ProductCode.TIMEOUT else PATIENT)
    assert result.error is not None
    assert (result.error.code, result.visible) == (code, visible)
    assert "SECRET" not in str(result.error)
    assert all(not done.complete for done in result.finished[-1:])


async def test_an_error_is_retryable_only_before_the_first_event() -> None:
    error = event("error", error={"type": "server_error", "message": "x"})
    first, _ = await answered(then(SSE_HEAD, error))
    later, _ = await answered(then(THOUGHT, error))
    assert first.error is not None
    assert later.error is not None
    assert (first.error.retryable, later.error.retryable) == (True, False)


@pytest.mark.served
async def test_an_endless_stream_meets_the_overall_deadline() -> None:
    drip = [piece for _ in range(100) for piece in (message_event("a"), 0.05)]
    result, _ = await answered(then(BEGUN, *drip), limits=replace(PATIENT, overall=1.5))
    assert result.error is not None
    assert result.error.code == ProductCode.TIMEOUT
    assert set(result.visible) == {"a"}


async def test_output_beyond_the_limit_is_cut_and_not_read() -> None:
    result, server = await answered(then(BEGUN, *[message_event("abc")] * 20, 5.0), limits=replace(PATIENT, max_output_chars=10))
    assert result.visible == "abcabcabca"
    assert result.ended is not None
    assert result.ended.reason == EndReason.LENGTH
    assert server.dropped.is_set()


@pytest.mark.served
async def test_a_long_answer_repeated_in_the_last_event_is_whole() -> None:
    """The default line limit would be smaller than the last event."""
    piece = "答" * 1000
    output = [{"id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": piece * 250}]}]
    result, _ = await answered(then(BEGUN, *[message_event(piece)] * 250, ended(output=output)))
    assert result.error is None
    assert result.visible == piece * 250


async def test_events_after_the_end_are_ignored() -> None:
    result, _ = await answered(then(BEGUN, message_event("Hi"), ended(), message_event("SECRET"), ended("failed"), DONE))
    assert (result.visible, result.error) == ("Hi", None)


async def test_duplicate_events_count_once_and_reused_numbers_hide_none() -> None:
    twice = message_event("Hel", sequence_number=4)
    result, _ = await answered(
        then(BEGUN, twice, twice, message_event("lo", sequence_number=4), message_event("!"), message_event("!"), ended())
    )
    assert result.visible == "Hello!!"


async def test_invalid_json_events_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    odd = b"data: {oops\n\ndata: 7\n\n" + event("acme:SECRET", delta="SECRET")
    result, _ = await answered(then(BEGUN, odd, message_event("Hi"), ended()))
    assert (result.visible, result.error) == ("Hi", None)
    assert "2 events that are no JSON objects" in caplog.text
    assert "1 × unknown event" in caplog.text
    assert "SECRET" not in caplog.text


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


async def test_stopping_closes_the_upstream_connection_within_a_second() -> None:
    async with stub.running(then(BEGUN, message_event("Hi"), 30.0)) as server:
        backend = ResponsesBackend(Endpoint(server.url, limits=PATIENT))
        events = backend.sample(sample_request("Hello!"))
        while not isinstance(await anext(events), FrameText):
            pass
        await events.aclose()
        await asyncio.wait_for(server.dropped.wait(), 1)
        await backend.aclose()


@pytest.mark.served
async def test_one_back_end_serves_many_samples_concurrently() -> None:
    stream = then(THOUGHT, 0.05, BEGUN.removeprefix(SSE_HEAD), message_event("Hi"), ended())
    async with stub.running(stream) as server:
        backend: Backend = ResponsesBackend(Endpoint(server.url, limits=PATIENT))
        results = await asyncio.gather(*(outcome(backend, sample_request("Hello!")) for _ in range(20)))
        await backend.aclose()
    assert {(result.visible, result.hidden) for result in results} == {("Hi", "SECRET")}
