"""Filters of the audit log in words, and how much of the log a page reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chatui.audit_log import lines
from chatui.audit_log.lines import Filters, Page
from chatui.audit_log.record import SHELL, Visitor, record

KEY = UUID("019ab000-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), "all lines"),
        (Filters(since=datetime(2026, 11, 19, tzinfo=UTC)), "since 2026-11-19 00:00"),
        (Filters(before=datetime(2026, 11, 20, 14, 5, tzinfo=UTC)), "before 2026-11-20 14:05"),
        (Filters(code="E-PERM-VISIBILITY", action="debug page", way="page"), "code E-PERM-VISIBILITY, action debug page, way page"),
        (Filters(conversation=KEY), f"conversation {KEY}"),
        (Filters(person="bela", whose="ada"), "person bela, whose ada"),
    ],
)
def test_filters_in_words_name_what_was_selected(filters: Filters, expected: str) -> None:
    """An export's own line has these words: they say which part of the log somebody has taken."""
    assert str(filters) == expected


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("read", "numbers"),
    [
        (lambda: lines.page(Filters()), [9, 8]),
        (lambda: lines.page(Filters(), below=7), [6, 5]),
        (lambda: lines.page(Filters(), above=3), [5, 4]),
    ],
)
def test_a_page_does_not_read_the_whole_log(read: Callable[[], Page], numbers: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 2)
    for _ in range(9):
        record("act", SHELL)
    with CaptureQueriesContext(connection) as asked:
        assert [line.number for line in read().lines] == numbers
    [query] = [query["sql"] for query in asked if '"chatui_auditevent"."detail"' in query["sql"] and "ORDER BY" in query["sql"]]
    assert query.endswith("LIMIT 3"), "one more than it shows, which says whether there is another page"


@pytest.mark.django_db
def test_the_values_of_a_column_are_found_without_reading_all_lines() -> None:
    for way in ("shell", "page", "shell", "page", "admin"):
        record("act", Visitor(None, "", way))
    with CaptureQueriesContext(connection) as asked:
        assert lines.distinct_values("way") == ["admin", "page", "shell"]
    assert len(asked) == 4 and all(query["sql"].endswith("LIMIT 1") for query in asked)
