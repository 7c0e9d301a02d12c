"""Implements the interface by which tools speak to the person of a turn. What they say is stored as a card, for the owner alone."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from chatui import wire
from chatui.backends.leaks import guard
from chatui.backends.repeats import repeat_in
from chatui.database import connections, pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.env import environment
from chatui.models.keys import new_key
from chatui.models.tools import CardKind, Decision, ToolApproval
from chatui.models.turn import Turn
from chatui.tools.forms import Form, written
from chatui.tools.person import THE_MODEL, FormAnswer
from chatui.tools.replies import in_middle
from chatui.tools.tool import ToolError, as_plain_markdown
from chatui.turns import ledger
from chatui.turns.calls.approvals import POLL_SECONDS, ApprovalWait
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.publisher import Publisher
from chatui.turns.running_turn import LeaseLostError, RunningTurn
from renderer.characters import escape, one_line
from renderer.frame_kinds import TOOL_LINE, is_thought
from renderer.frames import Frame
from renderer.gate import approval_text

log = logging.getLogger(__name__)

NOTICE_CHARS = 4000
MAX_FORMS = 5
"""The most forms of one turn: a server must not wear a person down."""
MAX_NOTICES = 20
"""The most texts of one turn."""
PATIENCE = 20.0
"""How long, in seconds, a text waits for a locked or unreachable database before it is given up."""


class PersonOfTurn:
    """A ``TurnPerson``. Created on the turn's event loop, and used by tools on theirs."""

    def __init__(self, running: RunningTurn, frames: FrameRecorder, publisher: Publisher, waiting: ApprovalWait) -> None:
        """``waiting``: is told how many forms wait."""
        self._running = running
        self._turn = running.turn
        self._frames = frames
        self._is_closed = False
        self._waiting = waiting
        self._forms = 0
        self._one_form = asyncio.Lock()
        self._decided = asyncio.Event()
        waiting.on_look = self._decided.set
        self._on_progress = publisher.add_event
        self._on_notice = publisher.set_notices
        self._loop = asyncio.get_running_loop()
        self._notices = 0

    async def tell(self, speaker: str, text: str) -> bool:
        return await self._store(CardKind.TEXT, speaker, {"text": in_middle(text, NOTICE_CHARS)})

    async def needs_account(self, tool: str, server: str) -> bool:
        """Offer the person to connect an account at this server, which a call of the tool with this title needs. Returns as ``tell``."""
        return await self._store(CardKind.ACCOUNT, tool, {"server": server})

    async def _store(self, kind: CardKind, title: str, content: Mapping[str, str]) -> bool:
        if self._notices >= MAX_NOTICES:
            return False
        self._notices += 1
        try:
            await writer.run(_store_notice, self._turn, new_key(), kind, title, content, order=self._turn.pk, patience=PATIENCE)
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: what a tool said to the person could not be stored", self._turn.pk)
            return False
        self._loop.call_soon_threadsafe(self._on_notice, self._notices)
        return True

    async def ask(self, speaker: str, form: Form) -> FormAnswer:
        # On the turn's event loop, whose decisions are announced there.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._ask(speaker, form), self._loop))

    def close(self) -> None:
        """The turn's calls have ended: nothing is recorded any more."""
        self._is_closed = True

    async def _ask(self, speaker: str, form: Form) -> FormAnswer:
        """Show a form to the person, and wait for what they fill in: one form at a time. It counts as cancelled if there were too many in
        this turn, or it cannot be stored. Raises ToolError for a model's question that may hold reasoning."""
        is_models = speaker == THE_MODEL
        if is_models and _may_hold_reasoning(form, self._thoughts()):
            raise ToolError(_NOT_SHOWN)
        self._forms += 1
        if self._forms > MAX_FORMS:
            return FormAnswer("cancel")
        async with self._one_form:
            key = new_key()
            if is_models:
                # Before the form, so that a page loaded now shows both, after what the model wrote before them.
                self._record(_questions(form))
                self._frames.save_now()
            try:
                await writer.run(_store_form, self._turn, key, speaker, form, order=self._turn.pk, patience=PATIENCE)
            except (DatabaseBusyError, LeaseLostError):
                log.warning("turn %s: a form of a tool could not be shown", self._turn.pk)
                return FormAnswer("cancel")
            self._waiting.set_forms(1)
            try:
                answer = await self._answered(key)
                if is_models:
                    self._record(_answers(form, answer))
                return answer
            finally:
                # Not awaited, because the call may be cancelled. It changes nothing if there is an answer.
                writer.post(_lapse_form, key, order=self._turn.pk)
                self._waiting.set_forms(0)

    def _record(self, line: str) -> None:
        """Add a line to the conversation, for everybody who may read it."""
        if not self._is_closed:
            self._frames.add(Frame(TOOL_LINE, line))

    def _thoughts(self) -> tuple[str, ...]:
        """All reasoning that the model may repeat, in its own words."""
        request = self._running.request
        frames = (*request.frames, *self._frames.written)
        return (*request.thoughts, *self._running.cut_thoughts, *(frame.body for frame in frames if is_thought(frame.header)))

    async def _answered(self, key: UUID) -> FormAnswer:
        until = self._loop.time() + environment().tool_approval_seconds
        while True:
            self._decided.clear()
            decision, values = await pools.turns.run_with_retries(_answer, key)
            if decision is not Decision.WAITING:
                return FormAnswer(_ACTIONS.get(decision, "cancel"), values)
            seconds_left = until - self._loop.time()
            if seconds_left <= 0:
                # Before pages hear that it does not wait any more: they fetch its card then.
                await writer.run(_lapse_form, key, order=self._turn.pk)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds_left, POLL_SECONDS)):
                    await self._decided.wait()

    def report(self, speaker: str, percent: int | None, words: str) -> None:
        progress = wire.ToolProgress(approval_text(speaker), percent, approval_text(escape(words, is_prose=True)) if words else None)
        self._loop.call_soon_threadsafe(self._on_progress, progress)


_NOT_SHOWN = (
    "Nobody was asked: the questions have text that may be no question to the person. Ask short questions, without markers or reasoning."
)


def _may_hold_reasoning(form: Form, thoughts: tuple[str, ...]) -> bool:
    """Whether an answer with this text would be hidden, in whole or in part: each text of the form, and all of them one behind another."""
    texts = [text for each in form.fields for text in (each.title, *(label for _, label in each.choices)) if text]
    return any(guard.judged(text).has_sign or repeat_in(text, thoughts) != (0, 0) for text in (*texts, " ".join(texts), "\n".join(texts)))


def _questions(form: Form) -> str:
    """The line with what the model asks. It is Markdown, in which nothing of the model's means anything."""
    return " · ".join(f"“{as_plain_markdown(each.title)}”" for each in form.fields if each.title)


def _answers(form: Form, answer: FormAnswer) -> str:
    """The line with what the person answered, in the order of the questions; a dash where they said nothing. It needs no translation."""
    asked = [each for each in form.fields if each.title or each.name in answer.values]
    texts = [one_line(written(answer.values[each.name])) if each.name in answer.values else "" for each in asked]
    return f"→ {' · '.join(as_plain_markdown(text) or '–' for text in texts) if any(texts) else '–'}"


def _store_notice(turn: Turn, key: UUID, kind: CardKind, title: str, content: Mapping[str, str]) -> None:
    _store(turn, ToolApproval(pk=key, kind=kind, title=title, arguments=json.dumps(dict(content)), decision=Decision.NONE))


def _store_form(turn: Turn, key: UUID, speaker: str, form: Form) -> None:
    _store(turn, ToolApproval(pk=key, kind=CardKind.FORM, title=speaker, arguments=form.model_dump_json()))


def _store(turn: Turn, row: ToolApproval) -> None:
    # A turn that has ended may not store anything: its conversation may be about to be erased.
    ledger.check_ours(turn)
    row.turn_id, row.call_id, row.title = turn.pk, f"{row.kind} {row.pk}", row.title[:80]
    row.lapses_at = connections.after(timedelta(seconds=environment().tool_approval_seconds))
    ToolApproval.objects.bulk_create([row], ignore_conflicts=True)


_ACTIONS: Mapping[Decision, Literal["accept", "decline"]] = {Decision.ANSWERED: "accept", Decision.DECLINED: "decline"}


def _answer(key: UUID) -> tuple[Decision, Mapping[str, Any]]:
    """The decision about a form, and what was filled in. A form without a row has lapsed: its conversation was erased."""
    row = ToolApproval.objects.filter(pk=key).only("decision", "answer").first()
    return (Decision.LAPSED, {}) if row is None else (Decision(row.decision), json.loads(row.answer or "{}"))


def _lapse_form(key: UUID) -> None:
    ToolApproval.objects.filter(pk=key, decision=Decision.WAITING).update(decision=Decision.LAPSED, decided_at=connections.now())
