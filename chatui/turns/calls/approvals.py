"""Stores approval requests for tool calls, and waits for a person's decisions about them.

All storing functions must run in the writer's transaction; ``decisions`` only reads. The bus announces decisions, and polling finds any
that it missed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from chatui import wire
from chatui.database import connections, pools
from chatui.database.writer import writer
from chatui.display import conversation_list
from chatui.env import environment
from chatui.models.keys import new_key
from chatui.models.tools import Decision, ToolApproval, ToolRule
from chatui.models.turn import Turn
from chatui.tools.tool import Tool
from chatui.turns import ledger
from chatui.turns.calls.requested import Requested
from chatui.wire.bus import bus, person


def ask(turn: Turn, wanted: Mapping[UUID, Requested]) -> dict[str, Decision]:
    """Store the approval requests, each with its key, and return the decisions by call id: pending, or what the person has settled for the
    whole conversation. Safe to run twice.

    Raises:
        LeaseLostError: the turn has ended, or another process has it.
    """
    ledger.check_ours(turn)
    settled = ToolRule.objects.filter(conversation=turn.conversation_id, tool__in={call.tool.name for call in wanted.values()})
    rules = {rule.tool: rule for rule in settled}
    rows = [_row(turn, key, call, rules.get(call.tool.name)) for key, call in wanted.items()]
    ToolApproval.objects.bulk_create(rows, ignore_conflicts=True)
    return decisions(turn.pk)


def _row(turn: Turn, key: UUID, call: Requested, rule: ToolRule | None) -> ToolApproval:
    decision, tool = _first_decision(call.tool, rule), call.tool
    return ToolApproval(
        pk=key,
        turn_id=turn.pk,
        call_id=call.call_id,
        tool=tool.name,
        title=tool.shown_title[:80],
        fingerprint=tool.fingerprint,
        arguments=json.dumps(call.arguments) if decision is Decision.WAITING else "",
        receiver=call.receiver[:300] if decision is Decision.WAITING else "",
        decision=decision,
        lapses_at=connections.after(timedelta(seconds=environment().tool_approval_seconds)),
    )


def _first_decision(tool: Tool, rule: ToolRule | None) -> Decision:
    if rule is None:
        return Decision.WAITING
    if not rule.is_allowed:
        return Decision.NEVER
    # A tool that changed after it was allowed must be approved again: a server could redefine its tool once people trust it.
    return Decision.RULED if rule.fingerprint == tool.fingerprint else Decision.WAITING


def decisions(turn_id: UUID) -> dict[str, Decision]:
    """The decision, which may be pending, for each call of a turn that needs approval, by call id."""
    found = ToolApproval.objects.filter(turn=turn_id).values_list("call_id", "decision")
    return {call_id: Decision(decision) for call_id, decision in found}


def lapse(turn_id: UUID) -> dict[str, Decision]:
    """Decline all pending calls, because nothing waits for a decision any more. Returns all decisions, including any made just before."""
    waiting = ToolApproval.objects.filter(turn=turn_id, decision=Decision.WAITING)
    waiting.update(decision=Decision.LAPSED, decided_at=connections.now())
    return decisions(turn_id)


POLL_SECONDS = 2.0
"""How often the database is polled for decisions: while Redis is down, other processes cannot announce them."""
ASK_PATIENCE = 20.0
"""How long, in seconds, asking waits for a locked or unreachable database before the calls are refused."""


class ApprovalWait:
    """Waits for one turn. Call ``settle`` for each round of calls, one round at a time; ``look`` and ``give_up`` at any time."""

    def __init__(self, turn: Turn, on_count: Callable[[int], None]) -> None:
        """``on_count``: a callback that is called with the number of waiting calls, whenever that may have changed."""
        self._turn = turn
        self._on_count = on_count
        self._calls = self._forms = 0
        self._wake = asyncio.Event()
        self.on_look: Callable[[], None] = lambda: None
        """Called when the person has decided about something."""
        self.on_wait: Callable[[], None] = lambda: None
        """Called when the turn begins to wait for the person."""
        self._is_over = False
        self._is_waiting = False

    def look(self) -> None:
        """Check for decisions now: the person has made one."""
        self._wake.set()
        self.on_look()

    def give_up(self) -> None:
        """Decline all waiting calls: the person wants the answer now."""
        self._is_over = True
        self._wake.set()
        writer.post(lapse, self._turn.pk, order=self._turn.pk)
        self.on_look()

    async def settle(self, calls: Sequence[Requested], on_decided: Callable[[Requested, Decision], None]) -> None:
        """Ask about these calls, and call ``on_decided`` with each once it is decided.

        Raises:
            DatabaseBusyError: the person could not be asked.
            CancelledError: the turn ends; the waiting calls are declined.
        """
        waiting = {call.call_id: call for call in calls}
        asked = {new_key(): call for call in calls}
        decided = await writer.run(ask, self._turn, asked, order=self._turn.pk, patience=ASK_PATIENCE)
        until = asyncio.get_running_loop().time() + environment().tool_approval_seconds
        try:
            while _report_decided(waiting, decided, on_decided):
                self._announce(len(waiting))
                decided = await self._next(until)
        finally:
            if waiting:
                # Not awaited, because the turn is ending. Its end is stored after this, since both have the same ``order``.
                writer.post(lapse, self._turn.pk, order=self._turn.pk)
            self._announce(0)

    def set_forms(self, count: int) -> None:
        """Set how many forms wait for the person, beside calls."""
        self._forms = count
        self._announce(self._calls)

    def _announce(self, calls: int) -> None:
        """Pass the number on, and tell all of the person's pages when it begins or ends to wait: they may look at something else."""
        self._calls = calls
        count = calls + self._forms
        self._on_count(count)
        if self._is_waiting != bool(count):
            self._is_waiting = bool(count)
            if self._is_waiting:
                self.on_wait()
            waits = wire.AnswerWaits(str(self._turn.conversation_id), self._is_waiting)
            bus().send(person(self._turn.asked_by_id), conversation_list.message(waits))

    async def _next(self, until: float) -> dict[str, Decision]:
        """The decisions, once something may have changed."""
        seconds_left = until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(seconds_left, POLL_SECONDS))):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        if self._is_over or asyncio.get_running_loop().time() >= until:
            return await writer.run(lapse, self._turn.pk, order=self._turn.pk)
        return await pools.turns.run_with_retries(decisions, self._turn.pk)


def _report_decided(
    waiting: dict[str, Requested], decided: dict[str, Decision], on_decided: Callable[[Requested, Decision], None]
) -> dict[str, Requested]:
    """Take the decided calls out of ``waiting``, and return it. A call without a row is declined: its conversation was erased."""
    for call_id in list(waiting):
        decision = decided.get(call_id, Decision.LAPSED)
        if decision is not Decision.WAITING:
            on_decided(waiting.pop(call_id), decision)
    return waiting
