"""An API program's stream: text that the program has not taken yet can still be withdrawn, and is then never sent."""

from uuid import uuid4

from chatui.turns.streams.program import Closed, Ended, MoreProgramText, Opened, ProgramEvent, ProgramStream, Step, Thinking, Withdrawn
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANSWER, PREAMBLE
from renderer.frames import Frame, Terminator
from renderer.gate import Audience, show

KEY = uuid4()
LINE = show(Frame(PREAMBLE, "Looked it up"), Audience.PROGRAM)


async def take_events(stream: ProgramStream) -> list[ProgramEvent]:
    """Everything that a program takes up to the end."""
    stream.end(Ended("completed"))
    events: list[ProgramEvent] = []
    while not events or not isinstance(events[-1], Ended):
        event = await stream.next()
        events += [event] if event is not None else []
    return events[:-1]


def open_preamble() -> ProgramStream:
    stream = ProgramStream()
    stream.take(FrameOpened(PREAMBLE), KEY)
    stream.take(FrameText("marmalade"), KEY)
    return stream


async def test_a_summary_line_in_between_does_not_protect_withdrawn_text() -> None:
    stream = open_preamble()
    stream.step(LINE)
    stream.take(FrameText(" and more marmalade"), KEY)
    stream.take(FrameWithdrawn(), KEY)
    assert await take_events(stream) == [Step(KEY, LINE), Thinking(KEY)]


async def test_text_waiting_after_the_beginning_of_a_message_is_withdrawn_silently() -> None:
    stream = open_preamble()
    assert isinstance(await stream.next(), Opened)
    stream.take(FrameWithdrawn(), KEY)
    assert await take_events(stream) == [Closed(is_preamble=True, is_whole=False), Thinking(KEY)]


async def test_after_part_of_a_message_the_withdrawal_is_reported_and_the_rest_dropped() -> None:
    stream = open_preamble()
    assert [type(await stream.next()) for _ in range(2)] == [Opened, MoreProgramText]
    stream.take(FrameText(" and more marmalade"), KEY)
    stream.take(FrameWithdrawn(), KEY)
    assert await take_events(stream) == [Withdrawn(), Thinking(KEY)]


async def test_messages_before_the_withdrawn_one_stay() -> None:
    stream = open_preamble()
    stream.take(FrameClosed(Terminator.END, None), KEY)
    stream.take(FrameOpened(ANSWER), KEY)
    stream.take(FrameText("hidden"), KEY)
    stream.take(FrameWithdrawn(), KEY)
    assert [type(event) for event in await take_events(stream)] == [Opened, MoreProgramText, Closed, Thinking]


async def test_a_message_of_white_space_is_not_sent_because_it_is_not_stored() -> None:
    stream = ProgramStream()
    for event in (FrameOpened(ANSWER), FrameText(" "), FrameText("\n"), FrameClosed(Terminator.END)):
        stream.take(event, KEY)
    for event in (FrameOpened(ANSWER), FrameText("\n"), FrameText("Four."), FrameClosed(Terminator.END)):
        stream.take(event, KEY)
    assert [event.text for event in await take_events(stream) if isinstance(event, MoreProgramText)] == ["\nFour."]
