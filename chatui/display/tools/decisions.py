"""A person allows or declines a waiting tool call. Only the first decision counts, and it is written to the audit log."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from chatui.audit_log.record import Visitor, record
from chatui.database import clock
from chatui.display.tools import cards
from chatui.models import ToolApproval, ToolRule, Turn
from chatui.models.tools.approval import Decision
from chatui.models.turn import TurnState
from chatui.permissions.tools import own_approval

_BY_WORD = {each.value: each for each in (Decision.ONCE, Decision.ALWAYS, Decision.DECLINED, Decision.NEVER)}
_FOR_ALL = (Decision.ALWAYS, Decision.NEVER)


class NotWaitingError(Exception):
    """The call no longer waits, or does not allow this decision. Nothing has changed."""


def decide(visitor: Visitor, conversation_id: UUID, approval_id: UUID, word: str) -> Turn:
    """Decide about a call in the person's own conversation. Returns its turn, whose process must be notified.

    Raises:
        NotFoundError: the call is not in one of their conversations.
        NotWaitingError: it was already decided, its turn has ended, its time is over, or there is no such decision.
    """
    row = own_approval(visitor, conversation_id, approval_id)
    decision = _BY_WORD.get(word)
    # A call that was not shown in full cannot be always allowed.
    if decision is None or (decision is Decision.ALWAYS and cards.card(row).left_out):
        raise NotWaitingError
    with transaction.atomic():
        _decide(row, decision)
        record("tool call decided", visitor, row.turn.conversation, detail=f"{row.tool}: {decision.value}")
    return row.turn


def _decide(row: ToolApproval, decision: Decision) -> None:
    """Store the decision in one statement, so that only one of several simultaneous decisions counts. Its condition is on the row itself,
    which PostgreSQL checks again after it has waited for a lock."""
    running = Turn.objects.filter(pk=OuterRef("turn"), state=TurnState.RUNNING)
    waiting = ToolApproval.objects.filter(Exists(running), decision=Decision.WAITING, lapses_at__gt=clock.now())
    decided = {"decision": decision, "decided_at": clock.now()}
    if not waiting.filter(pk=row.pk).update(**decided):
        raise NotWaitingError
    if decision not in _FOR_ALL:
        return
    is_allowed = decision is Decision.ALWAYS
    ToolRule.objects.update_or_create(
        conversation=row.turn.conversation,
        tool=row.tool,
        defaults={"is_allowed": is_allowed, "fingerprint": row.fingerprint if is_allowed else ""},
    )
    # The decision also applies to the other waiting calls of that tool in the turn.
    same = waiting.filter(turn=row.turn, tool=row.tool, fingerprint=row.fingerprint)
    same.update(**decided)
