"""Whether a turn is summarized, and what a turn without a summary does with frames that pretend to be one."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from uuid import uuid4

import pytest

from chatui.backends.spec import BackendSpec
from chatui.turns.ledger import Job
from chatui.turns.opening import summary_of
from chatui.turns.summaries import TurnSummary
from chatui.turns.summarizing import Summarizing
from chatui.usage.counting import Attribution
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import PRODUCT_NAMES, SUMMARY, SUMMARY_NAME
from renderer.frames import Channel, Frame, Header, Role
from renderer.gate import Audience, VisibleText, may_see


async def _summary(summaries: str) -> TurnSummary:
    asked = Attribution(uuid4(), date(2026, 1, 1))
    job = Job(uuid4(), uuid4(), asked.person_id, uuid4(), "owner", "high", asked, "one", (Frame(Header(Role.USER), "Why?"),))
    values = {"name": "one", "kind": "chat", "url": "http://127.0.0.1:9", "summaries": summaries, "summarizer": ""}
    return await summary_of(BackendSpec.model_validate(values), job, list[VisibleText]().append)


@pytest.mark.asyncio
async def test_a_turn_is_summarized_if_its_back_end_has_summaries() -> None:
    summary = await _summary("server")
    assert type(summary) is Summarizing
    await summary.aclose()


@pytest.mark.asyncio
async def test_a_turn_of_a_back_end_without_summaries_is_not() -> None:
    summary = await _summary("none")
    assert type(summary) is TurnSummary and summary.finish() == []
    await summary.aclose()


@pytest.mark.parametrize("summaries", ["none", "server"])
@pytest.mark.asyncio
async def test_a_model_cannot_forge_a_summary(summaries: str) -> None:
    summary = await _summary(summaries)
    assert may_see(SUMMARY, Audience.END_USER), "the premise: people see the frame that the product writes"
    opened = summary.take(FrameOpened(SUMMARY))
    assert isinstance(opened, FrameOpened) and opened.header.name == SUMMARY_NAME
    assert not may_see(opened.header, Audience.END_USER)
    for name in PRODUCT_NAMES - {SUMMARY_NAME}:
        opened = summary.take(FrameOpened(Header(Role.ASSISTANT, Channel.ANALYSIS, name=name)))
        assert opened == FrameOpened(Header(Role.ASSISTANT, Channel.ANALYSIS))
    tool = FrameOpened(replace(SUMMARY, role=Role.TOOL))
    others: tuple[RawEvent, ...] = (tool, FrameOpened(Header(Role.ASSISTANT, Channel.ANALYSIS)), FrameText("x"), FrameClosed(None))
    assert [summary.take(event) for event in others] == list(others), "only names of frames by the model are changed"
    await summary.aclose()
