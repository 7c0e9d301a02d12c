"""The product's settings, with counts of what a turn takes in the file named by BENCH_COUNTS: SQL statements, calls of functions, writes,
and hand-overs to the event loop.

Beginning and ending transactions is no statement: the cost is in those between. The product itself does not count.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from chatui.database.writer import Writer
from chatui.settings import *  # noqa: F403 - these are the product's settings
from tests.bench.delivery.turn_counts import TurnCounts
from tests.support.cost import Calls

OF_TRANSACTIONS = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")
PUT_SECONDS = 0.05
_counts = TurnCounts(Path(os.environ["BENCH_COUNTS"]))


def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Django calls this around each statement."""
    if not sql.startswith(OF_TRANSACTIONS):
        _counts.add("statements")
    return execute(sql, params, many, context)


def _watch(connection: BaseDatabaseWrapper, **_: object) -> None:
    # The same object connects several times.
    if count not in connection.execute_wrappers:
        connection.execute_wrappers.append(count)


def _counted(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def counting(*arguments: Any, **named: Any) -> Any:
        _counts.add(name)
        return work(*arguments, **named)

    return counting


def _put_often(calls: Calls) -> None:
    while True:
        _counts.put("calls", calls.total)
        time.sleep(PUT_SECONDS)


connection_created.connect(_watch)
Writer.post = _counted("writes", Writer.post)  # type: ignore[method-assign]
_LOOP = asyncio.BaseEventLoop
_LOOP.call_soon_threadsafe = _counted("hand_overs", _LOOP.call_soon_threadsafe)  # type: ignore[assignment,method-assign]
_calls = Calls(with_builtins=True)
threading.Thread(target=_put_often, args=[_calls], daemon=True).start()
threading.setprofile(_calls.watch_this_thread)
_calls.watch_this_thread()
