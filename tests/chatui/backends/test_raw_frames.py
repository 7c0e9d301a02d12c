"""Frames as they are written one after another: what is withdrawn, and what the open frame becomes then."""

from __future__ import annotations

from chatui.backends.raw_frames import FrameSource, FrameWriter, leak
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header, Terminator
from tests.support.cases import for_each


@for_each([ANSWER, PREAMBLE])
def test_a_frame_that_people_see_is_withdrawn_and_holds_what_is_hidden_of_the_same_message(header: Header) -> None:
    writer = FrameWriter(restore=False)
    assert writer.write(FrameSource(3, "text", header), "so") == [FrameOpened(header), FrameText("so")]
    assert writer.withdraw() == [FrameWithdrawn()]
    assert writer.withdraw() == [], "it is hidden already"
    assert writer.write(leak(3, is_withheld=True), "more") == [FrameText("more")]
    assert writer.close(Terminator.RETURN) == [FrameClosed(Terminator.END, ProductCode.WITHHELD)], "and the page says so"


@for_each([ANALYSIS, BROKEN])
def test_a_hidden_frame_is_not_withdrawn(header: Header) -> None:
    writer = FrameWriter(restore=False)
    assert writer.withdraw() == [], "nothing is open"
    writer.write(FrameSource(3, "text", header, Code.PARSE_HEADER), "so")
    assert writer.withdraw() == []
    assert writer.close(Terminator.END) == [FrameClosed(Terminator.END, Code.PARSE_HEADER)], "its own error stays"
