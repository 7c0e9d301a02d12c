"""Implements the interface by which tools speak to the person of a turn. What they say is stored as a card, for the owner alone."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from chatui import wire
from chatui.database import connections, pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.env import environment
from chatui.models.keys import new_key
from chatui.models.tools import CardKind, Decision, ToolApproval
from chatui.models.turn import Turn
from chatui.tools.forms import Form
from chatui.tools.person import Answer
from chatui.tools.replies import in_middle
from chatui.turns import ledger
from chatui.turns.calls.approvals import POLL_SECONDS, Waiting
from chatui.turns.running_turn import LeaseLostError
from renderer.characters import escape
from renderer.gate import approval_text

log = logging.getLogger(__name__)

TOLD_CHARS = 4000
MAX_FORMS = 5
"""The most forms of one turn: a server must not wear a person down."""
MAX_TOLD = 20
"""The most texts of one turn."""
PATIENCE = 20.0
"""How long, in seconds, a text waits for a locked or unreachable database before it is given up."""


class PersonOfTurn:
    """A ``TurnPerson``. Created on the turn's event loop, and used by tools on theirs."""

    def __init__(
        self, turn: Turn, on_told: Callable[[int], None], on_progress: Callable[[wire.ToolProgress], None], waiting: Waiting
    ) -> None:
        """Both are called on the turn's event loop. ``on_told``: after each new text, with the number of texts so far. ``waiting``: is told
        how many forms wait."""
        self._turn = turn
        self._waiting = waiting
        self._forms = 0
        self._one_form = asyncio.Lock()
        self._decided = asyncio.Event()
        waiting.on_look = self._decided.set
        self._on_progress = on_progress
        self._on_told = on_told
        self._loop = asyncio.get_running_loop()
        self._told = 0

    async def tell(self, speaker: str, text: str) -> bool:
        return await self._store(CardKind.TEXT, speaker, {"text": in_middle(text, TOLD_CHARS)})

    async def needs_account(self, tool: str, server: str) -> bool:
        """Offer the person to connect an account at this server, which a call of the tool with this title needs. Returns as ``tell``."""
        return await self._store(CardKind.ACCOUNT, tool, {"server": server})

    async def _store(self, kind: CardKind, title: str, content: Mapping[str, str]) -> bool:
        if self._told >= MAX_TOLD:
            return False
        self._told += 1
        try:
            await writer.run(_store_told, self._turn, new_key(), kind, title, content, order=self._turn.pk, patience=PATIENCE)
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: what a tool said to the person could not be stored", self._turn.pk)
            return False
        self._loop.call_soon_threadsafe(self._on_told, self._told)
        return True

    async def ask(self, speaker: str, form: Form) -> Answer:
        # On the turn's event loop, whose decisions are announced there.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._ask(speaker, form), self._loop))

    async def _ask(self, speaker: str, form: Form) -> Answer:
        self._forms += 1
        if self._forms > MAX_FORMS:
            return Answer("cancel")
        async with self._one_form:
            key = new_key()
            try:
                await writer.run(_store_form, self._turn, key, speaker, form, order=self._turn.pk, patience=PATIENCE)
            except (DatabaseBusyError, LeaseLostError):
                log.warning("turn %s: a form of a tool could not be shown", self._turn.pk)
                return Answer("cancel")
            self._waiting.set_forms(1)
            try:
                return await self._answered(key)
            finally:
                # Not awaited, because the call may be cancelled. It changes nothing if there is an answer.
                writer.post(_lapse_form, key, order=self._turn.pk)
                self._waiting.set_forms(0)

    async def _answered(self, key: UUID) -> Answer:
        until = self._loop.time() + environment().tool_approval_seconds
        while True:
            self._decided.clear()
            decision, values = await pools.turns.run_with_retries(_answer, key)
            if decision is not Decision.WAITING:
                return Answer(_ACTIONS.get(decision, "cancel"), values)
            left = until - self._loop.time()
            if left <= 0:
                return Answer("cancel")
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, POLL_SECONDS)):
                    await self._decided.wait()

    def report(self, speaker: str, percent: int | None, words: str) -> None:
        progress = wire.ToolProgress(approval_text(speaker), percent, approval_text(escape(words)) if words else None)
        self._loop.call_soon_threadsafe(self._on_progress, progress)


def _store_told(turn: Turn, key: UUID, kind: CardKind, title: str, content: Mapping[str, str]) -> None:
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
