"""Permanently erases conversations of any length: in short transactions, the newest messages first.

A message is never older than its parent, so all children of a message are deleted before it. Django's own deletion would load every row and
delete them in one transaction, in which nobody else can write; it would follow the chain of messages one by one, up to a thousand.
"""

from __future__ import annotations

import time
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatui.database import connections
from chatui.database.connections import short_transaction
from chatui.database.faults import Refused
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.files import SentDocument, StoredFile
from chatui.models.message import Message, OpenedPage, SearchEntry
from chatui.models.programs import ProgramAnswer, ProgramConversation
from chatui.models.ratings import Rating
from chatui.models.shares import ShareLink
from chatui.models.tools import ToolApproval, ToolCall, ToolRule, ToolSession
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.store import files, uploads
from chatui.store.files import delete_rows
from chatui.usage import counting, settling

BATCH_MESSAGES = 100
"""Messages in one transaction. A turn is deleted with its question, and can contain 4 MB of requests."""


_ANY = Q()
_ROWS_OF_TURN: tuple[type[Model], ...] = (TurnPiece, ToolCall, ToolApproval, OpenedPage, ProgramAnswer, StoredFile)
"""Rows that refer to a turn, and are deleted before it."""


def erase_conversation(key: UUID, *, only_from_bin: bool = False) -> int:
    """Erase a conversation with everything that belongs to it; returns the number of its messages. An interrupted call can be repeated.

    It is in the bin from the first step on, so that nobody sees half of it and no running turn can write; if the process dies, the next
    ``sweep`` continues. ``only_from_bin``: nothing is erased if its owner has restored it meanwhile.
    """
    if not close(key, Q(deleted_at__isnull=False) if only_from_bin else _ANY):
        return 0
    erased = 0
    while taken := _erase_newest(key):
        erased += taken
    if (owner := Conversation.objects.filter(pk=key).values_list("owner", flat=True).first()) is not None:
        # While the conversation exists, the next ``sweep`` can repeat this.
        files.delete_files(owner, StoredFile.objects.filter(conversation=key))
    with short_transaction():
        for rows in _ROWS_OF_TURN:
            delete_rows(rows._default_manager.filter(turn__conversation=key))
        delete_rows(Conversation.collections.through._default_manager.filter(conversation=key))
        for table in (SearchEntry, ActiveLeaf, ShareLink, DebugRequest, ToolRule, ToolSession, ProgramConversation, Turn):
            delete_rows(table.objects.filter(conversation=key))
        delete_rows(Conversation.objects.filter(pk=key))
    return erased


def close(key: UUID, only: Q = _ANY) -> bool:
    """The first step of an erasure: from now on, nobody can read or restore it, and nothing can write into it.

    False if it does not match ``only``, or does not exist.
    """
    with short_transaction():
        _lock_running_turns(key)
        now = timezone.now()
        closed = {"deleted_at": Coalesce("deleted_at", now), "unfinished_until": connections.now()}
        if not Conversation.objects.filter(only, pk=key).update(**closed):
            return False
        running = Turn.objects.filter(conversation=key, state=TurnState.RUNNING)
        for turn in running.select_related("conversation", "question").defer("request"):
            settling.settle(settling.attribution_of(turn), TurnState.STOPPED, [counting.charge_of(turn)])
        running.update(state=TurnState.STOPPED, lease_owner="", finished_at=now)
        delete_rows(TurnPiece.objects.filter(turn__conversation=key))
    return True


def count_expired(before: datetime) -> int:
    """How many conversations were put into the bin before then."""
    return _expired(before).count()


def erase_expired(before: datetime, refused: Refused) -> int:
    """Erase them; returns their number. One that cannot be erased does not stop the others."""
    erased = 0
    for key in list(_expired(before).values_list("pk", flat=True)):
        with refused.one(f"conversation {key}"):
            if _expired(before).filter(pk=key).exists():  # its owner may have restored it meanwhile
                erase_conversation(key, only_from_bin=True)
                erased += 1
    return erased


def close_bin(owner: UUID) -> list[UUID]:
    """The first step of erasing everything in a person's bin, in one statement: nobody can read or restore it any more. Returns the keys.
    ``erase_unfinished`` does the rest, and every server calls it often."""
    with transaction.atomic():
        binned = Conversation.objects.select_for_update(no_key=True).filter(owner=owner, deleted_at__isnull=False, unfinished_until=None)
        keys = list(binned.filter(temporary_until=None).values_list("pk", flat=True))
        Conversation.objects.filter(pk__in=keys).update(unfinished_until=connections.now())
    return keys


def erase_unfinished(seconds: float = float("inf"), refused: Refused | None = None) -> int:
    """Erase conversations of bins that were emptied, and those whose import or erasure died; returns their number. After ``seconds`` no
    further one is started. One that cannot be erased does not stop the others; the next call tries again. Raises DatabaseError in an
    outage."""
    erased, until, refused = 0, time.monotonic() + seconds, refused or Refused()
    for key in list(Conversation.objects.filter(unfinished_until__lte=connections.now()).values_list("pk", flat=True)):
        with refused.one(f"conversation {key} completely"):
            erase_conversation(key)
            erased += 1
        if time.monotonic() >= until:
            break
    return erased


def sweep(refused: Refused | None = None) -> int:
    """Erase what ``erase_unfinished`` finds, and expired pending files; returns the number of conversations."""
    refused = refused or Refused()
    erased = erase_unfinished(refused=refused)
    uploads.sweep(refused)
    return erased


def _expired(before: datetime) -> QuerySet[Conversation]:
    return Conversation.objects.filter(deleted_at__lt=before)


def _lock_running_turns(key: UUID) -> None:
    """Lock the rows of running turns that an erasure writes, in the same order as ending a turn and asking a question: turn, count,
    conversation. Another order could deadlock.
    """
    turns = Turn.objects.select_for_update(of=("self",), no_key=True).filter(conversation=key, state=TurnState.RUNNING)
    settling.lock_counters(set(turns.order_by("pk").values_list("asked_by", flat=True)))


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
        for rows in _ROWS_OF_TURN:
            delete_rows(rows._default_manager.filter(turn__question__in=keys))
        delete_rows(Turn.objects.filter(question__in=keys))
        delete_rows(Message.objects.filter(pk__in=keys))
    return len(keys)
