"""A cut answer that is continued in words: what is asked, what is repeated, and what of the continuation is shown. Without a server."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterator

import pytest

from chatui import prompts
from chatui.backends.base import EndReason, SampleEnded, SampleEvent, SampleRequest
from chatui.backends.continuation import Seam, continue_in_words
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANALYSIS
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator
from tests.support.cases import example_count

FINAL = Header(Role.ASSISTANT, Channel.FINAL)
PREAMBLE = Header(Role.ASSISTANT, Channel.COMMENTARY, intent=Intent.PREAMBLE)
QUESTION = Frame(Header(Role.USER), "What is 2 + 2?")
THOUGHT = Frame(ANALYSIS, "SECRET")
CLOSED = FrameClosed(Terminator.END)
BEFORE = "The sum of two and two"
REPEATED = "sum of two and two is four."


async def continued(*given: SampleEvent, cut: str | None = BEFORE) -> tuple[list[SampleEvent], SampleRequest]:
    """The events that reach the caller if the model answers with ``given``, and what the model was asked."""
    asked: list[SampleRequest] = []

    async def sample(request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        asked.append(request)
        for event in given:
            yield event

    request = SampleRequest((QUESTION, THOUGHT), effort="high", cut_answer=None if cut is None else Frame(FINAL, cut))
    return [event async for event in continue_in_words(request, sample)], asked[0]


def texts(events: list[SampleEvent]) -> str:
    """The text of all frames; ``|`` where one opens, ``#`` where one is withdrawn."""
    signs = {FrameOpened: "|", FrameWithdrawn: "#"}
    return "".join(event.text if isinstance(event, FrameText) else signs.get(type(event), "") for event in events)


@pytest.mark.asyncio
async def test_a_repetition_in_pieces_is_removed_from_the_answer() -> None:
    ended = SampleEnded(EndReason.STOP)
    pieces = [FrameText(REPEATED[at : at + 4]) for at in range(0, len(REPEATED), 4)]
    events, _ = await continued(FrameOpened(FINAL), *pieces, CLOSED, ended)
    assert texts(events) == "| is four."
    assert (events[0], events[-2:]) == (FrameOpened(FINAL), [CLOSED, ended]), "all other events pass, the text comes before the end"


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
@pytest.mark.asyncio
async def test_only_the_first_answer_that_is_not_withdrawn_is_joined(given: list[SampleEvent], shown: str) -> None:
    assert texts((await continued(*given))[0]) == shown


@pytest.mark.asyncio
async def test_frames_that_are_no_answer_pass_unchanged() -> None:
    given: list[SampleEvent] = [FrameOpened(PREAMBLE), FrameText(REPEATED), FrameWithdrawn(), CLOSED, FrameOpened(ANALYSIS), CLOSED]
    assert (await continued(*given))[0] == given


@pytest.mark.parametrize("cut", ["", None])
@pytest.mark.asyncio
async def test_nothing_is_joined_to_an_answer_without_text(cut: str | None) -> None:
    given: list[SampleEvent] = [FrameOpened(FINAL), FrameText("Fo"), FrameText("ur."), FrameWithdrawn(), CLOSED]
    assert (await continued(*given, cut=cut))[0] == given


@pytest.mark.asyncio
async def test_the_cut_answer_and_the_request_for_its_rest_end_the_history() -> None:
    _, asked = await continued()
    assert asked.frames == (QUESTION, THOUGHT, Frame(FINAL, BEFORE, Terminator.END), Frame(Header(Role.USER), prompts.read("continue")))
    assert (asked.cut_answer, asked.effort) == (None, "high")


@pytest.mark.parametrize("cut", ["", None])
@pytest.mark.asyncio
async def test_an_answer_without_text_is_requested_without_the_reasoning_that_was_cut(cut: str | None) -> None:
    _, asked = await continued(cut=cut)
    assert asked.frames == (QUESTION, Frame(Header(Role.USER), prompts.read("finish")))
    assert (asked.cut_answer, asked.effort) == (None, "low")


@pytest.mark.parametrize(("frames", "rest"), [
    ((), ()),
    ((THOUGHT,), ()),
    ((QUESTION, THOUGHT, THOUGHT), (QUESTION,)),
    ((THOUGHT, QUESTION), (THOUGHT, QUESTION)),
    ((QUESTION, THOUGHT, Frame(PREAMBLE, "I look."), THOUGHT), (QUESTION, THOUGHT, Frame(PREAMBLE, "I look."))),
])  # fmt: skip
@pytest.mark.asyncio
async def test_only_reasoning_at_the_end_of_the_history_is_left_out(frames: tuple[Frame, ...], rest: tuple[Frame, ...]) -> None:
    asked: list[SampleRequest] = []

    async def sample(request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        asked.append(request)
        yield SampleEnded(EndReason.STOP)

    assert [event async for event in continue_in_words(SampleRequest(frames), sample)] == [SampleEnded(EndReason.STOP)]
    assert asked[0].frames[:-1] == rest


# Overlap between the two parts


def _cut(text: str, chooser: random.Random) -> Iterator[str]:
    while text:
        size = chooser.randint(1, 6)
        yield text[:size]
        text = text[size:]


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
