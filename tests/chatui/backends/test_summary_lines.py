"""The demo's reasoning summary: its lines come in order and pass the same check as any other."""

from __future__ import annotations

import pytest

from chatui.backends.base import SampleEnded, SampleRequest
from chatui.backends.demo import DemoBackend
from chatui.turns import summarizing
from renderer.events import FrameOpened
from renderer.frames import Channel, Frame, Header, Role
from renderer.gate import Audience, may_see
from tests.support.sampling import outcome, sample_request

QUESTIONS = [
    "Plan a day out for twelve people",
    "Explain recursion with a small example",
    "Draft a polite reminder about an invoice",
    "Hello",
    "Plan the launch",
    "Explain Markdown",
    "Refuse this",
    "An answer that is cut",
]


async def thought_through(question: str) -> summarizing.Notes:
    """The reasoning notes of a demo turn, up to its answer."""
    notes = summarizing.Notes()
    notes.open([Frame(Header(Role.USER), question)])
    async for event in DemoBackend(0).sample(sample_request(question, effort="high")):
        if isinstance(event, FrameOpened) and event.header.channel == Channel.FINAL and may_see(event.header, Audience.END_USER):
            break
        if not isinstance(event, SampleEnded):
            notes.feed(event)
    return notes


@pytest.mark.asyncio
@pytest.mark.parametrize("question", QUESTIONS)
async def test_every_demo_line_passes_the_check_and_then_no_more_come(question: str) -> None:
    notes, shown = await thought_through(question), list[str]()
    assert notes.new_chars > 100, "the premise: it thought"
    while (line := (await outcome(DemoBackend(0), notes.request(None, shown))).visible) != "none":
        assert notes.judge(line).reason is None, line
        shown.append(line)
    assert shown


@pytest.mark.asyncio
async def test_a_question_about_summaries_is_answered_normally() -> None:
    request = SampleRequest((Frame(Header(Role.USER), "## Question\n\nHello\n\n## Lines shown before\n\n- none\n\n## New notes\n\nx"),))
    assert "built-in demo" in (await outcome(DemoBackend(0), request)).visible
