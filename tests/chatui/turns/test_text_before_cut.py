"""The text before the cut of a continued answer: it comes once, at the start of the first answer that opens."""

from __future__ import annotations

from collections.abc import Sequence

from chatui.turns.sampling import TextBeforeCut
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER
from renderer.frames import Frame
from tests.support.cases import for_each

HIDDEN_START: list[RawEvent] = [FrameOpened(ANALYSIS), FrameText("Hm"), FrameClosed(None)]


@for_each(
    [
        (Frame(ANSWER, "Four"), True),
        (Frame(ANSWER, ""), False),
        (None, False),
    ]
)
def test_the_text_before_the_cut_comes_first_in_the_first_answer_only(cut: Frame | None, continues: bool) -> None:
    before = TextBeforeCut(cut)
    assert bool(before) is continues

    def fed(events: Sequence[RawEvent]) -> list[RawEvent]:
        return [each for event in events for each in before.feed(event)]

    answer: list[RawEvent] = [FrameOpened(ANSWER), FrameText(", or"), FrameClosed(None)]
    old: list[RawEvent] = [FrameText("Four")] if continues else []
    assert fed(HIDDEN_START) == HIDDEN_START
    assert fed(answer) == [answer[0], *old, *answer[1:]]
    assert fed(answer) == answer and bool(before) is continues
    assert before.is_exceeded_by(Frame(ANSWER, "Four, or")) and not before.is_exceeded_by(Frame(ANSWER, " \n"))
    assert before.is_exceeded_by(Frame(ANSWER, "Four\n")) is not continues
