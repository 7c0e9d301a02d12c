"""A token-id answer that needs a second request: what is sent again, what is dropped, and what happens if the second one fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends.base import Backend, BackendError, Endpoint, EndReason, SampleRequest
from chatui.backends.harmony.answer import HarmonyAnswer, ReadingPause
from chatui.backends.harmony.backend import HarmonyCompletionsBackend, continued_request
from chatui.backends.harmony.dialects import CompletionRequest
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from renderer.events import FrameText
from renderer.frame_kinds import is_answer
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.pieces import Marker, Piece, ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_answer import CALL, FINAL, THOUGHT, Chunks, drops, event, folded, read
from tests.chatui.backends.harmony.test_forced_calls import WEATHER, forced
from tests.chatui.backends.test_wire_formats import ANALYSIS, BUSY, SCHEMA, WANTED, request, sampled, schema_in, streams
from tests.chatui.backends.wire import DAY, VLLM, ids_of, sse, vllm
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD

ANSWER = Header(Role.ASSISTANT, Channel.FINAL)


async def sample(vocabulary: Vocabulary, wanted: SampleRequest, *answers: bytes) -> tuple[Outcome, list[Any]]:
    def make_backend(endpoint: Endpoint) -> Backend:
        return HarmonyCompletionsBackend(endpoint, vocabulary=lambda: vocabulary, today=lambda: DAY)

    return await sampled(make_backend, wanted, *answers, **VLLM)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ("<|channel|>final<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
        ("<|channel|>final <|constrain|>json<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
        ("<|channel|>final<|constrain|><|message|>", "<|channel|>final<|constrain|><|message|>"),
        (
            "<|channel|>analysis <|constrain|>json<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
            "<|channel|>analysis <|constrain|>json<|message|>{}<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        ),
        ("<|channel|>final<|reserved_200013|><|message|>", "<|channel|>final <|constrain|>json<|message|>"),
    ],
)
def test_the_second_request_announces_json_once(vocabulary: Vocabulary, pieces: str, expected: str) -> None:
    found = continued_request(CompletionRequest([1, 2], 500, "tiny"), pieces_of_text(pieces), vocabulary)
    written = ids_of_pieces(pieces_of_text(expected), vocabulary)
    assert found == CompletionRequest([1, 2, *written], 500 - len(written), "tiny")
    assert continued_request(CompletionRequest([1], len(written), "tiny"), pieces_of_text(pieces), vocabulary).max_tokens == 1


def test_the_second_request_encodes_text_as_one_however_it_arrived(vocabulary: Vocabulary) -> None:
    parts: list[Piece] = [Marker("<|channel|>"), "fi", "nal", " ", Marker("<|constrain|>"), "js", "on", Marker("<|message|>")]
    assert continued_request(CompletionRequest([], 9), parts, vocabulary).ids == ids_of(
        vocabulary, "<|channel|>final <|constrain|>json<|message|>"
    )


def test_nothing_is_left_of_a_dropped_message_that_is_whole_at_once() -> None:
    """Its message marker is missing, so it opens, is written and ends with one and the same marker."""
    answer, raws = read(event(f"{THOUGHT}<|channel|>final SECRET<|return|>"), pause=ReadingPause(drops, drops=True))
    assert answer.is_paused and [done.frame.body for done in folded(raws)] == ["I think."]
    assert not any("SECRET" in one.text for one in raws if isinstance(one, FrameText))


def test_only_reasoning_and_preambles_are_written_before_our_call() -> None:
    broken = "<|channel|>gossip<|message|>x<|end|><|start|>assistant"
    other = "<|channel|>analysis to=user<|message|>y<|end|><|start|>assistant"
    answer, _ = read(event(f"{broken}{THOUGHT}{other}{FINAL}SECRET"), pause=ReadingPause(drops, drops=True))
    assert [frame.body for frame in answer.before] == ["I think.", "y"]


def test_without_a_dropping_pause_nothing_is_kept_for_a_call() -> None:
    answer, _ = read(event(f"{THOUGHT}{FINAL}"), pause=ReadingPause(is_answer))
    assert answer.before == []


def test_a_second_response_is_read_from_its_beginning() -> None:
    answer, _ = read(event(f"{THOUGHT}{FINAL}"), pause=ReadingPause(is_answer))
    list(answer.feed_all([ServerSentEvent("", "[DONE]")]))
    assert answer.is_over, "the premise"
    answer.resume(Chunks(), 7)
    assert not answer.is_over
    assert [one.text for one in answer.feed_all([event("Hi")]) if isinstance(one, FrameText)] == ["Hi"]


def test_events_after_the_end_are_counted_anew_for_a_call_that_we_open() -> None:
    ended = "<|channel|>analysis<|message|>I think.<|end|><|endoftext|>"
    answer, _ = read(event(ended), *(event() for _ in range(7)), pause=ReadingPause(drops, drops=True))
    assert answer.is_over, "the premise"
    answer.begin_call(Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.f"), Chunks(), 4)
    assert not answer.is_over
    [called] = folded(list(answer.feed_all([event("{}<|call|>")])))
    assert (called.frame.body, called.frame.terminator) == ("{}", Terminator.CALL)


def test_a_call_that_we_open_twice_is_opened_once() -> None:
    header = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.f")
    answer, _ = read(event(f"{THOUGHT}{FINAL}"), pause=ReadingPause(drops, drops=True))
    answer.begin_call(header, Chunks(), 4)
    answer.begin_call(header, Chunks(), 4)
    [called] = folded(list(answer.feed_all([event("{}<|call|>")])))
    assert called.frame.body == "{}"


def test_a_call_is_not_paused_at_and_stays_one_at_the_limit_of_tokens() -> None:
    answer, raws = read(event(CALL, reason="length"), pause=ReadingPause(is_answer))
    assert not answer.is_paused and [done.frame.terminator for done in folded(raws)] == [Terminator.CALL]
    assert answer.finish()[1] is EndReason.LENGTH


def never_ends(*answers: bytes) -> Callable[[asyncio.StreamWriter], Any]:
    """A server that leaves each response open."""
    rest = list(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(rest.pop(0))
        await writer.drain()
        await asyncio.Event().wait()

    return answer


@pytest.mark.asyncio
@pytest.mark.parametrize("wanted", [request(), replace(forced(WEATHER), answer_format=None)], ids=["format", "call"])
async def test_a_response_is_closed_where_the_answer_begins_and_where_it_ends(vocabulary: Vocabulary, wanted: SampleRequest) -> None:
    first, second = (SSE_HEAD + sse(vllm(*ids_of(vocabulary, text))) for text in (f"{THOUGHT}{FINAL}", "{}"))
    second += sse(vllm(200012 if wanted.must_call else 200002, finish="stop")) + DONE
    async with stub.running(never_ends(first, second), **VLLM) as server:
        backend = HarmonyCompletionsBackend(Endpoint(server.url, limits=PATIENT), vocabulary=lambda: vocabulary)
        result = await outcome(backend, wanted)
        await backend.aclose()
    arguments = [body for _, body in result.calls]
    assert result.error is None and (result.visible, arguments) == (("", ["{}"]) if wanted.must_call else ("{}", []))


@pytest.mark.asyncio
async def test_a_response_is_closed_where_the_answer_becomes_too_long(vocabulary: Vocabulary) -> None:
    limits = replace(PATIENT, max_output_chars=len(FINAL) + 2)
    async with stub.running(never_ends(SSE_HEAD + sse(vllm(*ids_of(vocabulary, f"{FINAL}Hello")))), **VLLM) as server:
        backend = HarmonyCompletionsBackend(Endpoint(server.url, limits=limits), vocabulary=lambda: vocabulary)
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert (result.visible, result.finished[-1].error) == ("He", ProductCode.LENGTH)


@pytest.mark.asyncio
async def test_a_refusal_in_the_middle_of_the_answer_is_no_refusal_of_the_schema(vocabulary: Vocabulary) -> None:
    first, second = streams("vLLM", vocabulary, ANALYSIS)
    failing = SSE_HEAD + sse(vllm(*ids_of(vocabulary, '{"su')), {"error": {"code": 400, "message": "schema"}})
    result, bodies = await sample(vocabulary, request(), first, failing, second)
    assert result.error is not None and result.error.code is ProductCode.BACKEND_REFUSED
    assert (result.visible, len(bodies)) == ('{"su', 2)


@pytest.mark.asyncio
async def test_a_failure_that_is_no_refusal_of_the_schema_is_not_asked_again(vocabulary: Vocabulary) -> None:
    first, second = streams("vLLM", vocabulary, ANALYSIS)
    result, bodies = await sample(vocabulary, request(), first, BUSY, second)
    assert result.error is not None and result.error.code is ProductCode.BACKEND_BUSY
    assert (result.visible, len(bodies)) == ("", 2)


@pytest.mark.asyncio
async def test_an_answer_that_is_continued_is_bound_neither_to_a_schema_nor_to_a_call(vocabulary: Vocabulary) -> None:
    rest = SSE_HEAD + sse(vllm(*ids_of(vocabulary, " more.<|return|>"), finish="stop")) + DONE
    cut = Frame(ANSWER, "Half and")
    for wanted in (replace(request(), cut_answer=cut), replace(forced(WEATHER), cut_answer=cut)):
        result, [body] = await sample(vocabulary, wanted, rest)
        assert (result.visible, result.calls, schema_in(body)) == (" more.", [], None)


@pytest.mark.asyncio
async def test_a_required_call_comes_before_an_answer_in_a_format(vocabulary: Vocabulary) -> None:
    final = SSE_HEAD + sse(vllm(*ids_of(vocabulary, f"{FINAL}SECRET")))
    arguments = SSE_HEAD + sse(vllm(*ids_of(vocabulary, '{"city": "Oslo"}'), 200012, finish="stop")) + DONE
    result, bodies = await sample(vocabulary, replace(forced(WEATHER), answer_format=WANTED), final, arguments)
    assert (result.calls, result.visible) == ([("functions.weather", '{"city": "Oslo"}')], "")
    assert [schema_in(body) for body in bodies] == [None, WEATHER.parameters] != [None, SCHEMA]


@pytest.mark.parametrize("data", ['{"a": 1}', '{"error": null}', '{"error": {}}', '{"object": "list"}'])
def test_an_event_that_is_no_error_is_read(data: str) -> None:
    assert list(HarmonyAnswer(Chunks(), 100).feed_all([ServerSentEvent("", data)])) == []


@pytest.mark.parametrize("data", ["null", "3", '"[DONE]"', "", json.dumps([{"text": "x"}])])
def test_an_event_that_is_no_object_ends_the_answer(data: str) -> None:
    with pytest.raises(BackendError):
        list(HarmonyAnswer(Chunks(), 100).feed_all([ServerSentEvent("", data)]))
