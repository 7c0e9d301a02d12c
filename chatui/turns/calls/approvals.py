"""Stores approval requests for tool calls. All but ``decisions`` must run in the writer's transaction; ``decisions`` only reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from chatui.database import clock
from chatui.env import environment
from chatui.models import ToolApproval, ToolRule
from chatui.models.tools.approval import Decision
from chatui.turns import ledger
from chatui.turns.ledger import Job, LeaseLostError


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that the person must approve or decline. ``arguments``: the JSON that the tool would get."""

    key: UUID
    call_id: str
    tool: str
    title: str
    fingerprint: str
    arguments: str = field(repr=False)


def ask(job: Job, wanted: Sequence[PendingCall]) -> dict[str, Decision]:
    """Store the approval requests, and return the decisions by call id: pending, or what the person has settled for the whole conversation.
    Safe to run twice.

    Raises:
        LeaseLostError: the turn has ended, or another process has it.
    """
    if not ledger.is_ours(job):
        raise LeaseLostError
    settled = ToolRule.objects.filter(conversation=job.conversation_id, tool__in={each.tool for each in wanted})
    rules = {rule.tool: rule for rule in settled}
    ToolApproval.objects.bulk_create([_row(job, each, rules.get(each.tool)) for each in wanted], ignore_conflicts=True)
    return decisions(job.turn_id)


def _row(job: Job, wanted: PendingCall, rule: ToolRule | None) -> ToolApproval:
    decision = _first_decision(wanted, rule)
    return ToolApproval(
        pk=wanted.key,
        turn_id=job.turn_id,
        call_id=wanted.call_id,
        tool=wanted.tool,
        title=wanted.title[:80],
        fingerprint=wanted.fingerprint,
        arguments=wanted.arguments if decision is Decision.WAITING else "",
        decision=decision,
        lapses_at=clock.after(timedelta(seconds=environment().tool_approval_seconds)),
    )


def _first_decision(wanted: PendingCall, rule: ToolRule | None) -> Decision:
    if rule is None:
        return Decision.WAITING
    if not rule.is_allowed:
        return Decision.NEVER
    # A tool that changed after it was allowed must be approved again: a server could redefine its tool once people trust it.
    return Decision.RULED if rule.fingerprint == wanted.fingerprint else Decision.WAITING


def decisions(turn_id: UUID) -> dict[str, Decision]:
    """The decision, which may be pending, for each call of a turn that needs approval, by call id."""
    found = ToolApproval.objects.filter(turn=turn_id).values_list("call_id", "decision")
    return {call_id: Decision(decision) for call_id, decision in found}


def lapse(turn_id: UUID) -> dict[str, Decision]:
    """Decline all pending calls, because nothing waits for a decision any more. Returns all decisions, including any made just before."""
    waiting = ToolApproval.objects.filter(turn=turn_id, decision=Decision.WAITING)
    waiting.update(decision=Decision.LAPSED, decided_at=clock.now())
    return decisions(turn_id)
