"""Permanently erases conversations of any length: in short transactions, the newest messages first.

A message is never older than its parent, so whatever hangs on a message has gone before it. Django's own deletion would read every row
and hold them all in one transaction, in which nobody else writes; from a message on it would follow a chain link by link, up to a thousand.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatui.models import (
    ActiveLeaf,
    Conversation,
    DebugRequest,
    Message,
    OpenedPage,
    ProgramAnswer,
    Rating,
    SearchEntry,
    SentDocument,
    ShareLink,
    StoredFile,
    ToolApproval,
    ToolCall,
    ToolRule,
    Turn,
    TurnPiece,
)
from chatui.models.turn import TurnState
from chatui.store.documents import pending_uploads
from chatui.store.files import storage
from chatui.store.short_transactions import short_transaction
from chatui.usage import estimates, settling

BATCH_MESSAGES = 100
"""In one transaction. A turn can hold 4 MB of what was sent to the model, and goes with its question."""


_EVERY = Q()
_OF_TURN: tuple[type[TurnPiece | ToolCall | ToolApproval | OpenedPage | ProgramAnswer | StoredFile], ...] = (
    TurnPiece,
    ToolCall,
    ToolApproval,
    OpenedPage,
    ProgramAnswer,
    StoredFile,
)
"""What hangs on a turn, and goes before it."""


def erase_conversation(key: UUID, *, only_from_bin: bool = False) -> int:
    """Erase a conversation with all that hangs on it; how many messages it had. A call that was cut off can be made again.

    It is in the bin from the first step on, so that nobody reads half of it, and nothing that still runs in it may write; the next
    ``sweep`` goes on where a process died. ``only_from_bin``: nothing is erased if its owner has taken it out of the bin meanwhile.
    """
    if not close(key, Q(deleted_at__isnull=False) if only_from_bin else _EVERY):
        return 0
    erased = 0
    while taken := _erase_newest(key):
        erased += taken
    _delete_files(key)
    with short_transaction():
        for rows in _OF_TURN:
            delete_rows(rows.objects.filter(turn__conversation=key))
        for table in (SearchEntry, ActiveLeaf, ShareLink, DebugRequest, ToolRule, Turn):
            delete_rows(table.objects.filter(conversation=key))
        delete_rows(Conversation.objects.filter(pk=key))
    return erased


def close(key: UUID, only: Q = _EVERY) -> bool:
    """The first step of an erasure: nobody reads it or takes it out of the bin from now on, and nothing may write into it. False where it
    is not as ``only`` says, or is not there."""
    with short_transaction():
        _hold_running(key)
        now = timezone.now()
        if not Conversation.objects.filter(only, pk=key).update(deleted_at=Coalesce("deleted_at", now), unfinished_until=now):
            return False
        running = Turn.objects.filter(conversation=key, state=TurnState.RUNNING)
        for turn in running.select_related("conversation", "question").defer("request"):
            settling.settle(settling.asked_of(turn), TurnState.STOPPED, [estimates.charge_of(turn)])
        running.update(state=TurnState.STOPPED, lease_owner="", finished_at=now)
        delete_rows(TurnPiece.objects.filter(turn__conversation=key))
    return True


def count_expired(before: datetime) -> int:
    """How many conversations were put into the bin before then."""
    return _expired(before).count()


def erase_expired(before: datetime) -> int:
    """Erase them; how many there were."""
    erased = 0
    for key in list(_expired(before).values_list("pk", flat=True)):
        if _expired(before).filter(pk=key).exists():  # its owner may have taken it out of the bin meanwhile
            erase_conversation(key, only_from_bin=True)
            erased += 1
    return erased


def sweep() -> int:
    """Erase what is half-written or half-erased because its process has died, and files that nobody has sent; how many conversations."""
    abandoned = list(Conversation.objects.filter(unfinished_until__lt=timezone.now()).values_list("pk", flat=True))
    for key in abandoned:
        erase_conversation(key)
    pending_uploads.sweep()
    return len(abandoned)


def delete_rows(rows: QuerySet[Any]) -> int:
    """Delete rows as they are, in one statement and without a look at what refers to them: the database refuses where something does."""
    return rows._raw_delete(rows.db)


def _expired(before: datetime) -> QuerySet[Conversation]:
    return Conversation.objects.filter(deleted_at__lt=before)


def _hold_running(key: UUID) -> None:
    """Lock what an erasure writes of turns that run, in the order in which a turn ends and a question is asked: turn, count, conversation.
    Two that took them in another order would wait for each other, and one would fail."""
    turns = Turn.objects.select_for_update(of=("self",), no_key=True).filter(conversation=key, state=TurnState.RUNNING)
    settling.hold(set(turns.order_by("pk").values_list("asked_by", flat=True)))


def _delete_files(key: UUID) -> None:
    """Those that no turn made, and what was in any of them. While the conversation is there, the next ``sweep`` can do it again."""
    if (owner := Conversation.objects.filter(pk=key).values_list("owner", flat=True).first()) is not None:
        storage.delete_of_conversation(owner, key)


def _erase_newest(key: UUID) -> int:
    with short_transaction():
        newest = Message.objects.filter(conversation=key).order_by("-position")
        keys = list(newest.values_list("pk", flat=True)[:BATCH_MESSAGES])
        delete_rows(Rating.objects.filter(message__in=keys))
        delete_rows(SentDocument.objects.filter(Q(message__in=keys) | Q(end__in=keys)))
        delete_rows(SearchEntry.objects.filter(message__in=keys))
        delete_rows(ActiveLeaf.objects.filter(message__in=keys))
        delete_rows(ShareLink.objects.filter(leaf__in=keys))
        Turn.objects.filter(continued_message__in=keys).update(continued_message=None)
        for rows in _OF_TURN:
            delete_rows(rows.objects.filter(turn__question__in=keys))
        delete_rows(Turn.objects.filter(question__in=keys))
        delete_rows(Message.objects.filter(pk__in=keys))
    return len(keys)
