"""Implements the interface by which tools speak to the person of a turn. What they say is stored as a card, for the owner alone."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from uuid import UUID

from chatui import wire
from chatui.database import connections
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models.keys import new_key
from chatui.models.tools import CardKind, Decision, ToolApproval
from chatui.models.turn import Turn
from chatui.tools.replies import in_middle
from chatui.turns import ledger
from chatui.turns.running_turn import LeaseLostError
from renderer.characters import escape
from renderer.gate import approval_text

log = logging.getLogger(__name__)

TOLD_CHARS = 4000
MAX_TOLD = 20
"""The most texts of one turn."""
PATIENCE = 20.0
"""How long, in seconds, a text waits for a locked or unreachable database before it is given up."""


class PersonOfTurn:
    """A ``TurnPerson``. Created on the turn's event loop, and used by tools on theirs."""

    def __init__(self, turn: Turn, on_told: Callable[[int], None], on_progress: Callable[[wire.ToolProgress], None]) -> None:
        """Both are called on the turn's event loop. ``on_told``: after each new text, with the number of texts so far."""
        self._turn = turn
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
            await writer.run(_store, self._turn, new_key(), kind, title, content, order=self._turn.pk, patience=PATIENCE)
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: what a tool said to the person could not be stored", self._turn.pk)
            return False
        self._loop.call_soon_threadsafe(self._on_told, self._told)
        return True

    def report(self, speaker: str, percent: int | None, words: str) -> None:
        progress = wire.ToolProgress(approval_text(speaker), percent, approval_text(escape(words)) if words else None)
        self._loop.call_soon_threadsafe(self._on_progress, progress)


def _store(turn: Turn, key: UUID, kind: CardKind, title: str, content: Mapping[str, str]) -> None:
    # A turn that has ended may not store anything: its conversation may be about to be erased.
    ledger.check_ours(turn)
    row = ToolApproval(
        pk=key,
        turn_id=turn.pk,
        kind=kind,
        call_id=f"{kind.value} {key}",
        title=title[:80],
        arguments=json.dumps(dict(content)),
        decision=Decision.NONE,
        lapses_at=connections.now(),
    )
    ToolApproval.objects.bulk_create([row], ignore_conflicts=True)
