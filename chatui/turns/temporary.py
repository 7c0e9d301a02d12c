"""Temporary conversations: keeps track of whether their page is still open, and keeps or erases them.

One is erased when its person closes it or when it expires. One that is kept gets a title, and is added to its person's list.

A temporary conversation is in no list. Its page tells ``web.temporary`` that it was left or opened again; ``store.temporary`` has the time
of its end.
"""

from __future__ import annotations

import time
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from chatui import wire
from chatui.database.faults import Refused
from chatui.display import conversation_list
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.store import erasure, temporary, titles, transcripts
from chatui.turns.calls import file_access

LOG_BUSY_MS = 250
"""How long emptying SQLite's write-ahead log waits for readers, while writers have to wait too."""

_log_is_due = False


def close(row: Conversation) -> None:
    """Erase a temporary conversation that its person has closed. A turn that runs in it can no longer write."""
    _end(row.pk, row.owner_id, Q(temporary_until__isnull=False))
    _empty_log()


def end_overdue(seconds: float = float("inf"), refused: Refused | None = None) -> int:
    """Erase expired conversations, and those that a process left half-erased. Returns how many were erased. A conversation that has
    meanwhile been saved, or been used for a question, stays.

    After ``seconds`` no further one is started. One that cannot be erased does not stop the others; the next call tries again. Raises
    DatabaseError in an outage.
    """
    ended, until, refused = 0, time.monotonic() + seconds, refused or Refused()
    for key, owner in list(Conversation.objects.filter(temporary.is_over()).values_list("pk", "owner")):
        with refused.one(f"temporary conversation {key}"):
            ended += _end(key, owner, temporary.is_over())
        if time.monotonic() >= until:
            break
    if ended or _log_is_due:
        _empty_log()
    return ended


def is_log_due() -> bool:
    """Whether ``end_overdue`` is to empty SQLite's write-ahead log, in which pages of something erased are left."""
    return _log_is_due


def _end(key: UUID, owner: UUID, only: Q) -> bool:
    if not erasure.close(key, only):
        return False
    # Open pages remove it from view; requests of a page that has not yet received the event are refused.
    conversation_list.tell(owner, wire.Unlisted(str(key)))
    file_access.forget_from_thread(key)
    erasure.erase_conversation(key)
    return True


def _empty_log() -> None:
    """Empty SQLite's write-ahead log: SQLite overwrites deleted rows, but the log still contains the old pages. If readers prevent it, the
    next call of ``end_overdue`` tries again."""
    global _log_is_due
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        (before,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {LOG_BUSY_MS}")
        try:
            _log_is_due = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(before)}")


def keep(row: Conversation) -> bool:
    """Make it an ordinary conversation. Returns False while an answer is being written in it, because search would not find that answer."""
    with transaction.atomic():
        # Locked, because otherwise it could be erased at the same moment.
        locked = Conversation.objects.select_for_update(no_key=True).filter(pk=row.pk, temporary_until__isnull=False, deleted_at=None)
        if locked.first() is None or Turn.objects.filter(conversation=row, state=TurnState.RUNNING).exists():
            return False
        first = Turn.objects.filter(conversation=row).select_related("question").order_by("started_at").first()
        row.title = titles.first_title(transcripts.frame_of(first.question).body) if first else ""
        row.temporary_until = None
        row.save(update_fields=["title", "temporary_until"])
        temporary.index_all(row)
    return True


def leave(row: Conversation) -> bool:
    """The page was left: the conversation expires in a minute, unless the page is opened again before that."""
    temporary.leave(row)
    return True


def stay(row: Conversation) -> bool:
    """The page is open, so the conversation stays. Does nothing for a conversation that is not temporary."""
    temporary.stay(row)
    return True


def sign_out(person: User) -> None:
    """The person has signed out. Their pages can no longer report that they were left, so all count as left."""
    temporary.leave_all(person)
