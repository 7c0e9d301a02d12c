"""The Chat Completions backend against a server that misbehaves in every known way."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from chatui.answer_formats import AnswerFormat
from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint, EndReason, GivenReasoning, SampleLimits, SampleRequest, Taker, Usage
from chatui.backends.route import Route
from renderer.events import FrameText, RawEvent
from renderer.frames import Channel, Frame, Header, Role
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import LLAMA, VLLM, prompt, then
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.several import constant_answer
from tests.support.stub import DONE, SSE_HEAD, chunk


async def answered(
    answer: Any, request: SampleRequest | None = None, limits: SampleLimits = PATIENT, **options: Any
) -> tuple[Outcome, stub.Stub]:
    async with stub.running(answer, **options) as server:
        backend = registry.build(Endpoint(server.url, limits=limits, separates="always"))
        result = await outcome(backend, request or sample_request("Hello!"))
        await backend.aclose()
    return result, server


async def test_buffered_text_counts_towards_the_limit() -> None:
    limits = replace(PATIENT, max_output_chars=10)
    result, server = await answered(then(SSE_HEAD, *[chunk(content="analysisSECRET")] * 20, 5.0), limits=limits)
    assert (result.visible, result.hidden) == ("", "analysisSE")
    assert server.dropped.is_set()


@pytest.mark.served
async def test_the_first_token_is_read_at_once_and_the_rest_at_frame_rate() -> None:
    limits = replace(PATIENT, read_interval=0.05)
    tokens = [piece for _ in range(80) for piece in (chunk(content="a "), 0.004)]
    is_read, reads = asyncio.Event(), []

    async def answer(writer: asyncio.StreamWriter) -> None:
        await then(SSE_HEAD, chunk(content="first "))(writer)
        await is_read.wait()
        await then(*tokens, chunk("stop"), DONE)(writer)

    def take(event: RawEvent) -> None:
        if isinstance(event, FrameText):
            reads.append(event.text)
            is_read.set()

    async with stub.running(answer) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=limits, separates="always"))
        await backend.sample(sample_request("Hello!"), Taker(take))
        await backend.aclose()
    assert (reads[0], "".join(reads)) == ("first ", "first " + "a " * 80)
    assert 2 < len(reads) < 40, "80 tokens"


@pytest.mark.served
async def test_a_buffered_answer_is_not_slowed_down_by_small_chunks() -> None:
    """Many servers send one HTTP chunk for each token; the pause between two reads must not delay each token."""
    head = SSE_HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [chunk(content="a ")] * 500 + [chunk("stop"), DONE]]
    limits = replace(PATIENT, read_interval=0.05)
    loop = asyncio.get_running_loop()
    async with stub.running(then(head, b"".join(pieces), b"0\r\n\r\n")) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=limits, separates="always"))
        started = loop.time()
        result = await outcome(backend, sample_request("Hello!"))
        took = loop.time() - started
        await backend.aclose()
    assert result.visible == "a " * 500
    assert took < 5, "with a pause after each piece it would be 25 seconds"


async def test_the_request_has_model_effort_and_limit_and_asks_for_no_compression() -> None:
    answer = then(SSE_HEAD, chunk(content="Hi"), chunk("stop"), DONE)
    _, server = await answered(
        answer, sample_request("Hello!", effort="high", max_tokens=9), models={"data": [{"id": "first"}, {"id": "second"}]}
    )
    assert server.posted == {
        "model": "first",
        "messages": [{"role": "user", "content": "Hello!"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "high",
        "max_tokens": 9,
    }
    post = server.requests[-1]
    assert (post.path, post.headers["accept-encoding"]) == ("/v1/chat/completions", "identity")
    assert "authorization" not in post.headers


@pytest.mark.parametrize(("key", "detail"), [("sk-open-sesame", "bad key (the key)"), ("none", "bad key none")])
async def test_a_key_quoted_in_a_refusal_is_redacted(key: str, detail: str) -> None:
    async with stub.running(stub.responds("401 Unauthorized", f"bad key {key}".encode())) as server:
        backend = registry.build(Endpoint(server.url, key=key, model="m", limits=PATIENT, separates="always"))
        error = (await outcome(backend, sample_request("Hello!"))).error
        await backend.aclose()
    assert error is not None and error.detail == f"HTTP 401: {detail}"


# What the Chat Completions backend sends, and which events end, repeat or break off a sample.


LOOK = FunctionTool("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}})
HI = then(SSE_HEAD, chunk(content="Hi"), chunk("stop"), DONE)
CUT = Frame(Header(Role.ASSISTANT, Channel.FINAL), "Two and two")
CALLED = chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}])


async def asked_again(answers: list[Any], request: SampleRequest, **options: Any) -> tuple[Outcome, list[Any]]:
    """One answer after the other, and what was sent for each."""
    rest = iter(answers)

    async def answer(writer: Any) -> None:
        await next(rest)(writer)

    result, server = await answered(answer, request, **options)
    return result, [each.body for each in server.requests if each.method == "POST"]


# The request


async def test_a_continued_answer_is_not_constrained_by_its_format() -> None:
    """The rest of an answer alone does not fit its format."""
    wanted = AnswerFormat(name="sum", schema={"type": "object"})
    request = replace(sample_request("Hello!"), answer_format=wanted, cut_answer=CUT)
    _, server = await answered(HI, request, server_header="llama.cpp", models={"data": [{"id": "tiny"}]})
    assert "response_format" not in server.posted and server.posted["continue_final_message"] is True


@pytest.mark.parametrize(
    ("host", "is_open_router"), [("openrouter.ai", True), ("eu.openrouter.ai", True), ("openrouter.ai.test", False), ("a.test", False)]
)
async def test_only_open_router_gets_its_own_field(host: str, is_open_router: bool) -> None:
    async with stub.running(HI) as server:
        endpoint = Endpoint(f"http://{host}/api/v1", model="m", limits=PATIENT, route=Route(proxy=server.url), wants_reasoning=False)
        backend = registry.build(endpoint)
        assert (await outcome(backend, sample_request("Hello!"))).error is None
        await backend.aclose()
    assert ("reasoning" in server.posted, "include_reasoning" in server.posted) == (is_open_router, not is_open_router)


# The end


async def test_the_end_names_the_model_the_usage_and_the_reasoning() -> None:
    usage = b'data: {"model":"m-2024-08-06","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
    answer = then(SSE_HEAD, chunk(reasoning="hm"), CALLED, chunk("tool_calls"), usage, DONE)
    result, _ = await answered(answer, replace(sample_request("Hello!"), model="m", tools=(LOOK,)))
    assert result.ended is not None
    assert (result.ended.reason, result.ended.usage, result.ended.model) == (EndReason.TOOL_CALLS, Usage(3, 2), "m-2024-08-06")
    assert result.ended.reasoning == GivenReasoning({"reasoning": "hm"})


async def test_a_white_space_around_the_last_event_is_no_difference() -> None:
    result, _ = await answered(then(SSE_HEAD, chunk(content="Hi"), b"data:  [DONE] \n\n"))
    assert (result.visible, result.error) == ("Hi", None)


@pytest.mark.parametrize("end", [DONE, b"event: error\ndata: boom\n\n", b'data: {"error": {"message": "boom"}}\n\n'])
async def test_text_behind_the_end_in_the_same_read_is_dropped(end: bytes) -> None:
    result, _ = await answered(then(b"".join([SSE_HEAD, chunk(content="One"), end, chunk(content="One two")])))
    assert [done.frame.body for done in result.finished] == ["One"]


# An answer to be continued


REFUSAL = stub.responds("400 Bad Request", b'{"error":{"message":"no prefill"}}', "Connection: close\r\n")


async def test_an_open_answer_that_is_refused_is_asked_for_in_words_without_the_cut_reasoning() -> None:
    request = SampleRequest((Frame(Header(Role.USER), "Why?"), Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), "hm")), cut_answer=CUT)
    result, bodies = await asked_again([REFUSAL, HI], request, **LLAMA)
    assert (result.visible, len(bodies)) == (" Hi", 2)
    assert bodies[0]["messages"][-1] == {"role": "assistant", "content": CUT.body, "reasoning_content": "hm"}
    assert [message["content"] for message in bodies[1]["messages"]] == ["Why?", CUT.body, prompt("continue")]
    assert "continue_final_message" not in bodies[1] and "hm" not in str(bodies[1])


async def test_an_open_answer_continues_in_the_middle_of_a_sentence() -> None:
    """A word that begins raw output is no sign there."""
    answer = then(SSE_HEAD, chunk(content="analysis of it"), chunk("length"), DONE)
    async with stub.running(answer, **LLAMA) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT, separates="always"))
        result = await outcome(backend, replace(sample_request("Why?"), cut_answer=CUT))
        await backend.aclose()
    assert result.visible == "analysis of it"


# Asking a server to leave out its raw reasoning, in the field it knows; reasoning that comes anyway is hidden.


def backend_at(url: str, kind: str = "chat", vocabulary: Vocabulary | None = None, *, wants_reasoning: bool = False) -> Backend:
    endpoint = Endpoint(url, limits=PATIENT, wants_reasoning=wants_reasoning)

    def load() -> Vocabulary:
        assert vocabulary is not None
        return vocabulary

    return registry.build(endpoint, kind=kind, vocabulary=load)


@pytest.mark.parametrize("wants_reasoning", [True, False])
async def test_the_server_is_asked_to_omit_reasoning_and_any_that_comes_is_hidden(wants_reasoning: bool) -> None:
    async with stub.running(constant_answer("Hello.")) as server:
        backend = backend_at(server.url, wants_reasoning=wants_reasoning)
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert server.posted.get("include_reasoning") == (None if wants_reasoning else False) and "reasoning" not in server.posted
    assert (result.visible, result.hidden) == ("Hello.", "THOUGHT-Hello.")


async def test_a_server_that_does_not_know_the_field_still_answers() -> None:
    async with stub.running(constant_answer("Hello.")) as server:

        async def strict(writer: asyncio.StreamWriter) -> None:
            refusal = {"error": {"message": "Unknown field: include_reasoning"}}
            is_known = "include_reasoning" not in server.requests[-1].body
            await (constant_answer("Hello.") if is_known else stub.responds("400 Bad Request", json.dumps(refusal).encode()))(writer)

        server.answer = strict
        backend = backend_at(server.url)
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hello."
        await backend.aclose()


async def test_token_ids_are_not_chosen_then(vocabulary: Vocabulary) -> None:
    async with stub.running(constant_answer("Hello."), **VLLM) as server:
        backend = backend_at(server.url, "auto", vocabulary)
        assert (await outcome(backend, sample_request("Hello!"))).visible == "Hello."
        assert backend.kind == "chat" and server.posted["include_reasoning"] is False
        await backend.aclose()
