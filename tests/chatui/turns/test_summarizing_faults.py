"""Faults in reasoning summaries affect only the summary, never the answer, and nothing unchecked is shown."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any
from uuid import uuid4

import pytest
from django.db import DataError

from chatui.backends.spec import BackendSpec
from chatui.models.user import User
from chatui.turns import ledger, summarizing
from chatui.turns.ledger import Job
from chatui.usage.counting import Attribution
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frame_kinds import SUMMARY_NAME
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.gate import VisibleText
from tests.chatui.turns.test_summarizing import STEP, TRUSTED, server_summary, stored_messages, watch
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, Step, answer, ended, frame
from tests.support.summarizer import THOUGHT, Summarizer, install, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.faults]

OWN = Header("assistant", channel=Channel.ANALYSIS, name=SUMMARY_NAME)


def failing(*arguments: object, **named: object) -> Any:
    raise DataError("value too long")


def broken(*arguments: object, **named: object) -> Any:
    raise RuntimeError("no rule for this")


@pytest.mark.parametrize("odd", ["\x00", "\ud800"])
async def test_a_line_that_cannot_be_stored_is_blocked_and_the_answer_stored(
    odd: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, summarizer = asyncio.Event(), Summarizer(f"Looked at {odd} the timetable", "none")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    watched = await watch(ada, gate, lambda: summarizer.judged > 0)
    assert watched.turn.state == "completed"
    assert [message.error_code for message in await stored_messages(watched.turn)] == ["", "E-X-SUMMARY-BLOCKED", ""]


@pytest.mark.parametrize("odd", ["\x00", "\ud800"])
async def test_a_server_summary_that_cannot_be_stored_is_blocked_and_the_answer_stored(
    odd: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    install(monkeypatch, backend, None, **TRUSTED)
    own: list[Step] = [FrameOpened(OWN), FrameText(f"Looked at {odd} the timetable"), FrameClosed(Terminator.END)]
    backend.script = [*own, gate, *frame(FINAL, "Take the bicycle.", Terminator.RETURN), ended()]
    watched = await watch(ada, gate)
    assert watched.turn.state == "completed"


async def test_reasoning_that_cannot_be_stored_is_still_summarized(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, summarizer = asyncio.Event(), Summarizer(STEP, "none")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    backend.script.insert(1, FrameText("odd \ud800 half of a sign "))
    watched = await watch(ada, gate, lambda: summarizer.judged > 0)
    assert STEP in watched.raw
    assert summarizer.requests[0].frames[-1].body.encode("utf-8"), "a server can be sent this"


@pytest.mark.parametrize("fault", [failing, broken])
async def test_a_summary_that_cannot_be_stored_does_not_lose_the_answer(
    fault: Any, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "store_summary", fault)
    gate, summarizer = asyncio.Event(), Summarizer(STEP, "none")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    watched = await watch(ada, gate, lambda: summarizer.judged > 0)
    assert watched.turn.state == "completed"
    assert [(message.name, message.channel) for message in await stored_messages(watched.turn)] == [("", "analysis"), ("", "final")]


async def test_a_check_that_fails_as_the_answer_begins_does_not_lose_the_answer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, backend, None, **TRUSTED)
    monkeypatch.setattr(summarizing, "POLL_SECONDS", 60.0)  # only the beginning of the answer triggers the check of the line
    monkeypatch.setattr(summarizing, "check", broken)
    gate = asyncio.Event()
    own: list[Step] = [FrameOpened(OWN), FrameText(STEP), FrameClosed(Terminator.END)]
    backend.script = [gate, *own, *frame(FINAL, "Take the bicycle.", Terminator.RETURN), ended()]
    watched = await watch(ada, gate)
    assert watched.turn.state == "completed"
    assert STEP not in watched.raw


async def test_after_a_fault_no_more_summary_is_shown(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text lost with the fault is missing in the index, so a copy of it would pass the check."""
    install(monkeypatch, backend, None, **TRUSTED)
    feed, failed = summarizing.Notes.feed, asyncio.Event()

    def feed_once(notes: summarizing.Notes, event: Any) -> None:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("no rule for this")
        feed(notes, event)

    monkeypatch.setattr(summarizing.Notes, "feed", feed_once)
    gate = asyncio.Event()
    own: list[Step] = [FrameOpened(OWN), FrameText(STEP), FrameClosed(Terminator.END)]
    backend.script = [*frame(Header("assistant", channel=Channel.ANALYSIS), "hidden"), gate, *own, *frame(FINAL, "Yes."), ended()]
    watched = await watch(ada, gate, failed.is_set)
    assert watched.turn.state == "completed"
    assert STEP not in watched.raw


async def test_a_summarizer_with_three_empty_replies_is_not_asked_again(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, summarizer = asyncio.Event(), Summarizer("")
    install(monkeypatch, backend, summarizer)
    monkeypatch.setattr(summarizing, "MIN_CHARS", 0)
    backend.script = thinks(gate)
    watched = await watch(ada, gate, lambda: len(summarizer.requests) >= 3)
    assert (watched.turn.state, watched.steps, len(summarizer.requests)) == ("completed", [], 3)


async def test_a_server_summary_too_late_for_its_review_is_not_shown(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, backend, None, **TRUSTED, summary_review=True)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, THOUGHT), gate, *server_summary("**Comparing ways**"), *answer()[-5:]]
    watched = await watch(ada, gate, backend.waiting.is_set)
    assert watched.steps == [] and "chatui:thought" in watched.types()
    assert not [message for message in await stored_messages(watched.turn) if message.name == SUMMARY_NAME and message.is_visible]


async def test_a_servers_line_that_comes_before_the_instructions_were_read_is_not_shown() -> None:
    """It might quote them: nothing is known yet of what is hidden."""
    asked, shown = Attribution(uuid4(), date(2026, 1, 1)), list[VisibleText]()
    frames = (Frame(Header(Role.DEVELOPER), STEP),)
    job = Job(uuid4(), uuid4(), asked.person_id, uuid4(), "owner", "high", asked, "one", frames)
    spec = BackendSpec(name="one", kind="chat", url="http://127.0.0.1:9", summaries="server")
    summary = summarizing.Summarizing(spec, job, shown.append)
    for event in (FrameOpened(OWN), FrameText(STEP), FrameClosed(Terminator.END), FrameOpened(FINAL)):
        summary.take(event)
    assert (shown, summary.finish()) == ([], [])
    await summary.aclose()
