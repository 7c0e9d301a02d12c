"""The log is locked before its last line or a counter is read, so that no two processes write the same number or lose a count."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.audit_log import aggregation
from chatui.audit_log import record as audit_log_record
from chatui.audit_log.record import SHELL, record
from chatui.models.audit import AuditEvent, CountedLine


def view() -> None:
    aggregation.count("look:1", "debug page", SHELL, timezone.now() + timedelta(hours=1), lambda: record("open debug view", SHELL))


ACTIONS: dict[str, tuple[Callable[[], None], Callable[[], object]]] = {
    "write a line": (lambda: None, lambda: record("act", SHELL)),
    "open a counter": (lambda: None, view),
    "count": (view, view),
    "close a counter": (view, lambda: aggregation.close_counter("look:1")),
}


@pytest.mark.django_db
@pytest.mark.parametrize("what", ACTIONS)
def test_the_log_is_locked_before_it_is_read(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, act = ACTIONS[what]
    prepare()
    monkeypatch.setattr(audit_log_record, "lock", lambda: connection.cursor().execute("SELECT 'locked'"))
    monkeypatch.setattr(aggregation, "lock", audit_log_record.lock)
    with CaptureQueriesContext(connection) as asked:
        act()
    tables = (AuditEvent._meta.db_table, CountedLine._meta.db_table)
    first = next(query["sql"] for query in asked if "locked" in query["sql"] or any(table in query["sql"] for table in tables))
    assert "locked" in first
