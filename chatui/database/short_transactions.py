"""Runs long database work as many short transactions, so that other writers get their turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

_MIN_PAUSE_SECONDS = 0.01
_MAX_PAUSE_SECONDS = 0.25


@contextmanager
def short_transaction() -> Iterator[None]:
    """One step of long work: a transaction, followed by a pause as long as it took, of at least 10 ms.

    SQLite has one writer at a time, and waiting writers only poll the lock (at most every 100 ms): without pauses they would wait for the
    last transaction.
    """
    started = time.monotonic()
    with transaction.atomic():
        yield
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(min(max(time.monotonic() - started, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS))
