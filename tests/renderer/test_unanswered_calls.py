"""What follows a tool call without its reply is hidden and flagged; further calls, and what follows the reply, are not."""

from dataclasses import replace

import pytest

from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent, UnansweredCalls, hidden
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE
from renderer.frames import Header, Terminator
from renderer.gate import Audience, may_see

CALL = Header("assistant", "commentary", "functions.f", "c1")
REPLY = Header("tool", "commentary", "assistant", "c1", "functions.f")
LATE = [ANSWER, PREAMBLE, ANALYSIS, Header("assistant", "final", "user"), Header("assistant", "commentary", "assistant"), Header("user")]


def frame(header: Header, terminator: Terminator | None = Terminator.END, error: Code | None = None) -> list[RawEvent]:
    """The events of one frame."""
    return [FrameOpened(header), FrameText("text"), FrameClosed(terminator, error)]


CALLED = frame(CALL, Terminator.CALL)


@pytest.mark.parametrize(
    "events",
    [
        [*frame(ANALYSIS), *frame(PREAMBLE), *frame(ANSWER, Terminator.RETURN)],
        [*frame(ANALYSIS), *CALLED, *CALLED],
        [*CALLED, *frame(REPLY), *frame(ANALYSIS), *frame(ANSWER, Terminator.RETURN)],
        [*CALLED, *CALLED, *frame(REPLY), *frame(ANSWER)],
        [FrameClosed(Terminator.END)],
        [*frame(CALL), *frame(ANSWER)],
        [*frame(CALL, None, Code.STREAM_TRUNCATED), *frame(ANSWER)],
        [FrameOpened(ANSWER), FrameWithdrawn(), FrameText("text"), FrameClosed(None)],
        [FrameOpened(ANSWER), FrameText("text"), FrameClosed(Terminator.END, header=PREAMBLE)],
    ],
)
def test_nothing_changes_without_text_after_an_open_call(events: list[RawEvent]) -> None:
    assert UnansweredCalls().feed_all(events) == events


@pytest.mark.parametrize("header", LATE)
@pytest.mark.parametrize(
    "before",
    [CALLED, [*CALLED, *CALLED], [*CALLED, *frame(CALL)], [*CALLED, *frame(REPLY), *CALLED]],
)
def test_text_after_an_open_call_is_hidden_and_flagged(before: list[RawEvent], header: Header) -> None:
    seen = UnansweredCalls().feed_all([*before, *frame(header, Terminator.RETURN), *frame(header)])
    late = [FrameOpened(replace(header, intent="debug")), FrameText("text"), FrameClosed(Terminator.END, Code.CALL_SCHEMA)]
    assert seen == [*before, *late, *late]
    assert not may_see(hidden(header), Audience.END_USER)


@pytest.mark.parametrize(
    ("closed", "becomes"),
    [
        (FrameClosed(None), FrameClosed(None, Code.CALL_SCHEMA)),
        (FrameClosed(None, Code.STREAM_TRUNCATED), FrameClosed(None, Code.STREAM_TRUNCATED)),
        (FrameClosed(Terminator.END, Code.BODY_CONSTRAINT_VIOLATION), FrameClosed(Terminator.END, Code.BODY_CONSTRAINT_VIOLATION)),
        (FrameClosed(Terminator.CALL), FrameClosed(Terminator.END, Code.CALL_SCHEMA)),
        (FrameClosed(Terminator.END, header=PREAMBLE), FrameClosed(Terminator.END, Code.CALL_SCHEMA)),
    ],
)
def test_a_hidden_frame_keeps_its_own_error_and_is_neither_a_call_nor_a_preamble(closed: FrameClosed, becomes: FrameClosed) -> None:
    assert UnansweredCalls().feed_all([*CALLED, FrameOpened(ANSWER), closed])[-1] == becomes


def test_a_call_after_hidden_text_is_not_hidden_and_the_reply_ends_the_hiding() -> None:
    calls = UnansweredCalls()
    calls.feed_all([*CALLED, *frame(ANSWER)])
    rest = [*CALLED, *frame(REPLY), *frame(ANSWER)]
    assert calls.feed_all(rest) == rest
