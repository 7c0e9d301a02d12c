"""While no page shows a turn, nothing of it is rendered; a page that opens it later sees the same as one that watched all along."""

from collections.abc import Sequence
from uuid import uuid4

import pytest

from chatui import wire
from renderer.events import FrameClosed, FrameWithdrawn, RawEvent
from renderer.frames import Terminator
from renderer.markup.growing import GrowingMarkdown
from tests.support.page_stream import PageStream
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, frame

TURN = uuid4()
EVENTS = [
    *frame(ANALYSIS, "the hidden marmalade"),
    *frame(PREAMBLE, "I shall *look*."),
    *frame(ANALYSIS, "more of it"),
    *frame(FINAL, "# Four\n\nIt is **four**.\n\n- so\n- there", Terminator.RETURN),
]
SENTENCE = [*frame(FINAL, "I will look.")[:-1], FrameClosed(Terminator.END, header=PREAMBLE)]
ROUNDS = [*EVENTS[:5], *SENTENCE, *frame(ANALYSIS, "more of it"), *frame(FINAL, "It is four.", Terminator.RETURN)]
WITHDRAWN = [*EVENTS[:5], *frame(FINAL, "It is")[:-1], FrameWithdrawn(), *frame(FINAL, "hid")[1:], *EVENTS[-8:]]
TURNS = {"one answer": EVENTS, "a sentence before a call": ROUNDS, "a withdrawn answer": WITHDRAWN}


def streamed(events: Sequence[RawEvent], *, watched_from: int) -> PageStream:
    stream, key = PageStream(TURN), TURN
    for number, event in enumerate(events):
        stream.take(event, key, 1000 * number)
        stream.flush(is_watched=number >= watched_from)
    return stream


@pytest.mark.parametrize(("turn", "end"), [(name, end) for name, events in TURNS.items() for end in range(1, len(events) + 1)])
def test_a_late_viewer_sees_the_same_as_the_others(turn: str, end: int) -> None:
    always, late = (streamed(TURNS[turn][:end], watched_from=first) for first in (0, end + 1))
    late.flush()
    found, expected = late.snapshot(99), always.snapshot(99)
    assert found.messages == expected.messages
    assert (found.working, found.steps, found.thought) == (expected.working, expected.steps, expected.thought)


@pytest.mark.parametrize("turn", list(TURNS))
def test_nothing_is_rendered_without_viewers(turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = TURNS[turn]
    thought = streamed(events, watched_from=0).thought_seconds
    for name in ("feed", "tail"):
        monkeypatch.setattr(GrowingMarkdown, name, lambda *_: pytest.fail("it was rendered"))
    stream = streamed(events, watched_from=len(events))
    assert stream.thought_seconds == thought is not None


def test_text_withdrawn_while_unwatched_is_never_shown() -> None:
    events = [*frame(FINAL, "the hidden marmalade")[:-1], FrameWithdrawn()]
    stream = streamed(events, watched_from=len(events))
    shown = wire.encode([*stream.flush(), stream.snapshot(0)])
    assert "marmalade" not in shown and "<p>" not in shown
