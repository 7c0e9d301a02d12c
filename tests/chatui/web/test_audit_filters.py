"""The edges of the audit log's page: days, line numbers, the longest export, refused exports, and how long attempts are counted."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from chatui.audit_log.lines import LineFilters
from chatui.audit_log.record import Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from chatui.web import audit
from chatui.web.audit import FilterForm
from tests.chatui.conftest import signed_in
from tests.support.cases import for_each

pytestmark = pytest.mark.django_db


@pytest.fixture
def three_lines(grace: User) -> None:
    for number in ("first", "second", "third"):
        record(f"{number} thing", Visitor(grace, "192.0.2.7", "page"))


@for_each(
    [
        ({}, LineFilters()),
        ({"since": "2026-01-02"}, LineFilters(since=datetime(2026, 1, 2, tzinfo=UTC))),
        ({"until": "2026-01-02"}, LineFilters(before=datetime(2026, 1, 3, tzinfo=UTC))),
        ({"until": "9999-12-30"}, LineFilters(before=datetime(9999, 12, 31, tzinfo=UTC))),
        ({"until": "9999-12-31"}, LineFilters()),
        ({"person": "ada", "whose": "bela", "way": "page"}, LineFilters(person="ada", whose="bela", way="page")),
    ]
)
def test_days_are_whole_days_in_utc_and_the_last_one_is_included(fields: dict[str, str], expected: LineFilters) -> None:
    form = FilterForm(fields)
    assert form.is_valid() and form.filters() == expected


@pytest.mark.usefixtures("three_lines")
@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("below=3", [2, 1]),
        ("below=0003", [2, 1]),
        ("below=%D9%A3", [3, 2, 1]),  # digits of other scripts are no number here
        ("below=%C2%B2", [3, 2, 1]),
        ("below=" + "9" * 18, [3, 2, 1]),
        ("below=" + "9" * 19, [3, 2, 1]),  # no database can compare it
        ("above=2", [3]),
        ("above=3", []),
    ],
)
def test_a_page_begins_at_a_line_number_that_a_database_can_hold(query: str, numbers: list[int], grace: User) -> None:
    response = signed_in(grace).get(f"/audit/?{query}")
    assert response.status_code == 200 and [line.number for line in response.context["lines"]] == numbers


@pytest.mark.usefixtures("three_lines")
def test_an_export_of_exactly_the_most_lines_is_complete_with_its_own_line(grace: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(grace)
    monkeypatch.setattr(audit, "EXPORT_MOST", 3)
    response = client.post("/audit/export/csv/")
    rows = list(csv.reader(io.StringIO(response.content.decode())))
    assert [row[0] for row in rows] == ["number", "1", "2", "3", "4"]
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="audit-log-{timezone.now():%Y-%m-%d}.csv"'
    assert client.post("/audit/export/csv/").status_code == 400, "now it is one line more"
    monkeypatch.setattr(audit, "EXPORT_MOST", 4)
    assert len(client.post("/audit/export/jsonl/").content.splitlines()) == 5


@pytest.mark.usefixtures("three_lines")
def test_an_export_with_an_unknown_format_or_an_invalid_filter_is_refused_without_a_line(grace: User) -> None:
    client = signed_in(grace)
    assert client.post("/audit/export/xml/").status_code == 404
    for fields in ({"since": "never"}, {"conversation": "x"}, {"until": "2026-13-01"}):
        assert client.post("/audit/export/csv/", fields).status_code == 400
    assert client.get("/audit/export/csv/").status_code == 405
    assert AuditEvent.objects.count() == 3
