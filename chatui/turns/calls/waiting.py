"""Waits for a person's decisions about tool calls. The bus announces them, and a poll finds those that it missed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from chatui.database import pools
from chatui.database.writer import writer
from chatui.env import environment
from chatui.models.keys import new_key
from chatui.models.tools.approval import Decision
from chatui.turns.calls import approvals
from chatui.turns.calls.requested import Requested
from chatui.turns.ledger import Job

POLL_SECONDS = 2.0
"""How often the database is asked for a decision: while Redis is away, none arrives from another process."""
ASK_PATIENCE = 20.0
"""How long asking waits for a database that is locked or away, in seconds, before the calls are refused."""


class Waiting:
    """One for each turn. ``settle`` for each round of calls, one after the other; ``look`` and ``give_up`` at any time."""

    def __init__(self, job: Job, told: Callable[[int], None]) -> None:
        """``told``: a callback, called with the number of calls that wait, whenever that changes."""
        self._job = job
        self._told = told
        self._news = asyncio.Event()
        self._is_over = False

    def look(self) -> None:
        """The person has decided something."""
        self._news.set()

    def give_up(self) -> None:
        """The person wants the answer now: what waits is declined."""
        self._is_over = True
        self._news.set()

    async def settle(self, calls: Sequence[Requested], settled: Callable[[Requested, Decision], None]) -> None:
        """Ask about these calls, and call ``settled`` with each once it is decided.

        Raises:
            DatabaseBusyError: nobody could be asked.
            CancelledError: the turn ends; what waits is declined.
        """
        waiting = {call.call_id: call for call in calls}
        asked = [_wanted(call) for call in calls]
        found = await writer.run(approvals.ask, self._job, asked, order=self._job.turn_id, patience=ASK_PATIENCE)
        until = asyncio.get_running_loop().time() + environment().tool_approval_seconds
        try:
            while _settle(waiting, found, settled):
                self._told(len(waiting))
                found = await self._next(until)
        finally:
            if waiting:
                # Nothing waits for this: the turn is ending. What follows it in the same order is the end itself.
                writer.post(approvals.lapse, self._job.turn_id, order=self._job.turn_id)
            self._told(0)

    async def _next(self, until: float) -> dict[str, Decision]:
        """How the calls stand, once something may have changed."""
        left = until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(left, POLL_SECONDS))):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()
        if self._is_over or asyncio.get_running_loop().time() >= until:
            return await writer.run(approvals.lapse, self._job.turn_id, order=self._job.turn_id)
        return await pools.turns.run_patiently(approvals.decisions, self._job.turn_id)


def _settle(
    waiting: dict[str, Requested], found: dict[str, Decision], settled: Callable[[Requested, Decision], None]
) -> dict[str, Requested]:
    """Those that still wait. A call of which there is no row any more is declined: its conversation was erased."""
    for call_id in list(waiting):
        decision = found.get(call_id, Decision.LAPSED)
        if decision is not Decision.WAITING:
            settled(waiting.pop(call_id), decision)
    return waiting


def _wanted(call: Requested) -> approvals.PendingCall:
    tool, shown = call.tool, json.dumps(call.arguments)
    return approvals.PendingCall(new_key(), call.call_id, tool.name, tool.shown_title, tool.fingerprint, shown)
