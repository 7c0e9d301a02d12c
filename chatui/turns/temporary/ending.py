"""Erases temporary conversations when their person closes them or when they expire."""

from __future__ import annotations

import logging
import time
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.models import Q

from chatui.delivery import groups
from chatui.delivery.bus import send_from_thread
from chatui.display import list_events
from chatui.models import Conversation
from chatui.store import erasure
from chatui.store.temporary import lifetime
from chatui.tools.python import python_tool

log = logging.getLogger(__name__)

LOG_BUSY_MS = 250
"""How long emptying SQLite's write-ahead log waits for readers, while writers have to wait too."""

_log_is_due = False


def close(row: Conversation) -> None:
    """Erase a temporary conversation that its person has closed. A turn that runs in it can no longer write."""
    _end(row.pk, row.owner_id, Q(temporary_until__isnull=False))
    _empty_log()


def end_overdue(seconds: float = float("inf")) -> int:
    """Erase expired conversations, and those that a process left half-erased. Returns how many were erased. A conversation that has
    meanwhile been saved, or been used for a question, stays.

    After ``seconds`` no further one is started. One that cannot be erased does not stop the others; the next call tries again.
    """
    ended, until = 0, time.monotonic() + seconds
    for key, owner in list(Conversation.objects.filter(lifetime.is_over()).values_list("pk", "owner")):
        try:
            ended += _end(key, owner, lifetime.is_over())
        except DatabaseError as error:
            log.warning("a temporary conversation could not be erased (%s)", type(error).__name__)
        if time.monotonic() >= until:
            break
    if ended or _log_is_due:
        _empty_log()
    return ended


def _end(key: UUID, owner: UUID, only: Q) -> bool:
    if not erasure.close(key, only):
        return False
    # Open pages remove it from view; requests of a page that has not yet received the event are refused.
    send_from_thread(groups.person(owner), list_events.unlisted(key))
    python_tool.forget_from_thread(key)
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
