"""The product's settings, with a count of SQL statements in the file named by BENCH_STATEMENTS.

Beginning and ending transactions is not counted: the cost is in the statements between. The product itself does not count.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from chatui.settings import *  # noqa: F403 - these are the product's settings
from tests.bench.delivery.statement_count import StatementCount

OF_TRANSACTIONS = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")
_count = StatementCount(Path(os.environ["BENCH_STATEMENTS"]))


def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Django calls this around each statement."""
    if not sql.startswith(OF_TRANSACTIONS):
        _count.add()
    return execute(sql, params, many, context)


def _watch(connection: BaseDatabaseWrapper, **_: object) -> None:
    # The same object connects several times.
    if count not in connection.execute_wrappers:
        connection.execute_wrappers.append(count)


connection_created.connect(_watch)
