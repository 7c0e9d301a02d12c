"""Erases temporary conversations: when their person closes them, or when they expire."""

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
"""How long emptying SQLite's write-ahead log waits for readers: writers wait meanwhile."""

_log_is_due = False


def close(row: Conversation) -> None:
    """Its person has closed it. What runs in it may not write any more."""
    _end(row.pk, row.owner_id, Q(temporary_until__isnull=False))
    _empty_log()


def end_overdue(seconds: float = float("inf")) -> int:
    """Erase those whose time has passed, and what a process left half-erased; how many. One that was saved or asked in meanwhile stays.

    After ``seconds`` no other is begun. One that cannot be erased does not stop the others; the next search finds it again.
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
    # Open pages remove what they show; requests of a page that has not yet got the event are refused.
    send_from_thread(groups.person(owner), list_events.unlisted(key))
    python_tool.forget_from_thread(key)
    erasure.erase_conversation(key)
    return True


def _empty_log() -> None:
    """SQLite overwrites what it deletes, but its write-ahead log has the pages as they were. Tried again where somebody reads them."""
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
