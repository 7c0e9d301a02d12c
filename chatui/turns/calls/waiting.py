"""Waits for a person's decisions about tool calls. The bus announces them, and polling finds any that it missed."""

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
"""How often the database is polled for decisions: while Redis is down, other processes cannot announce them."""
ASK_PATIENCE = 20.0
"""How long, in seconds, asking waits for a locked or unreachable database before the calls are refused."""


class Waiting:
    """Waits for one turn. Call ``settle`` for each round of calls, one round at a time; ``look`` and ``give_up`` at any time."""

    def __init__(self, job: Job, on_count: Callable[[int], None]) -> None:
        """``on_count``: a callback that is called with the number of waiting calls, whenever that may have changed."""
        self._job = job
        self._on_count = on_count
        self._wake = asyncio.Event()
        self._is_over = False

    def look(self) -> None:
        """Check for decisions now: the person has made one."""
        self._wake.set()

    def give_up(self) -> None:
        """Decline all waiting calls: the person wants the answer now."""
        self._is_over = True
        self._wake.set()

    async def settle(self, calls: Sequence[Requested], on_decided: Callable[[Requested, Decision], None]) -> None:
        """Ask about these calls, and call ``on_decided`` with each once it is decided.

        Raises:
            DatabaseBusyError: the person could not be asked.
            CancelledError: the turn ends; the waiting calls are declined.
        """
        waiting = {call.call_id: call for call in calls}
        asked = [_pending(call) for call in calls]
        found = await writer.run(approvals.ask, self._job, asked, order=self._job.turn_id, patience=ASK_PATIENCE)
        until = asyncio.get_running_loop().time() + environment().tool_approval_seconds
        try:
            while _report_decided(waiting, found, on_decided):
                self._on_count(len(waiting))
                found = await self._next(until)
        finally:
            if waiting:
                # Not awaited, because the turn is ending. Its end is stored after this, since both have the same ``order``.
                writer.post(approvals.lapse, self._job.turn_id, order=self._job.turn_id)
            self._on_count(0)

    async def _next(self, until: float) -> dict[str, Decision]:
        """The decisions, once something may have changed."""
        left = until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(left, POLL_SECONDS))):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        if self._is_over or asyncio.get_running_loop().time() >= until:
            return await writer.run(approvals.lapse, self._job.turn_id, order=self._job.turn_id)
        return await pools.turns.run_with_retries(approvals.decisions, self._job.turn_id)


def _report_decided(
    waiting: dict[str, Requested], found: dict[str, Decision], on_decided: Callable[[Requested, Decision], None]
) -> dict[str, Requested]:
    """The calls that still wait. A call without a row is declined: its conversation was erased."""
    for call_id in list(waiting):
        decision = found.get(call_id, Decision.LAPSED)
        if decision is not Decision.WAITING:
            on_decided(waiting.pop(call_id), decision)
    return waiting


def _pending(call: Requested) -> approvals.PendingCall:
    tool, shown = call.tool, json.dumps(call.arguments)
    return approvals.PendingCall(new_key(), call.call_id, tool.name, tool.shown_title, tool.fingerprint, shown)
