"""Reading the audit log: its filters in words, how much of it a page reads, tallies of its lines, and exports.

Tallies have an order and columns, and repetitions belong to a period. Exports have every hashed column of the selected lines, oldest first,
and no cell that a spreadsheet would calculate.
"""

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.audit_log import aggregation, lines
from chatui.audit_log.aggregation import MORE
from chatui.audit_log.lines import LineFilters, LinePage, Tally, tallies
from chatui.audit_log.record import HASHED_COLUMNS, SHELL, Visitor, record
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.conftest import visitor
from tests.support.audit_lines import digest_of

KEY = UUID("019ab000-0000-7000-8000-000000000001")
VIEWER = Visitor(None, "192.0.2.7", "page")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (LineFilters(), "all lines"),
        (LineFilters(before=datetime(2026, 11, 20, 14, 5, tzinfo=UTC)), "before 2026-11-20 14:05"),
        (LineFilters(code="E-PERM-VISIBILITY", action="debug page", way="page"), "code E-PERM-VISIBILITY, action debug page, way page"),
        (LineFilters(person="bela", whose="ada"), "person bela, whose ada"),
    ],
)
def test_filters_in_words_name_what_was_selected(filters: LineFilters, expected: str) -> None:
    """An export's own line has these words: they say which part of the log somebody has taken."""
    assert str(filters) == expected


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("read", "numbers"),
    [
        (lambda: lines.page(LineFilters()), [9, 8]),
        (lambda: lines.page(LineFilters(), below=7), [6, 5]),
        (lambda: lines.page(LineFilters(), above=3), [5, 4]),
    ],
)
def test_a_page_does_not_read_the_whole_log(read: Callable[[], LinePage], numbers: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 2)
    for _ in range(9):
        record("act", SHELL)
    with CaptureQueriesContext(connection) as asked:
        assert [line.number for line in read().lines] == numbers
    [query] = [query["sql"] for query in asked if '"chatui_auditevent"."detail"' in query["sql"] and "ORDER BY" in query["sql"]]
    assert query.endswith("LIMIT 3"), "one more than it shows, which says whether there is another page"


@pytest.mark.django_db
def test_no_line_is_changed_or_deleted_in_bulk() -> None:
    record("act", Visitor(None, "", "shell"))
    with pytest.raises(TypeError):
        AuditEvent.objects.update(code="")
    with pytest.raises(TypeError):
        AuditEvent.objects.all().delete()


def seen(numbers: int) -> None:
    """A debug view with its line, other lines after it, and its sum line as the last."""
    line = record("open debug view", VIEWER)
    aggregation.open_counter(line, "look:1", None, timezone.now() + timedelta(hours=1))
    for _ in range(numbers):
        record("act", SHELL)
    aggregation.close_counter("look:1", VIEWER)


@pytest.mark.django_db
def test_a_sum_line_is_shown_with_its_first_line_also_on_another_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 3)
    seen(3)
    shown = lines.page(LineFilters())
    assert ([line.number for line in shown.lines], shown.older, shown.newer) == ([4, 3], 3, None)
    older = lines.page(LineFilters(), below=3)
    assert [(line.number, line.sum, line.sum_number) for line in older.lines] == [(2, "", None), (1, "nothing was shown", 5)]
    assert (older.older, older.newer) == (None, 2)
    newer = lines.page(LineFilters(), above=2)
    assert ([line.number for line in newer.lines], newer.older, newer.newer) == ([4, 3], 3, None)


@pytest.mark.django_db
def test_a_page_of_nothing_but_sum_lines_is_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 1)
    seen(0)
    assert [(line.number, line.action) for line in lines.page(LineFilters()).lines] == [(2, "close debug view")]
    assert [line.number for line in lines.page(LineFilters(), below=2).lines] == [1]


@pytest.mark.django_db
def test_without_further_lines_a_page_has_no_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 2)
    for _ in range(4):
        record("act", SHELL)
    found = {
        "newest": lines.page(LineFilters()),
        "oldest": lines.page(LineFilters(), below=3),
        "next newest": lines.page(LineFilters(), above=2),
        "in the middle": lines.page(LineFilters(), above=1),
        "one below": lines.page(LineFilters(), below=4),
        "before all": lines.page(LineFilters(), below=1),
        "after all": lines.page(LineFilters(), above=4),
    }
    assert {name: ([line.number for line in page.lines], page.older, page.newer) for name, page in found.items()} == {
        "newest": ([4, 3], 3, None),
        "oldest": ([2, 1], None, 2),
        "next newest": ([4, 3], 3, None),
        "in the middle": ([3, 2], 2, 3),
        "one below": ([3, 2], 2, 3),
        "before all": ([], None, None),
        "after all": ([], None, None),
    }


@pytest.mark.django_db
def test_each_filter_selects_by_its_own_column(ada: User, grace: User) -> None:
    own, other = (Conversation.objects.create(owner=person) for person in (ada, grace))
    start = datetime(2026, 11, 20, 10, tzinfo=UTC)
    page, socket = Visitor(ada, "192.0.2.7", "page"), Visitor(grace, "192.0.2.7", "socket")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: start)
        record("debug page", page, own, code="E-PERM-VISIBILITY")
        patch.setattr(timezone, "now", lambda: start + timedelta(minutes=1))
        record("debug stream", socket, other)
    first = [
        LineFilters(person="ada"),
        LineFilters(whose="ada"),
        LineFilters(code="E-PERM-VISIBILITY"),
        LineFilters(action="debug page"),
        LineFilters(way="page"),
        LineFilters(conversation=own.pk),
        LineFilters(before=start + timedelta(minutes=1)),
        LineFilters(except_ways=("socket", "download")),
        LineFilters(actor=ada.pk),
    ]
    assert [[row.number for row in lines.rows(each)] for each in first] == [[1]] * len(first)
    assert [row.number for row in lines.rows(LineFilters(since=start + timedelta(minutes=1)))] == [2]
    assert [row.number for row in lines.rows(LineFilters(since=start)).order_by("number")] == [1, 2]
    assert not lines.rows(LineFilters(person="ada", way="socket")).exists()


pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY, YESTERDAY = "2026-11-20", "2026-11-19"
CODE = "E-PERM-VISIBILITY"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    return lambda moment: monkeypatch.setattr(timezone, "now", lambda: moment)


def attempts(person: User, conversation: Conversation, times: int) -> None:
    """Attempts of a person, of which all but the first are only counted."""
    line = lambda: record("debug page", visitor(person), conversation, code=CODE)  # noqa: E731
    for _ in range(times):
        aggregation.count(f"attempt:{person.pk}", MORE, visitor(person), NOON + timedelta(hours=1), line)


def test_the_latest_day_comes_first_then_the_highest_count_then_the_names(ada: User, bela: User, clock: Callable[[datetime], None]) -> None:
    clock(NOON - timedelta(days=1))
    for person in (ada, ada, ada):
        record("act", visitor(person), "x")
    clock(NOON)
    for person, whose in ((bela, "y"), (bela, "x"), (ada, "y"), (ada, "x"), (bela, "z"), (bela, "z")):
        record("act", visitor(person), whose)
    record("act", SHELL)
    expected = [
        Tally(TODAY, "bela", "z", 2),
        Tally(TODAY, "", "", 1),
        Tally(TODAY, "ada", "x", 1),
        Tally(TODAY, "ada", "y", 1),
        Tally(TODAY, "bela", "x", 1),
        Tally(TODAY, "bela", "y", 1),
        Tally(YESTERDAY, "ada", "x", 3),
    ]
    columns = frozenset({"day", "person", "whose"})
    assert tallies(LineFilters(), by=columns) == expected
    assert tallies(LineFilters(), by=columns, most=2) == expected[:2]
    assert tallies(LineFilters(), by=frozenset({"person"})) == [
        Tally(None, "ada", None, 5),
        Tally(None, "bela", None, 4),
        Tally(None, "", None, 1),
    ]
    assert tallies(LineFilters(person="ada"), by=frozenset({"day"})) == [Tally(TODAY, None, None, 2), Tally(YESTERDAY, None, None, 3)]


@pytest.mark.parametrize("is_summed", [True, False])
def test_repetitions_belong_to_the_period_in_which_the_last_one_was(
    is_summed: bool, bela: User, conversation: Conversation, clock: Callable[[datetime], None]
) -> None:
    clock(NOON - timedelta(days=1))
    attempts(bela, conversation, 1)
    clock(NOON)
    attempts(bela, conversation, 4)
    if is_summed:
        clock(NOON + timedelta(hours=2))
        aggregation.close_expired()
    by_day = frozenset({"day"})
    assert tallies(LineFilters(code=CODE), by=by_day) == [Tally(TODAY, None, None, 4), Tally(YESTERDAY, None, None, 1)]
    assert tallies(LineFilters(code=CODE), by=frozenset({"person", "whose"})) == [Tally(None, "bela", "ada", 5)]
    assert tallies(LineFilters(code=CODE, since=NOON), by=by_day) == [Tally(TODAY, None, None, 4)], "they may have begun before it"
    assert tallies(LineFilters(code=CODE, since=NOON + timedelta(seconds=1)), by=by_day) == []
    assert tallies(LineFilters(code=CODE, person="ada"), by=by_day) == []
    assert tallies(LineFilters(code=CODE, before=NOON), by=by_day) == [Tally(YESTERDAY, None, None, 1)], "and end after it"
    until = NOON + timedelta(seconds=1)
    assert tallies(LineFilters(code=CODE, since=NOON, before=until), by=by_day) == [Tally(TODAY, None, None, 4)], "their sum may be later"


def test_the_counts_of_a_debug_view_are_no_attempts(grace: User, conversation: Conversation, clock: Callable[[datetime], None]) -> None:
    clock(NOON)
    line = lambda: record("open debug view", visitor(grace), conversation)  # noqa: E731
    for _ in range(3):
        aggregation.count("look:1", "debug page", visitor(grace), NOON + timedelta(hours=1), line)
    assert tallies(LineFilters(), by=frozenset({"person"})) == [Tally(None, "grace", None, 1)]
    aggregation.close_counter("look:1")
    assert tallies(LineFilters(), by=frozenset({"person"})) == [Tally(None, "grace", None, 2)], "its first and its last line"
    assert CountedLine.objects.get().sum_line == 2


COLUMNS = [*HASHED_COLUMNS, "hash"]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *((f"{sign}1+1", f"'{sign}1+1") for sign in ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")),
        ("  =1+1", "'  =1+1"),
        ("1=1", "1=1"),
        ("", ""),
        (-1, -1),
        (None, None),
    ],
)
def test_no_text_becomes_a_formula(value: object, cell: object) -> None:
    assert lines.safe_cell(value) == cell


def test_a_row_is_quoted_where_it_must_be() -> None:
    assert lines.csv_row(["a", 'b "c"', "d,e", None, 7]) == 'a,"b ""c""","d,e",,7\r\n'


@pytest.mark.django_db
def test_both_formats_have_all_columns_of_the_selected_lines_the_oldest_first(ada: User, conversation: Conversation) -> None:
    for detail in ("=first", "Zoë"):
        record("act", Visitor(ada, "192.0.2.7", "page"), conversation, detail=detail)
    record("other", SHELL)
    selected = LineFilters(action="act")
    read = [json.loads(line) for line in lines.FORMATS["jsonl"](selected)]
    assert [list(line) for line in read] == [COLUMNS] * 2
    assert [(line["number"], line["detail"], line["actor_id"]) for line in read] == [(1, "=first", str(ada.pk)), (2, "Zoë", str(ada.pk))]
    row = AuditEvent.objects.get(number=2)
    assert read[1]["at"] == row.at.isoformat() and read[1]["conversation_id"] == str(conversation.pk)
    assert digest_of([read[1][name] for name in HASHED_COLUMNS]) == read[1]["hash"] == row.hash, "the file can be verified by itself"
    cells = list(csv.reader(StringIO("".join(lines.FORMATS["csv"](selected)), newline="")))
    assert cells[0] == COLUMNS and [dict(zip(COLUMNS, line, strict=True))["detail"] for line in cells[1:]] == ["'=first", "Zoë"]
    assert cells[2] == [str(value) for value in read[1].values()]
    assert "".join(lines.FORMATS["jsonl"](selected)).count("\n") == 2
