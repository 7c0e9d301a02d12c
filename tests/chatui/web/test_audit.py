"""The page of the audit log: access, filters, paging, counts, and logged exports."""

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from chatui.audit_log import lines
from chatui.audit_log.lines import LineFilters
from chatui.audit_log.record import SHELL, Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.web import audit
from chatui.web.audit import FilterForm
from tests.chatui.conftest import OPENING, refuse_log, signed_in
from tests.support.cases import for_each
from tests.support.html_text import collapsed

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(ada: User, grace: User, conversation: Conversation) -> None:
    record("first thing", Visitor(grace, "192.0.2.7", "page"), conversation, detail="words of a reason")
    record("second thing", Visitor(ada, "192.0.2.8", "socket"), conversation.pk, code="E-PERM-VISIBILITY")  # as older versions did
    record("third thing", SHELL, "group readers")


def shown_actions(client: Client, query: str = "", status: int = 200) -> list[str]:
    """The actions in the lines of the page."""
    response = client.get(f"/audit/?{query}")
    assert response.status_code == status
    return re.findall(
        r"<strong>([a-z0-9 ]+)</strong>", response.content.decode().partition('class="audit-lines"')[2].partition("</table>")[0]
    )


@pytest.mark.usefixtures("log")
def test_permitted_staff_read_every_line_newest_first(grace: User) -> None:
    page = signed_in(grace).get("/audit/").content.decode()
    assert shown_actions(signed_in(grace)) == ["third thing", "second thing", "first thing"]
    for expected in (
        "words of a reason",
        "E-PERM-VISIBILITY",
        "192.0.2.8",
        "the operator",
        "group readers",
        "Time (UTC)",
        AuditEvent.objects.get(number=3).hash,
    ):
        assert expected in page


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("person=ada", ["second thing"]),
        ("person=grace&way=page", ["first thing"]),
        ("person=nobody", []),
        ("whose=ada", ["first thing"]),
        ("whose=group+readers", ["third thing"]),
        ("code=E-PERM-VISIBILITY", ["second thing"]),
        ("code=E-NEVER-SEEN", []),
        ("action=first+thing", ["first thing"]),
        ("way=shell", ["third thing"]),
        ("since=2020-01-01&until=2199-01-01", ["third thing", "second thing", "first thing"]),
        ("since=2199-01-01", []),
        ("since=0001-01-01&until=9999-12-31", ["third thing", "second thing", "first thing"]),
        ("until=2020-01-01", []),
        ("below=-1&above=x", ["third thing", "second thing", "first thing"]),
    ],
)
def test_filters(query: str, expected: list[str], grace: User) -> None:
    assert shown_actions(signed_in(grace), query) == expected


def test_the_filter_has_the_old_and_new_action_names_of_the_admin_pages(grace: User) -> None:
    for way in ("office", "admin"):
        record(f"by {way}", Visitor(grace, "192.0.2.7", way))
    client = signed_in(grace)
    page = client.get("/audit/").content.decode()
    assert '<option value="admin">' in page and '<option value="office">' in page
    assert shown_actions(client, "way=office") == ["by office"]
    assert shown_actions(client, "way=admin") == ["by admin"]


def test_paging_works_in_both_directions(grace: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 3)
    for number in range(1, 9):
        record(f"act {number}", Visitor(grace, "", "page"))
    client, seen, address = signed_in(grace), [], "/audit/"
    while address:
        page = client.get(address).content.decode()
        seen.append(re.findall(r"<strong>act (\d)</strong>", page))
        found = re.search(r'href="([^"]+)" rel="next"', page)
        address = found[1].replace("&amp;", "&") if found else ""
    assert seen == [["8", "7", "6"], ["5", "4", "3"], ["2", "1"]]
    record("act 9", Visitor(grace, "", "page"))  # while somebody reads: no line is repeated or skipped
    back = re.search(r'href="([^"]+)" rel="prev"', page)
    assert back and shown_actions(client, back[1].partition("?")[2].replace("&amp;", "&")) == ["act 5", "act 4", "act 3"]


@pytest.mark.usefixtures("log")
def test_attempts_are_counted_by_person_and_day(grace: User, ada: User) -> None:
    for _ in range(2):
        record("debug page", Visitor(ada, "", "page"), code="E-PERM-VISIBILITY")
    record("debug page", Visitor(None, "192.0.2.9", "page"), code="E-PERM-VISIBILITY")
    table = signed_in(grace).get("/audit/").content.decode().partition('class="audit-tallies"')[2].partition("</table>")[0]
    rows = [re.sub(r"<[^>]+>|\s+", " ", row).split()[1:] for row in table.split("<tr>")[2:]]
    assert rows == [["ada", "3"], ["not", "signed", "in", "1"]]


def test_a_view_is_one_row_with_its_counts_and_an_export_has_both_lines(grace: User, conversation: Conversation) -> None:
    client = signed_in(grace)
    assert client.post(f"/c/{conversation.pk}/debug/open/", OPENING).status_code == 302
    for place in ("", "raw/", "raw/"):
        assert client.get(f"/c/{conversation.pk}/debug/{place}").status_code == 200
    assert "so far 1 × page, 2 × raw text; last" in collapsed(client.get("/audit/").content.decode())
    client.post(f"/c/{conversation.pk}/debug/close/")
    page = collapsed(client.get("/audit/").content.decode())
    assert shown_actions(client) == ["open debug view"] and re.search(r"1 × page, 2 × raw text; last \d\d:\d\d:\d\d · line 2", page)
    got = [json.loads(line) for line in client.post("/audit/export/jsonl/", {"whose": "ada"}).content.decode().splitlines()]
    assert [(line["number"], line["action"], line["owner_name"]) for line in got] == [
        (1, "open debug view", "ada"),
        (2, "close debug view", "ada"),
    ]


@pytest.mark.usefixtures("log")
def test_an_export_has_the_filtered_lines_and_is_logged(grace: User) -> None:
    client = signed_in(grace)
    response = client.post("/audit/export/jsonl/", {"person": "grace"}, REMOTE_ADDR="192.0.2.7")
    got = [json.loads(line) for line in response.content.decode().splitlines()]
    assert [(line["number"], line["action"]) for line in got] == [(1, "first thing"), (4, "audit export")]
    assert response["Content-Disposition"].startswith('attachment; filename="audit-log-') and response["Content-Type"].startswith(
        "application/jsonl"
    )
    line = AuditEvent.objects.get(number=4)
    assert (line.actor, line.way, line.address, line.detail) == (grace, "download", "192.0.2.7", "jsonl: person grace")
    rows = list(csv.reader(io.StringIO(client.post("/audit/export/csv/").content.decode())))
    assert [row[0] for row in rows] == ["number", "1", "2", "3", "4", "5"]


@pytest.mark.usefixtures("log")
def test_without_a_log_line_there_is_no_export(grace: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(grace)
    client.raise_request_exception = False
    assert "first thing" in client.post("/audit/export/csv/").content.decode(), "the premise: with the line there is a file"
    refuse_log(monkeypatch)
    response = client.post("/audit/export/csv/")
    assert response.status_code == 500 and "first thing" not in response.content.decode()


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
