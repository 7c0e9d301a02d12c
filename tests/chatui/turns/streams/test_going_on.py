"""What began as the answer is none: a sentence before a call, or text that is withdrawn. The thinking goes on, as one."""

from collections.abc import Sequence
from uuid import uuid4

import pytest

from chatui import wire
from chatui.display import activities
from renderer.activities.activity import Activity
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE, TOOL_LINE
from renderer.frames import Frame, Terminator
from renderer.gate import Audience, show
from renderer.markup import html
from tests.support.page_stream import PageStream
from tests.support.scripted import CALL, FINAL

LINE = Activity("calc")
NO_ANSWER: dict[str, Sequence[RawEvent]] = {
    "a sentence before a call": (FrameClosed(Terminator.END, header=PREAMBLE),),
    "withdrawn": (FrameWithdrawn(), FrameText("hidden"), FrameClosed(Terminator.END)),
}
THOUGHT: Sequence[RawEvent] = (FrameOpened(ANALYSIS), FrameText("hidden"), FrameClosed(Terminator.END))
SENTENCE: Sequence[RawEvent] = (FrameOpened(ANSWER), FrameText("I will look."))
CALLED: Sequence[RawEvent] = (FrameOpened(CALL), FrameText("{}"), FrameClosed(Terminator.CALL))


class Page:
    """The events that a page is sent, each at a second of its own."""

    def __init__(self) -> None:
        self.stream = PageStream(can_answer_now=True)
        self.seconds = 0

    def take(self, *events: RawEvent) -> list[wire.Event]:
        sent = []
        for event in events:
            self.seconds += 1
            self.stream.take(event, uuid4(), self.seconds * 1000)
            sent += [numbered.event for numbered in self.stream.flush()]
        return sent


def of_type(events: Sequence[wire.Event], kind: type[wire.Event]) -> list[wire.Event]:
    return [event for event in events if isinstance(event, kind)]


def test_a_snapshot_says_that_a_tool_is_used_until_hidden_work_goes_on() -> None:
    page = Page()
    page.take(*THOUGHT, FrameOpened(TOOL_LINE), FrameText("Looking it up"), FrameClosed(Terminator.END))
    assert page.stream.snapshot(0).uses_tool
    page.take(*THOUGHT)
    assert page.stream.snapshot(0).uses_tool is None


@pytest.mark.parametrize("name", list(NO_ANSWER))
def test_the_clock_the_lines_and_answer_now_go_on(name: str) -> None:
    page = Page()
    sent = page.take(*THOUGHT, *SENTENCE)
    assert of_type(sent, wire.ThoughtEnded) == [wire.ThoughtEnded(4)], "the premise: it looks like the answer"
    sent = page.take(*NO_ANSWER[name], *CALLED)
    assert {event.can_answer_now for event in sent if isinstance(event, wire.WorkingBegan)} == {True}
    snapshot = page.stream.snapshot(0)
    assert (snapshot.working, snapshot.thought, snapshot.can_answer_now) == (True, None, True)
    assert page.stream.thought_seconds is None
    page.stream.step(activities.line(LINE))
    sent = page.take(*THOUGHT)
    assert of_type(sent, wire.SummaryStep) == [wire.SummaryStep(activities.line(LINE))]
    sent = page.take(*SENTENCE)
    assert of_type(sent, wire.ThoughtEnded) == [wire.ThoughtEnded(page.seconds - 1)], "one number for all rounds"
    assert page.stream.thought_seconds == page.seconds - 1
    page.stream.step(activities.line(Activity("weigh")))
    assert of_type(page.take(FrameClosed(Terminator.RETURN)), wire.SummaryStep) == []
    assert page.stream.snapshot(0).steps == (activities.line(LINE),)


def test_after_answer_now_the_button_does_not_come_back() -> None:
    page = Page()
    page.take(*THOUGHT)
    page.stream.note_answer_now(0)
    sent = page.take(*SENTENCE, *NO_ANSWER["withdrawn"], *CALLED)
    assert {event.can_answer_now for event in sent if isinstance(event, wire.WorkingBegan)} == {False}


@pytest.mark.parametrize("name", list(NO_ANSWER))
def test_nothing_goes_on_that_had_not_begun(name: str) -> None:
    page = Page()
    sent = page.take(*SENTENCE, *NO_ANSWER[name])
    assert of_type(sent, wire.WorkingBegan) == [] and page.stream.thought_seconds is None
    page.stream.end_thinking(9000)
    assert page.stream.thought_seconds is None


def test_the_end_of_a_turn_ends_the_thinking_for_pages_that_open_later() -> None:
    page = Page()
    for event in (*THOUGHT, *SENTENCE, *NO_ANSWER["a sentence before a call"], *CALLED):
        page.stream.take(event, uuid4(), 1000)
    page.stream.flush(is_watched=False)
    page.stream.end_thinking(7000)
    assert page.stream.thought_seconds == 7
    page.stream.flush()
    snapshot = page.stream.snapshot(0)
    assert (snapshot.thought, snapshot.can_answer_now) == (7, False)


# Text that a continuation withdraws or keeps, on pages that show what it continues.


KEY, CUT_KEY = uuid4(), uuid4()
JOINED: list[RawEvent] = [FrameOpened(FINAL), FrameText("One.\n\nTwo and"), FrameText(" three.\n\n"), FrameWithdrawn()]


@pytest.mark.parametrize("flushed", range(4))
@pytest.mark.parametrize("is_watched", [True, False])
def test_pages_remove_the_cut_text_and_show_the_whole_new_answer(flushed: int, is_watched: bool) -> None:
    stream = PageStream()
    blocks = html.render_blocks(show(Frame(FINAL, "One.\n\nTwo and"), Audience.END_USER))
    stream.show_before([wire.MessageSoFar(str(CUT_KEY), "final", tuple(blocks))], CUT_KEY)
    for number, event in enumerate(JOINED):
        stream.take(event, KEY, 0)
        if number < flushed:
            stream.flush(is_watched=is_watched)
    gone = {each.event.message_id for each in stream.flush() if isinstance(each.event, wire.MessageWithdrawn)}
    assert str(CUT_KEY) in gone and stream.snapshot(0).messages == ()
    answer = uuid4()
    for event in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("Four.\n\nFive."), FrameClosed(Terminator.RETURN)):
        stream.take(event, answer, 0)
    events = [each.event for each in stream.flush()]
    [began] = [event for event in events if isinstance(event, wire.MessageBegan)]
    assert (began.message_id, began.continued_message) == (str(answer), None)
    assert [word in str(block) for word, block in zip(("Four", "Five"), stream.snapshot(0).messages[0].blocks, strict=True)] == [True] * 2


def show_on(page: dict[str, list[str]], events: list[wire.Numbered]) -> None:
    """What a page does with events about messages."""
    for numbered in events:
        match numbered.event:
            case wire.MessageBegan(message_id=key, continued_message=cut, blocks=kept):
                page[key] = page.pop(cut)[:kept] if cut else page.get(key, [])
            case wire.MessageWithdrawn(message_id=key):
                page.pop(key, None)
            case wire.BlockFlushed(message_id=key, block=block, html=text) | wire.BlockReplaced(message_id=key, block=block, html=text):
                page[key][block:] = [str(text)]


@pytest.mark.parametrize("flushed", range(4))
@pytest.mark.parametrize("is_watched", [True, False])
def test_pages_show_a_cut_text_that_stays_again_until_a_new_answer_replaces_it(flushed: int, is_watched: bool) -> None:
    stream, page = PageStream(), dict[str, list[str]]()
    blocks = html.render_blocks(show(Frame(FINAL, "One.\n\nTwo and"), Audience.END_USER))
    before = wire.MessageSoFar(str(CUT_KEY), "final", tuple(blocks))
    page[str(CUT_KEY)] = list(map(str, blocks))
    stream.show_before([before], CUT_KEY, stays=True)
    for number, event in enumerate(JOINED):
        stream.take(event, KEY, 0)
        if number < flushed:
            show_on(page, stream.flush(is_watched=is_watched))
    show_on(page, stream.flush())
    assert page == {str(CUT_KEY): list(map(str, blocks))} and stream.snapshot(0).messages == (before,)
    answer = uuid4()
    for event in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("One.\n\nTwo and"), FrameText(" four.")):
        stream.take(event, answer, 0)
    stream.take(FrameClosed(Terminator.RETURN), answer, 0)
    show_on(page, stream.flush())
    shown = list(map(str, html.render_blocks(show(Frame(FINAL, "One.\n\nTwo and four."), Audience.END_USER))))
    assert page == {str(answer): shown}
    assert [(each.message_id, list(map(str, each.blocks))) for each in stream.snapshot(0).messages] == [(str(answer), shown)]
