"""What every wire format does alike: what is asked, what a server sends, what is visible, and what a program gets."""

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from chatui import prompts
from chatui.backends import http
from chatui.backends.base import EndReason, GivenReasoning, SampleLimits, Taker
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import FrameText, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.formats import KINDS, SECRET, WORDS, Format, format_of
from tests.chatui.backends.wire import LLAMA, posts, then
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request, way_back
from tests.support.stub import DONE, SSE_HEAD

LOOK = FunctionTool("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}})
CALL = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.look", call_id="c1", constrain="json")
REPLY = Frame(Header(Role.TOOL, Channel.COMMENTARY, recipient="assistant", call_id="c1", name="functions.look"), "Found.")
CUT = Frame(Header(Role.ASSISTANT, Channel.FINAL), "Two and two")
HI = sample_request("Hello!")
of_text = pytest.mark.parametrize("of", ["chat", "responses"], indirect=True)
"""The formats in which a server is sent messages, not ids."""


@pytest.fixture(params=KINDS)
def of(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Format:
    return format_of(vocabulary, request.param)


async def answered(of: Format, answer: Any, request: Any = HI, **options: Any) -> tuple[Outcome, stub.Stub]:
    server = options.pop("server", {})
    async with of.playing(answer, server, **options) as (running, backend):
        return await outcome(backend, request), running


# What is asked


@of_text
async def test_the_tools_the_settings_and_the_chosen_model_are_sent(of: Format) -> None:
    request = replace(HI, model="big", tools=(LOOK,), must_call=True, sampling={"temperature": 0.5})
    _, server = await answered(of, then(of.says("Hi")), request)
    [tool] = server.posted["tools"]
    function = {"name": "look", "description": "Looks.", "parameters": LOOK.parameters}
    assert tool == ({"type": "function", "function": function} if of.kind == "chat" else {"type": "function", "strict": False, **function})
    assert (server.posted["tool_choice"], server.posted["temperature"], server.posted["model"]) == ("required", 0.5, "big")
    assert of.kind == "chat" or server.posted["include"] == ["reasoning.encrypted_content"]


@of_text
async def test_what_a_request_does_not_want_is_not_sent(of: Format) -> None:
    _, server = await answered(of, then(of.says("Hi")))
    of_format = {"messages", "stream_options", "reasoning_effort"} if of.kind == "chat" else {"input", "store", "truncation", "reasoning"}
    assert set(server.posted) == {"stream"} | of_format
    post = server.requests[-1]
    assert (post.path, post.headers["accept-encoding"]) == (of.path, "identity") and "authorization" not in post.headers


@of_text
@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_end_in_v1_and_the_key_is_sent(of: Format, suffix: str) -> None:
    async with stub.running(then(of.says("Hi"))) as server:
        backend = of.backend(server.url + suffix, key="sesame", model="m")
        assert (await outcome(backend, HI)).visible == "Hi"
        await backend.aclose()
    assert [request.path for request in server.requests if request.method == "POST"] == [of.path]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sesame"}


@of_text
async def test_markers_in_a_question_are_escaped_and_restored_in_the_reply(of: Format) -> None:
    marked = "What is <|start|>assistant<|channel|>final?"
    echo = of.says(*"It is <\u2060|start|> and <\u2060|channel|>, 1 < 2 <")
    result, server = await answered(of, then(echo), sample_request(marked))
    sent = server.posted["messages" if of.kind == "chat" else "input"][0]["content"]
    assert "<|" not in sent and sent.replace("\u2060", "") == marked
    assert result.visible == "It is <|start|> and <|channel|>, 1 < 2 <"


@of_text
async def test_reasoning_goes_back_as_its_server_gave_it(of: Format) -> None:
    item = {"type": "reasoning", "id": "r", "encrypted_content": "x"}
    given = GivenReasoning({"reasoning_details": [item]}) if of.kind == "chat" else GivenReasoning(items=(item,))
    request = replace(sample_request("Hello!", Frame(CALL, "{}", Terminator.CALL), REPLY), given_back={"c1": given})
    _, server = await answered(of, then(of.says("Hi")), request)
    first = server.posted["messages" if of.kind == "chat" else "input"][0]
    assert (first["reasoning_details"] == [item]) if of.kind == "chat" else (first == item)


@of_text
async def test_reasoning_that_json_or_utf_8_cannot_hold_does_not_keep_an_answer_from_coming(of: Format) -> None:
    item = {"type": "reasoning", "id": "r", "summary": "\ud83d\ude00 and \udfff", "weight": float("nan"), "most": float("inf")}
    given = GivenReasoning({"reasoning_details": [item]}) if of.kind == "chat" else GivenReasoning(items=(item,))
    request = replace(sample_request("Hello!", Frame(CALL, "{}", Terminator.CALL), REPLY), given_back={"c1": given})
    result, server = await answered(of, then(of.says("Hi")), request)
    first = server.posted["messages" if of.kind == "chat" else "input"][0]
    back = first["reasoning_details"][0] if of.kind == "chat" else first
    assert result.visible == "Hi" and back["summary"] == "\U0001f600 and \ufffd" and back["weight"] is None and back["most"] > 1e308


@of_text
async def test_an_answer_is_continued_in_words_without_the_reasoning_that_was_cut(of: Format) -> None:
    request = replace(HI, frames=(*HI.frames, Frame(ANALYSIS, SECRET)), cut_answer=CUT)
    result, server = await answered(of, then(of.says("Hi")), request, server={"models": {"data": [{"id": "m", "owned_by": "vllm"}]}})
    assert result.visible == " Hi" and SECRET not in str(server.posted)
    assert server.posted["messages" if of.kind == "chat" else "input"][-1]["content"] == prompts.read("continue")


# What a server answers


async def test_an_answer_is_visible_and_its_reasoning_is_not(of: Format) -> None:
    result, _ = await answered(of, then(SSE_HEAD + of.half + of.stops))
    assert (result.visible, result.hidden, result.error) == (WORDS, SECRET, None)
    assert [done.frame.header for done in result.finished] == [ANALYSIS, ANSWER]
    assert result.finished[-1].frame.terminator is Terminator.RETURN and result.ended is not None and result.ended.reason is EndReason.STOP


@pytest.mark.parametrize("then_it", ["reset", 30.0], ids=["resets", "falls silent"])
async def test_an_answer_whose_end_was_said_is_whole_whatever_becomes_of_the_connection(
    of: Format, then_it: str | float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "AFTER_THE_END", 0.1)
    said = SSE_HEAD + of.half + of.stops.removesuffix(DONE)
    result, _ = await answered(of, then(said, 0.2, then_it))
    assert (result.visible, result.hidden, result.error) == (WORDS, SECRET, None)


async def test_text_behind_a_reason_to_stop_says_that_the_answer_goes_on(monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    monkeypatch.setattr(http, "AFTER_THE_END", 0.1)
    chat = format_of(vocabulary, "chat")
    early = SSE_HEAD + chat.half + chat.stops.removesuffix(DONE) + chat.more(" and")
    for rest, more, error in ((chat.more(" on") + chat.stops, " and on", None), (b"", " and", Code.STREAM_TRUNCATED)):
        result, _ = await answered(chat, then(early, 0.4, rest))
        assert (result.visible, result.hidden, result.error and result.error.code) == (WORDS + more, SECRET, error)


async def test_the_end_names_the_model_and_the_usage(of: Format) -> None:
    usage = {
        "chat": b'data: {"model":"m-2024-08-06","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
        "responses": b"",
        "harmony-llamacpp": b"",
        "harmony-vllm": b'data: {"model":"m-2024-08-06","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
    }[of.kind]
    end = of.stops.removesuffix(DONE) + usage + DONE
    if of.kind == "responses":
        end = of.stops.replace(b'"model": "stub"', b'"model": "m-2024-08-06", "usage": {"input_tokens": 3, "output_tokens": 2}')
    elif of.kind == "harmony-llamacpp":
        end = of.stops.replace(b'"stop": true', b'"stop": true, "model": "m-2024-08-06", "tokens_evaluated": 3, "tokens_predicted": 2')
    result, _ = await answered(of, then(SSE_HEAD + of.half + end), replace(HI, model="m"))
    assert result.ended is not None and result.ended.usage is not None
    assert (result.ended.model, result.ended.usage.prompt_tokens, result.ended.usage.completion_tokens) == ("m-2024-08-06", 3, 2)


@of_text
async def test_a_model_that_was_neither_asked_for_nor_offered_is_not_named(of: Format) -> None:
    named = b'data: {"model":"SECRET","choices":[]}\n\n' if of.kind == "chat" else b""
    result, _ = await answered(of, then(SSE_HEAD + named, of.says("Hi").removeprefix(SSE_HEAD)), replace(HI, model="m"))
    assert result.ended is not None and result.ended.model == "m"


async def test_a_call_of_an_offered_tool_makes_the_text_before_it_a_preamble(of: Format) -> None:
    for tools in ((LOOK,), ()):
        before = SSE_HEAD + of.opens + of.more("I look.") + of.between
        result, _ = await answered(of, then(before + of.call("look", "{}", "c1")), replace(HI, tools=tools))
        assert result.calls == [("functions.look", "{}")] and result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS
        if not of.kind.startswith("harmony"):
            assert result.finished[0].frame.header.channel == ("commentary" if tools else "final")


@of_text
async def test_what_follows_the_end_is_ignored_and_an_open_connection_closed(of: Format) -> None:
    result, server = await answered(of, then(of.says("Hi") + of.more("SECRET") + of.error({"code": 500}), 5.0))
    assert (result.visible, result.hidden, result.error, server.dropped.is_set()) == ("Hi", "", None, True)


@of_text
@pytest.mark.parametrize("is_whole", [True, False])
async def test_events_that_cannot_be_read_are_skipped_and_counted(of: Format, is_whole: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert (await answered(of, then(of.says("Hi"))))[0].visible == "Hi" and "could not be read" not in caplog.text
    odd = b"data: {oops\n\ndata: 7\n\ndata: " + b"[" * 100_000 + b"\n\n"
    result, _ = await answered(of, then(SSE_HEAD + of.opens + of.more("H"), odd, of.more("i"), of.stops if is_whole else b""))
    assert result.visible == "Hi" and "a model server sent 3 events that could not be read" in caplog.text
    assert (result.error and result.error.code) == (None if is_whole else Code.STREAM_TRUNCATED)
    assert is_whole or (result.error and "3 events could not be read" in result.error.detail)


async def test_output_beyond_the_limit_is_cut_and_not_read(of: Format) -> None:
    header = len("<|channel|>final<|message|>") if of.kind.startswith("harmony") else 0
    limits = replace(PATIENT, max_output_chars=10 + header)
    result, server = await answered(of, then(SSE_HEAD + of.opens, *[of.more("abc")] * 20, 5.0), limits=limits)
    assert result.visible == "abcabcabca" and server.dropped.is_set()
    assert result.ended is not None and result.ended.reason is EndReason.LENGTH
    assert (result.finished[-1].complete, result.finished[-1].error) == (False, ProductCode.LENGTH)


@pytest.mark.served
async def test_one_back_end_serves_many_samples_concurrently(of: Format) -> None:
    async with of.playing(then(SSE_HEAD + of.thought, 0.05, of.words + of.stops)) as (_, backend):
        results = await asyncio.gather(*(outcome(backend, HI) for _ in range(20)))
    assert {(result.visible, result.hidden) for result in results} == {(WORDS, SECRET)}


def text_in(events: Iterable[RawEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, FrameText)]


class StoppedError(Exception):
    pass


def stops_at_text(event: RawEvent) -> None:
    if isinstance(event, FrameText):
        raise StoppedError


async def test_stopping_closes_the_upstream_connection_within_a_second(of: Format) -> None:
    async with of.playing(then(SSE_HEAD + of.opens + of.more("Hi"), 30.0)) as (server, backend):
        with pytest.raises(StoppedError):
            await backend.sample(HI, Taker(stops_at_text))
        await asyncio.wait_for(server.dropped.wait(), 1)


@pytest.mark.served
@pytest.mark.parametrize("begins", [False, True])
async def test_cancelling_a_waiting_task_closes_the_connection_within_a_second(of: Format, begins: bool) -> None:
    begun = SSE_HEAD + of.opens + of.more("Hi") if begins else b""
    async with of.playing(then(begun, 30.0), limits=SampleLimits()) as (server, backend):
        task = asyncio.create_task(outcome(backend, HI))
        while not posts(server):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait_for(server.dropped.wait(), 1)
        assert (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError


# How a server fails. ``test_every_fault`` has every known way, in whole turns


@pytest.mark.parametrize(
    ("status", "error", "headers", "code", "retryable", "retry_after"),
    [
        ("400 Bad Request", {}, "", ProductCode.BACKEND_REFUSED, False, None),
        ("400 Bad Request", {"code": "content_filter"}, "", ProductCode.CONTENT_REFUSED, False, None),
        ("401 Unauthorized", {"code": "invalid_api_key"}, "", ProductCode.BACKEND_SETUP, False, None),
        ("429 Too Many Requests", {}, "Retry-After: 120\r\n", ProductCode.BACKEND_BUSY, True, 120.0),
        ("500 Internal Server Error", {}, "", ProductCode.BACKEND, True, None),
        ("302 Found", {}, "Location: http://127.0.0.1:1/\r\n", ProductCode.BACKEND_SETUP, False, None),
    ],
)
async def test_the_body_of_a_refusal_is_for_staff_and_quotes_no_key(
    of: Format, status: str, error: dict[str, str], headers: str, code: ErrorCode, retryable: bool, retry_after: float | None
) -> None:
    body = json.dumps({"error": {"message": "failed_generation: SECRET sk-open-sesame", **error}}).encode()
    result, _ = await answered(of, stub.responds(status, body, headers), key="sk-open-sesame", model="tiny")
    assert result.error is not None
    assert (result.error.code, result.error.retryable, result.error.retry_after) == (code, retryable, retry_after)
    assert "failed_generation: SECRET (the key)" in result.error.detail and "sesame" not in result.error.detail
    assert "SECRET" not in str(result.error) + repr(result.error) + result.error.log_text


ERRORS: list[tuple[dict[str, object], ErrorCode, bool]] = [
    ({"code": 500}, ProductCode.BACKEND, True),
    ({"code": 401}, ProductCode.BACKEND_SETUP, False),
    ({"code": 429}, ProductCode.BACKEND_BUSY, True),
    ({"code": 400}, ProductCode.BACKEND_REFUSED, False),
    ({"type": "overloaded_error"}, ProductCode.BACKEND_BUSY, True),
    ({"code": "content_filter"}, ProductCode.CONTENT_REFUSED, False),
]


@pytest.mark.parametrize(("error", "code", "retryable"), ERRORS)
async def test_an_error_inside_a_stream_is_retryable_only_before_the_first_event(
    of: Format, error: dict[str, object], code: ErrorCode, retryable: bool
) -> None:
    sent = of.error({"message": "SECRET", **error})
    for begun, visible in ((b"", ""), (of.thought, ""), (of.half, WORDS)):
        result, _ = await answered(of, then(SSE_HEAD + begun + sent))
        assert result.error is not None and "SECRET" not in str(result.error)
        assert (result.error.code, result.error.retryable, result.visible) == (code, retryable and not begun, visible)
        assert all(done.error is code for done in result.finished if not done.complete) and (not begun or not result.finished[-1].complete)


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        pytest.param(b": a comment, and then nothing\n\n", Code.STREAM_TRUNCATED, id="a comment"),
        pytest.param(b'data: {"choi', Code.STREAM_TRUNCATED, id="half an event"),
        pytest.param(b"<html>SECRET</html>\n\n" * 50, Code.STREAM_TRUNCATED, id="a page"),
        pytest.param(b"event: error\ndata: SECRET\n\n", ProductCode.BACKEND, id="an error event without JSON"),
        pytest.param(b'event: error\ndata: {"message":"SECRET"}\n\n', ProductCode.BACKEND, id="an error event"),
        pytest.param(b'data: {"error":"SECRET"}\n\n', ProductCode.BACKEND, id="an error in words"),
        pytest.param(b'data: {"error":{"code":500,"message":"SECRET"}}\n\n', ProductCode.BACKEND, id="an error of another format"),
    ],
)
async def test_a_stream_that_fails_keeps_what_was_shown(of: Format, odd: bytes, code: ErrorCode) -> None:
    for begun, visible in ((b"", ""), (of.thought, ""), (of.half, WORDS)):
        result, _ = await answered(of, then(SSE_HEAD + begun, odd))
        assert result.error is not None and "SECRET" not in str(result.error)
        assert (result.error.code, result.visible) == (code, visible)
        assert all(not done.complete for done in result.finished[-1:])


async def test_an_endless_error_body_is_read_only_up_to_a_limit(of: Format) -> None:
    result, _ = await answered(of, stub.responds("500 Oops", b"x" * 500_000))
    assert result.error is not None and 8_000 < len(result.error.detail) < 9_000


@pytest.mark.parametrize("of", ["chat"], indirect=True)
@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (lambda of: stub.responds("503 Service Unavailable", b"{}", "Connection: close\r\n"), ProductCode.BACKEND_BUSY),
        (lambda of: stub.responds("404 Not Found", b"{}", "Connection: close\r\n"), ProductCode.BACKEND_SETUP),
        (lambda of: then(SSE_HEAD + of.more(" are"), of.error({"code": 400, "message": "x"})), ProductCode.BACKEND_REFUSED),
    ],
)
async def test_only_a_refusal_of_an_open_answer_is_asked_again_in_words(of: Format, answers: Any, code: ProductCode) -> None:
    result, server = await answered(of, answers(of), replace(HI, cut_answer=CUT), server=LLAMA)
    assert (result.error and result.error.code, len(posts(server))) == (code, 1)


# Characters


@of_text
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("smile \ud83d", "\ude00 end"), "smile 😀 end"),
        (("\ud83d", "", "\ude00\ud83d", "\ude00"), "😀😀"),
        (("a \ud83d", "b\ude00", " \ud83d"), "a \ufffdb\ufffd \ufffd"),
    ],
)
async def test_a_character_that_comes_in_two_halves_is_whole_and_a_lone_half_is_marked(
    of: Format, pieces: tuple[str, ...], text: str
) -> None:
    taken = list[RawEvent]()
    way = way_back(taken.append)
    async with of.playing(then(of.says(*pieces))) as (_, backend):
        await backend.sample(HI, Taker(way.feed))
    assert "".join(text_in(taken)) == text
    way.finish()
    assert "".join(text_in(taken)) == text, "the end of the frame has closed it"
