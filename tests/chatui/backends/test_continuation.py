"""Continuing a cut answer in each wire format: the request, the resulting text, and that nothing hidden comes with it."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chatui import prompts
from chatui.backends.base import Endpoint, EndReason, SampleEnded, SampleRequest, Taker
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.context_fitting import without_last_reasoning
from chatui.backends.continuation import Seam, continue_in_words
from chatui.backends.demo import DemoBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, BROKEN
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator
from renderer.harmony.prompt import FunctionTool, Prompt, SystemMessage, build
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token
from tests.chatui.backends.wire import DAY, LLAMA, SGLANG, VLLM, ids_of, llama, sse, vllm
from tests.support import stub
from tests.support.cases import example_count
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, chunk

SECRET = "SECRET"
FINAL = Header(Role.ASSISTANT, Channel.FINAL)
QUESTION = Frame(Header(Role.USER), "What is 2 + 2?")
THOUGHT = Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), f"{SECRET} thoughts")
CUT = Frame(FINAL, "Two and two")
OLLAMA = {"models": {"data": [{"id": "gpt-oss:20b", "owned_by": "library"}]}}
CHAT_LLAMA = LLAMA


def continued(body: str = CUT.body) -> SampleRequest:
    return SampleRequest((QUESTION, THOUGHT), cut_answer=Frame(FINAL, body))


def _cut(text: str, chooser: random.Random) -> Iterator[str]:
    while text:
        size = chooser.randint(1, 6)
        yield text[:size]
        text = text[size:]


# Token ids


async def continue_by_ids(vocabulary: Vocabulary, answer: Any, server: dict[str, Any], request: SampleRequest) -> tuple[Outcome, Any]:
    async with stub.running(answer, **server) as running:
        backend = HarmonyCompletionsBackend(Endpoint(running.url, limits=PATIENT), vocabulary=lambda: vocabulary, today=lambda: DAY)
        result = await outcome(backend, request)
        await backend.aclose()
    return result, running.posted


@pytest.mark.parametrize("server", [LLAMA, VLLM, SGLANG], ids=["llama.cpp", "vLLM", "SGLang"])
async def test_by_ids_the_prompt_ends_inside_the_answer(vocabulary: Vocabulary, server: dict[str, Any]) -> None:
    ids = [*vocabulary.encode(" are four."), MARKER_IDS[Token.RETURN]]
    answers = {
        "llama.cpp": sse(llama(" are four.", *vocabulary.encode(" are four.")[-1:]), llama("", 200002, stop=True, stop_type="eos")),
        "vLLM": sse(vllm(*ids, finish="stop", stop=200002)),
        "SGLang": sse({"output_ids": ids, "meta_info": {"completion_tokens": len(ids), "finish_reason": {"type": "stop"}}}),
    }
    name = next(name for name, one in {"llama.cpp": LLAMA, "vLLM": VLLM, "SGLang": SGLANG}.items() if one is server)
    result, posted = await continue_by_ids(vocabulary, stub.plays(answers[name]), server, continued())
    assert [(done.frame.header, done.frame.body, done.frame.terminator) for done in result.finished] == [
        (FINAL, " are four.", Terminator.RETURN)
    ]
    prompt = posted.get("prompt") or posted["input_ids"]
    expected = Prompt((QUESTION, THOUGHT), SystemMessage(date=DAY.isoformat()), cut_answer=CUT)
    assert prompt == build(expected, vocabulary)
    assert prompt[-len(vocabulary.encode(CUT.body)) - 3 :] == ids_of(vocabulary, f"<|channel|>final<|message|>{CUT.body}")


async def test_by_ids_an_answer_without_text_is_not_prefilled(vocabulary: Vocabulary) -> None:
    """It would continue its reasoning there, if that was cut: instead it is asked in words and chooses the channel itself."""
    reply = f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>"
    raw = sse(vllm(*ids_of(vocabulary, reply), finish="stop", stop=200002))
    result, posted = await continue_by_ids(vocabulary, stub.plays(raw), VLLM, continued(""))
    words = prompts.read("finish")
    question = f"<|start|>user<|message|>{QUESTION.body}<|end|>"
    tail = f"{question}<|start|>user<|message|>{words}<|end|><|start|>assistant"  # and nothing of the cut reasoning
    assert posted["prompt"][-len(ids_of(vocabulary, tail)) :] == ids_of(vocabulary, tail)
    assert (result.visible, result.hidden) == ("Four.", SECRET)


async def test_by_ids_later_reasoning_is_hidden_and_quoted_markers_are_text(vocabulary: Vocabulary) -> None:
    channel, message, start = (MARKER_IDS[token] for token in (Token.CHANNEL, Token.MESSAGE, Token.START))
    raw = sse(
        vllm(*vocabulary.encode(" <|end|><|channel|>analysis"), MARKER_IDS[Token.END], start, *vocabulary.encode("assistant"), channel),
        vllm(*vocabulary.encode("analysis"), message, *vocabulary.encode(SECRET), finish="length"),
    )
    result, _ = await continue_by_ids(vocabulary, stub.plays(raw), VLLM, continued())
    assert (result.visible, result.hidden) == (" <|end|><|channel|>analysis", SECRET)


# Chat Completions


async def continue_by_chat(answer: Any, request: SampleRequest, **server: Any) -> tuple[Outcome, list[Any]]:
    async with stub.running(answer, **server) as running:
        backend = ChatCompletionsBackend(Endpoint(running.url, limits=PATIENT))
        result = await outcome(backend, request)
        await backend.aclose()
    return result, [request.body for request in running.requests if request.method == "POST"]


@pytest.mark.parametrize("server", [CHAT_LLAMA, OLLAMA, VLLM], ids=["llama.cpp", "Ollama", "vLLM"])
async def test_an_answer_without_text_is_never_prefilled(server: dict[str, Any]) -> None:
    answer = stub.plays(chunk(reasoning_content=SECRET) + chunk(content="Four.") + chunk("stop") + DONE)
    result, [body] = await continue_by_chat(answer, continued(""), **server)
    assert body["messages"][-1] == {"role": "user", "content": prompts.read("finish")}
    assert "continue_final_message" not in body and "SECRET" not in str(body)
    assert (result.visible, result.hidden) == ("Four.", SECRET)


async def test_ollama_gets_an_answer_that_has_text() -> None:
    answer = stub.plays(chunk(content=" are four.") + chunk("stop") + DONE)
    _, [body] = await continue_by_chat(answer, continued(), **OLLAMA)
    assert body["messages"][-1]["role"] == "assistant"


@pytest.mark.parametrize(
    "leak",
    [
        f"<|channel|>analysis<|message|>{SECRET}<|end|>",
        f"<|start|>assistant<|channel|>analysis<|message|>{SECRET}",
        f"analysisWe {SECRET}. assistantfinal",
        f"assistant<|channel|>analysis<|message|>{SECRET}",
        f"assistantanalysis{SECRET}",
        f"<think>{SECRET}</think>",
        f"to=functions.x {SECRET}",
        f" is.assistantanalysis{SECRET}",
    ],
)
async def test_leaked_reasoning_in_a_continuation_is_hidden(leak: str) -> None:
    for server in (CHAT_LLAMA, VLLM):
        for seed in range(6):
            pieces = b"".join(chunk(content=piece) for piece in _cut(leak, random.Random(seed)))
            result, _ = await continue_by_chat(stub.plays(pieces + chunk("length") + DONE), continued(), **server)
            assert SECRET not in result.visible and SECRET in result.hidden


@pytest.mark.parametrize("leak", [f"analysis We {SECRET}. assistantfinalFour.", f"commentary to=x {SECRET}.assistantfinalFour."])
async def test_an_answer_without_text_is_judged_like_a_new_one(leak: str) -> None:
    for seed in range(6):
        pieces = b"".join(chunk(content=piece) for piece in _cut(leak, random.Random(seed)))
        result, [body] = await continue_by_chat(stub.plays(pieces + chunk("stop") + DONE), continued(""), **CHAT_LLAMA)
        assert body["messages"][-1]["content"] == prompts.read("finish"), "the premise: it is asked in words"
        assert result.visible == "Four." and SECRET in result.hidden


# Responses


# The demo


async def test_the_demos_cut_answer_continues_to_its_end() -> None:
    question = sample_request("Please truncate.")
    cut = await outcome(DemoBackend(0), question)
    rest = await outcome(DemoBackend(0), replace(question, cut_answer=Frame(FINAL, cut.visible)))
    assert cut.visible.endswith("permissions that") and rest.visible.startswith(" their work needs")
    assert rest.ended is not None and rest.ended.reason is EndReason.STOP and not rest.hidden
    half = await outcome(DemoBackend(0), replace(question, cut_answer=Frame(FINAL, cut.visible), max_tokens=5))
    assert half.ended is not None and half.ended.reason is EndReason.LENGTH


@pytest.mark.parametrize("text", ["explain", "plan", "hello", "refuse"])
async def test_a_stopped_demo_answer_continues_at_the_same_place(text: str) -> None:
    offered = replace(sample_request(text), tools=(FunctionTool("keep_note", ""),))  # none are where an answer is continued
    whole = next(done.frame.body for done in reversed((await outcome(DemoBackend(0), offered)).finished))
    assert text != "hello" or "`plan`" in whole, "the premise: with a tool the greeting names more"
    for position in (0, 1, len(whole) // 2, len(whole)):
        rest = await outcome(DemoBackend(0), replace(sample_request(text), cut_answer=Frame(FINAL, whole[:position])))
        assert rest.visible == whole[position:]


# A cut answer that is continued in words: what is asked, what is repeated, and what of the continuation is shown. Without a server.


PREAMBLE = Header(Role.ASSISTANT, Channel.COMMENTARY, intent=Intent.PREAMBLE)
CUT_THOUGHT = Frame(ANALYSIS, "SECRET")
CLOSED = FrameClosed(Terminator.END)
ENDED = SampleEnded(EndReason.STOP)
BEFORE = "The sum of two and two"
REPEATED = "sum of two and two is four."


async def continued_events(*given: RawEvent, cut: str | None = BEFORE, thought: str = "SECRET") -> tuple[list[RawEvent], SampleRequest]:
    """The events that reach the caller if the model answers with ``given``, and what the model was asked."""
    asked: list[SampleRequest] = []

    async def sample(request: SampleRequest, take: Taker) -> SampleEnded:
        asked.append(request)
        for event in given:
            take(event)
        return ENDED

    events: list[RawEvent] = []
    request = SampleRequest((QUESTION, Frame(ANALYSIS, thought)), effort="high", cut_answer=None if cut is None else Frame(FINAL, cut))
    assert await continue_in_words(request, Taker(events.append), sample) is ENDED
    return events, asked[0]


def texts(events: list[RawEvent]) -> str:
    """The text of all frames; ``|`` where one opens, ``#`` where one is withdrawn."""
    signs = {FrameOpened: "|", FrameWithdrawn: "#"}
    return "".join(event.text if isinstance(event, FrameText) else signs.get(type(event), "") for event in events)


async def test_a_repetition_in_pieces_is_removed_from_the_answer() -> None:
    pieces = [FrameText(REPEATED[at : at + 4]) for at in range(0, len(REPEATED), 4)]
    events, _ = await continued_events(FrameOpened(FINAL), *pieces, CLOSED)
    assert texts(events) == "| is four."
    assert (events[0], events[-1]) == (FrameOpened(FINAL), CLOSED), "all other events pass, the text comes before the end"


@pytest.mark.parametrize(("given", "shown"), [
    ([FrameOpened(ANALYSIS), FrameText(REPEATED), CLOSED, FrameOpened(FINAL), FrameText(REPEATED), CLOSED], f"|{REPEATED}| is four."),
    ([FrameOpened(PREAMBLE), FrameText(REPEATED), FrameWithdrawn(), CLOSED], f"|{REPEATED}#"),
    ([FrameOpened(FINAL), FrameText("sum of"), CLOSED, FrameOpened(FINAL), FrameText(REPEATED), CLOSED], f"| sum of|{REPEATED}"),
    ([FrameOpened(FINAL), FrameText(REPEATED), CLOSED, FrameOpened(ANALYSIS), FrameText(REPEATED), CLOSED], f"| is four.|{REPEATED}"),
    (
        [FrameOpened(FINAL), FrameText("of two and two, he"), FrameWithdrawn(), CLOSED, FrameOpened(FINAL), FrameText(REPEATED), CLOSED],
        "|, he#| is four.",
    ),
    ([FrameOpened(FINAL), FrameText("sum of"), FrameWithdrawn(), FrameText(REPEATED), CLOSED], f"|# sum of{REPEATED}"),
])  # fmt: skip
async def test_only_the_first_answer_that_is_not_withdrawn_is_joined(given: list[RawEvent], shown: str) -> None:
    assert texts((await continued_events(*given))[0]) == shown


@pytest.mark.parametrize(("text", "shown"), [
    ("sum of two and two {} is four.", "| is four.|{}"),
    ("sum of two and two {}", "||{}"),
    ("{} is four.", "| is four.|{}"),
    ("sum of two and two is four, as {}", "| is four, as {}"),
])  # fmt: skip
@pytest.mark.parametrize("size", [4, 1000])
async def test_a_thought_behind_the_repetition_is_hidden(text: str, shown: str, size: int) -> None:
    thought = "The user wants a SECRET sum, so I add."
    text = text.format(thought)
    pieces = [FrameText(text[at : at + size]) for at in range(0, len(text), size)]
    events, _ = await continued_events(FrameOpened(FINAL), *pieces, CLOSED, thought=thought)
    assert "|".join(map(str.strip, texts(events).split("|"))) == "|".join(map(str.strip, shown.format(thought).split("|")))
    assert [event.header for event in events if isinstance(event, FrameOpened)] == [FINAL, BROKEN][: shown.count("|")]


async def test_frames_that_are_no_answer_pass_unchanged() -> None:
    given: list[RawEvent] = [FrameOpened(PREAMBLE), FrameText(REPEATED), FrameWithdrawn(), CLOSED, FrameOpened(ANALYSIS), CLOSED]
    assert (await continued_events(*given))[0] == given


@pytest.mark.parametrize("cut", ["", None])
async def test_nothing_is_joined_to_an_answer_without_text(cut: str | None) -> None:
    given: list[RawEvent] = [FrameOpened(FINAL), FrameText("Fo"), FrameText("ur."), FrameWithdrawn(), CLOSED]
    assert (await continued_events(*given, cut=cut))[0] == given


async def test_the_cut_answer_and_the_request_for_its_rest_end_the_history() -> None:
    _, asked = await continued_events()
    assert asked.frames == (QUESTION, CUT_THOUGHT, Frame(FINAL, BEFORE, Terminator.END), Frame(Header(Role.USER), prompts.read("continue")))
    assert (asked.cut_answer, asked.effort) == (None, "high")
    shortened = without_last_reasoning(SampleRequest((QUESTION, CUT_THOUGHT), thoughts=("Before.",)))
    assert shortened.frames == (QUESTION,) and shortened.thoughts == ("Before.", CUT_THOUGHT.body), "it is still known"


@pytest.mark.parametrize("cut", ["", None])
async def test_an_answer_without_text_is_requested_without_the_reasoning_that_was_cut(cut: str | None) -> None:
    _, asked = await continued_events(cut=cut)
    assert asked.frames == (QUESTION, Frame(Header(Role.USER), prompts.read("finish")))
    assert asked.thoughts == (CUT_THOUGHT.body,), "which the model may go on with"
    assert (asked.cut_answer, asked.effort) == (None, "low")


@pytest.mark.parametrize(("frames", "rest"), [
    ((), ()),
    ((CUT_THOUGHT,), ()),
    ((QUESTION, CUT_THOUGHT, CUT_THOUGHT), (QUESTION,)),
    ((CUT_THOUGHT, QUESTION), (CUT_THOUGHT, QUESTION)),
    ((QUESTION, CUT_THOUGHT, Frame(PREAMBLE, "I look."), CUT_THOUGHT), (QUESTION, CUT_THOUGHT, Frame(PREAMBLE, "I look."))),
])  # fmt: skip
async def test_only_reasoning_at_the_end_of_the_history_is_left_out(frames: tuple[Frame, ...], rest: tuple[Frame, ...]) -> None:
    asked: list[SampleRequest] = []

    async def sample(request: SampleRequest, take: Taker) -> SampleEnded:
        asked.append(request)
        return ENDED

    assert await continue_in_words(SampleRequest(frames), Taker(print), sample) is ENDED
    assert asked[0].frames[:-1] == rest


LONG = "".join(f"{number} " for number in range(1000))
assert len(LONG) > 3000

SEAMS = {
    ("The quick brown fox jum", "brown fox jumps over."): "ps over.",
    ("The quick brown fox", "quick brown fox jumps."): " jumps.",
    ("The quick brown fox", "The quick brown fox jumps."): " jumps.",
    ("The quick brown fox", "\nThe quick brown fox jumps."): " jumps.",
    ("The quick brown fox", "The quick brown fox"): "",
    ("The quick brown fox", "jumps."): " jumps.",
    ("The quick brown fox", " jumps."): " jumps.",
    ("The quick brown fox ", "jumps."): "jumps.",
    ("The quick brown fox.", "Jumps."): "Jumps.",
    ("so (a", "b c"): " b c",
    ("The quick brown fox", "quick brown dog."): " quick brown dog.",
    ("ha ha", "ha ha ha"): " ha",
    ("so it is, is it", "it is."): " it is.",
    ("日本語の", "文章です。"): "文章です。",
    ("日本語の", "text"): "text",
    ("the text", "文章です。"): "文章です。",
    ("x = [1, 2", ", 3]"): ", 3]",
    ("word " * 1000, "word " * 1000 + "end"): "end",
    ("a b c", ""): "",
    ("so 1234567", "1234567 8"): " 1234567 8",
    ("so 12345678", "12345678 9"): " 9",
    ("so 12345678", "\n 12345678 9"): " 9",
    ("as so 12345678", "so 12345678 so 12345678 9"): " so 12345678 9",
    ("ab" * 6, "ab" * 5 + "c"): "c",
    (LONG, LONG[-2000:] + "end"): "end",
    (LONG, LONG[-2010:] + "end"): LONG[-2010:] + "end",
    (LONG, LONG[:100] + "end"): LONG[:100] + "end",
}  # fmt: skip


@pytest.mark.parametrize(("before", "text"), SEAMS)
def test_repeated_text_at_the_seam_is_removed_at_every_split(before: str, text: str) -> None:
    for seed in range(example_count(20)):
        seam = Seam(before)
        pieces = list(_cut(text, random.Random(seed))) if seed else [text]
        assert "".join([*map(seam.feed, pieces), seam.finish()]) == SEAMS[before, text]
        assert seam.finish() == ""


def test_text_without_repetition_is_not_delayed() -> None:
    seam = Seam("The quick brown fox")
    assert [seam.feed(" ju"), seam.feed("mps"), seam.feed(" The quick brown fox")] == [" ju", "mps", " The quick brown fox"]


def test_text_is_released_as_soon_as_it_is_no_repetition() -> None:
    seam = Seam("The quick brown fox")
    assert [seam.feed("quick "), seam.feed("brown fox"), seam.feed(" jumps")] == ["", "", " jumps"]
    seam = Seam("The quick brown fox")
    assert [seam.feed("brown "), seam.feed("dog")] == ["", " brown dog"]


def test_white_space_is_held_only_while_it_can_precede_a_repetition() -> None:
    seam = Seam("ab")
    assert [seam.feed(" "), seam.feed(" "), seam.feed(" ")] == ["", "", "   "]


def test_text_that_did_not_begin_like_the_cut_text_is_not_held_because_its_next_piece_does() -> None:
    seam = Seam("a quick fox a quack")
    assert [seam.feed("quick"), seam.feed("ck")] == ["", " quickck"]


def test_held_text_is_released_at_the_end() -> None:
    seam = Seam("The quick brown fox")
    assert (seam.feed("quick"), seam.finish(), seam.feed(" x")) == ("", " quick", " x")
    seam = Seam("The quick brown fox")
    assert (seam.feed("The quick brown"), seam.finish()) == ("", " The quick brown")
