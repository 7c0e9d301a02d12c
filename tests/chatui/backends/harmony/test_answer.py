"""Reading one answer of a token-id server, without a server: where it ends, what is cut, and what two responses have together."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends.base import Backend, BackendError, Endpoint, EndReason, SampleRequest, Usage
from chatui.backends.harmony import dialects
from chatui.backends.harmony.answer import HarmonyAnswer, ReadingPause
from chatui.backends.harmony.backend import HarmonyCompletionsBackend, continued_request
from chatui.backends.harmony.dialects import CompletionRequest
from chatui.backends.http import WHOLE
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import Assembler, Finished, FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.pieces import Marker, Piece, ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_forced_calls import WEATHER, forced
from tests.chatui.backends.test_wire_formats import ANALYSIS, SCHEMA, WANTED, request, sampled, schema_in, streams
from tests.chatui.backends.wire import DAY, VLLM, ids_of, sse, vllm
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome
from tests.support.stub import DONE, SSE_HEAD

FINAL = "<|channel|>final<|message|>"
THOUGHT = "<|channel|>analysis<|message|>I think.<|end|><|start|>assistant"
CALL = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
HEADER_CHARS = len(FINAL)


class Chunks(dialects.Chunks):
    """A dialect whose chunks have their pieces as text."""

    path = "/completion"

    def __init__(self) -> None:  # without a vocabulary
        self.reason, self.usage, self.model, self.failure = None, None, None, ""

    @staticmethod
    def payload(asked: CompletionRequest) -> dict[str, object]:
        raise NotImplementedError

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        if "reason" in chunk:
            self.reason = EndReason(chunk["reason"])
        if "usage" in chunk:
            self.usage = Usage(*chunk["usage"])
        return pieces_of_text(chunk.get("text", ""))


def event(text: str = "", name: str = "", **more: Any) -> ServerSentEvent:
    return ServerSentEvent(name, json.dumps({"text": text, **more}))


def fed(answer: HarmonyAnswer, events: Iterable[ServerSentEvent]) -> list[RawEvent]:
    raws: list[RawEvent] = []
    answer.feed_all(events, raws.append)
    return raws


def read(*events: ServerSentEvent, max_chars: int = 10_000, pause: ReadingPause | None = None) -> tuple[HarmonyAnswer, list[RawEvent]]:
    answer = HarmonyAnswer(Chunks(), max_chars, pause)
    return answer, fed(answer, events)


def folded(events: list[RawEvent]) -> list[Finished]:
    assembler = Assembler()
    return [done for event in events if (done := assembler.feed(event))]


def finished(*events: ServerSentEvent, max_chars: int = 10_000) -> tuple[list[Finished], EndReason]:
    answer, raws = read(*events, max_chars=max_chars)
    rest, reason = answer.finish()
    return folded([*raws, *rest]), reason


@pytest.mark.parametrize(
    ("room", "text", "is_over", "body", "reason", "error"),
    [
        (5, "Hello<|return|>", True, "Hello", EndReason.LENGTH, ProductCode.LENGTH),
        (5, "Hello", False, "Hello", EndReason.STOP, Code.STREAM_TRUNCATED),
        (4, "Hello", True, "Hell", EndReason.LENGTH, ProductCode.LENGTH),
        (0, "Hello", True, "", EndReason.LENGTH, ProductCode.LENGTH),
        (15, "Hello<|return|>", False, "Hello", EndReason.STOP, None),
    ],
)
def test_an_answer_is_cut_at_its_limit_of_characters(
    room: int, text: str, is_over: bool, body: str, reason: EndReason, error: ErrorCode | None
) -> None:
    answer, raws = read(event(FINAL), event(text), max_chars=HEADER_CHARS + room)
    assert answer.is_over is is_over
    rest, ended = answer.finish()
    [done] = folded([*raws, *rest])
    assert (done.frame.body, ended, done.error, done.complete) == (body, reason, error, error is None)


@pytest.mark.parametrize(
    ("text", "reported", "expected", "error"),
    [
        (f"{FINAL}Hi<|return|>", "stop", EndReason.STOP, None),
        (f"{FINAL}Hi<|return|>", "length", EndReason.STOP, None),
        (f"{FINAL}Hi", "length", EndReason.LENGTH, ProductCode.LENGTH),
        (f"{FINAL}Hi<|end|>", "length", EndReason.LENGTH, None),
        (f"{FINAL}Hi", "stop", EndReason.STOP, Code.STREAM_TRUNCATED),
        (CALL, "stop", EndReason.TOOL_CALLS, None),
        (f"{CALL}<|start|>assistant{FINAL}Hi", "length", EndReason.LENGTH, ProductCode.LENGTH),
        (CALL.removesuffix("<|call|>"), "stop", EndReason.TOOL_CALLS, None),
        (CALL.removesuffix("}<|call|>"), "stop", EndReason.STOP, Code.STREAM_TRUNCATED),
    ],
)
def test_the_reason_of_the_end_is_what_the_model_and_the_server_say(
    text: str, reported: str, expected: EndReason, error: ErrorCode | None
) -> None:
    frames, reason = finished(event(text), event(reason=reported))
    assert (reason, frames[-1].error) == (expected, error)


def test_a_few_events_are_read_after_the_end_and_no_more() -> None:
    before = [event(FINAL), *[event("Hi")] * 20, event("<|return|>")]
    events = iter([*before, *(event("more", usage=(number, 1)) for number in range(100))])
    answer = HarmonyAnswer(Chunks(), 10_000)
    raws = fed(answer, events)
    assert [one for one in raws if isinstance(one, FrameText)] == [FrameText("Hi")] * 20
    assert answer.is_over and answer.usage == Usage(6, 1), "eight events: the last of the answer, and seven more"
    assert next(events).data == event("more", usage=(7, 1)).data


def test_only_what_people_may_see_is_not_hidden() -> None:
    answer = HarmonyAnswer(Chunks(), 10_000)
    hidden = [answer.is_hidden]
    for text in ("<|channel|>analysis", "<|message|>I think.", "<|end|><|start|>assistant", FINAL, "Hi"):
        fed(answer, [event(text)])
        hidden.append(answer.is_hidden)
    assert hidden == [True] * 4 + [False] * 2
    assert read(event(CALL.partition("{}")[0]))[0].is_hidden


def test_reading_stops_at_the_end_of_the_stream() -> None:
    for last in (event(name=WHOLE), event(stop=True), ServerSentEvent("", " [DONE]\n")):
        answer, raws = read(event(f"{FINAL}Hi"), last, event(" more"))
        assert answer.is_over and FrameText(" more") not in raws
    for other in (event(stop=False), event(stop="true"), event(name="message")):
        answer, raws = read(event(f"{FINAL}Hi"), other, event(" more"))
        assert not answer.is_over and FrameText(" more") in raws


@pytest.mark.parametrize(
    ("events", "is_whole"),
    [
        ([event(f"{FINAL}Hi")], False),
        ([event(f"{FINAL}Hi<|end|>")], False),
        ([], False),
        ([event(f"{FINAL}Hi<|return|>")], True),
        ([event(f"{FINAL}Hi<|end|>"), event(reason="stop")], True),
        ([event(f"{FINAL}Hi"), event(reason="length")], True),
        ([event(f"{FINAL}Hi"), event(reason="stop")], False),
        ([event(f"{FINAL}Hi"), ServerSentEvent("", "[DONE]")], False),
    ],
)
def test_a_stream_without_an_end_is_an_error(events: list[ServerSentEvent], is_whole: bool) -> None:
    answer, _ = read(*events)
    if is_whole:
        answer.check_end()
        return
    with pytest.raises(BackendError) as raised:
        answer.check_end()
    assert raised.value.code is Code.STREAM_TRUNCATED


def test_a_paused_answer_needs_no_end() -> None:
    answer, raws = read(event(f"{THOUGHT}{FINAL}"), event("Hi"), pause=ReadingPause(is_answer))
    answer.check_end()
    assert answer.is_paused and answer.needs_second_request and not answer.is_over
    assert answer.before == [], "without a pause that drops the answer, nothing is kept for a call"
    assert raws[-1] == FrameOpened(Header(Role.ASSISTANT, Channel.FINAL)), "nothing after the pause is read"
    assert "".join(piece if isinstance(piece, str) else piece.token for piece in answer.pieces) == f"{THOUGHT}{FINAL}"


def test_an_answer_after_a_call_needs_no_second_request() -> None:
    answer, raws = read(event(f"{CALL}<|start|>assistant{FINAL}"), pause=ReadingPause(is_answer))
    assert answer.is_paused and not answer.needs_second_request
    assert isinstance(raws[-1], FrameClosed), "nothing is open after the call"


@pytest.mark.parametrize(
    ("counted", "expected"),
    [((100, 5), (93, 12)), ((3, 5), (0, 12)), ((None, 5), (None, 5)), ((100, None), (100, None)), ((7, 0), (0, 7))],
)
def test_the_prompt_of_a_second_response_contains_tokens_of_the_first(
    counted: tuple[int | None, int | None], expected: tuple[int | None, int | None]
) -> None:
    answer, _ = read(event(f"{THOUGHT}{FINAL}", usage=(1, 1)), pause=ReadingPause(is_answer))
    assert answer.usage == Usage(1, 1)
    answer.resume(Chunks(), 7)
    assert answer.usage is None
    fed(answer, [event("Hi", usage=counted)])
    assert answer.usage == Usage(*expected)


CUT = Frame(Header(Role.ASSISTANT, Channel.FINAL), "Half")


@pytest.mark.parametrize("ends", [lambda answer: answer.finish()[0], lambda answer: answer.break_off(ProductCode.TIMEOUT)])
def test_a_continued_answer_without_new_text_adds_no_frame(ends: Callable[[HarmonyAnswer], list[RawEvent]]) -> None:
    answer = HarmonyAnswer(Chunks(), 10_000)
    answer.continue_with(CUT)
    assert ends(answer) == []
    answer = HarmonyAnswer(Chunks(), 10_000)
    answer.continue_with(CUT)
    fed(answer, [event(" and")])
    assert [type(one) for one in ends(answer)] == [FrameClosed]


def drops(header: Header) -> bool:
    return header.channel == Channel.FINAL


@pytest.mark.parametrize(
    ("text", "more", "lacks"),
    [
        (f"{THOUGHT}{FINAL}", {}, True),
        (f"{THOUGHT}{FINAL}", {"reason": "length"}, True),
        ("<|channel|>analysis<|message|>I think.<|return|>", {"reason": "stop"}, True),
        ("<|channel|>analysis<|message|>I think.<|end|>", {"reason": "length"}, False),
        ("<|channel|>analysis<|message|>I thi", {"reason": "stop"}, False),
        (CALL, {"reason": "stop"}, False),
        (f"{CALL}<|start|>assistant{FINAL}", {}, False),
    ],
)
def test_a_call_is_missing_if_the_model_ended_its_turn_without_one(text: str, more: dict[str, str], lacks: bool) -> None:
    answer, _ = read(event(text, **more), pause=ReadingPause(drops, drops=True))
    assert answer.lacks_call is lacks


def test_a_call_is_not_missing_if_the_model_wrote_too_much() -> None:
    thought = "<|channel|>analysis<|message|>I think.<|end|>"
    for room, lacks in ((0, True), (-1, False)):
        answer, _ = read(event(thought), max_chars=len(thought) + room, pause=ReadingPause(drops, drops=True))
        assert (answer.is_over, answer.lacks_call) == (not lacks, lacks)


# A token-id answer that needs a second request: what is sent again, what is dropped, and what happens if the second one fails.


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


async def test_a_refusal_in_the_middle_of_the_answer_is_no_refusal_of_the_schema(vocabulary: Vocabulary) -> None:
    first, second = streams("vLLM", vocabulary, ANALYSIS)
    failing = SSE_HEAD + sse(vllm(*ids_of(vocabulary, '{"su')), {"error": {"code": 400, "message": "schema"}})
    result, bodies = await sample(vocabulary, request(), first, failing, second)
    assert result.error is not None and result.error.code is ProductCode.BACKEND_REFUSED
    assert (result.visible, len(bodies)) == ('{"su', 2)


async def test_an_answer_that_is_continued_is_bound_neither_to_a_schema_nor_to_a_call(vocabulary: Vocabulary) -> None:
    rest = SSE_HEAD + sse(vllm(*ids_of(vocabulary, " more.<|return|>"), finish="stop")) + DONE
    cut = Frame(ANSWER, "Half and")
    for wanted in (replace(request(), cut_answer=cut), replace(forced(WEATHER), cut_answer=cut)):
        result, [body] = await sample(vocabulary, wanted, rest)
        assert (result.visible, result.calls, schema_in(body)) == (" more.", [], None)


async def test_a_required_call_comes_before_an_answer_in_a_format(vocabulary: Vocabulary) -> None:
    final = SSE_HEAD + sse(vllm(*ids_of(vocabulary, f"{FINAL}SECRET")))
    arguments = SSE_HEAD + sse(vllm(*ids_of(vocabulary, '{"city": "Oslo"}'), 200012, finish="stop")) + DONE
    result, bodies = await sample(vocabulary, replace(forced(WEATHER), answer_format=WANTED), final, arguments)
    assert (result.calls, result.visible) == ([("functions.weather", '{"city": "Oslo"}')], "")
    assert [schema_in(body) for body in bodies] == [None, WEATHER.parameters] != [None, SCHEMA]


def test_a_second_response_is_read_from_its_beginning() -> None:
    answer, _ = read(event(f"{THOUGHT}{FINAL}"), pause=ReadingPause(is_answer))
    fed(answer, [ServerSentEvent("", "[DONE]")])
    assert answer.is_over, "the premise"
    answer.resume(Chunks(), 7)
    assert not answer.is_over
    assert [one.text for one in fed(answer, [event("Hi")]) if isinstance(one, FrameText)] == ["Hi"]


def test_events_after_the_end_are_counted_anew_for_a_call_that_we_open() -> None:
    ended = "<|channel|>analysis<|message|>I think.<|end|><|endoftext|>"
    answer, _ = read(event(ended), *(event() for _ in range(7)), pause=ReadingPause(drops, drops=True))
    assert answer.is_over, "the premise"
    answer.begin_call(Header(Role.ASSISTANT, Channel.COMMENTARY, recipient="functions.f"), Chunks(), 4)
    assert not answer.is_over
    [called] = folded(fed(answer, [event("{}<|call|>")]))
    assert (called.frame.body, called.frame.terminator) == ("{}", Terminator.CALL)
