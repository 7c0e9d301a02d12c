"""Finishing an answer that was cut during its reasoning, against a real llama.cpp server: no raw reasoning shows, and an answer comes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from chatui.backends.base import Backend, EndReason, SampleRequest
from renderer.frame_kinds import ANALYSIS, ANSWER
from renderer.frames import Frame
from tests.llama.asked import CANARY, THINK_HARD, over
from tests.support.sampling import outcome, sample_request

pytestmark = [pytest.mark.llama, pytest.mark.asyncio, over("harmony", "chat")]

CUTS = 200 if os.environ.get("CHATUI_TEST_LONG") else 20
"""How many places of the reasoning are cut; ``make faults`` tries more."""


def finishing(request: SampleRequest, thought: str) -> SampleRequest:
    """The product's request after a turn was cut in its reasoning: the reasoning ends the history, and the answer has no text yet."""
    return replace(request, frames=(*request.frames, Frame(ANALYSIS, thought)), cut_answer=Frame(ANSWER, ""))


async def test_no_reasoning_shows_wherever_it_was_cut_and_an_answer_comes(backend: Backend) -> None:
    """Stop can cut at any character, and a limit at any token; the places include both."""
    request = sample_request(THINK_HARD)
    whole = await outcome(backend, request)
    thought = whole.hidden
    assert CANARY in thought and len(thought) > 400 and whole.visible, "the premise: long reasoning with a secret, then an answer"
    answered, leaks = 0, []
    for number in range(CUTS):
        cut = thought[: 1 + number * (len(thought) - 1) // (CUTS - 1)]
        rest = await outcome(backend, finishing(request, cut))
        assert rest.error is None and rest.ended is not None and rest.ended.reason is EndReason.STOP, len(cut)
        shown = " ".join(rest.visible.split())
        if CANARY in shown or any(part in shown for part in sentences(thought)):
            leaks.append(len(cut))
        answered += any(done.frame.header == ANSWER for done in rest.finished)
    print(f"{type(backend).__name__}: {CUTS} cuts, {len(leaks)} leaks, {answered} with an answer")
    assert leaks == []
    assert answered == CUTS


def sentences(text: str) -> list[str]:
    """Overlapping pieces of five words of the reasoning, which would be recognized in an answer."""
    words = text.split()
    return [" ".join(words[place : place + 5]) for place in range(0, max(len(words) - 4, 1), 3)]
