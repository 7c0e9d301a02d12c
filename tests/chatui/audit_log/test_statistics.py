"""Tallies of audit lines: their order, their columns, and which repetitions belong to a period."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from chatui.audit_log import aggregation
from chatui.audit_log.aggregation import MORE
from chatui.audit_log.lines import Filters, Tally, tallies
from chatui.audit_log.record import SHELL, Visitor, record
from chatui.models.audit import CountedLine
from chatui.models.conversation import Conversation
from chatui.models.user import User

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY, YESTERDAY = "2026-11-20", "2026-11-19"
CODE = "E-PERM-VISIBILITY"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    return lambda moment: monkeypatch.setattr(timezone, "now", lambda: moment)


def visitor(person: User | None) -> Visitor:
    return Visitor(person, "192.0.2.7", "page")


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
    assert tallies(Filters(), by=columns) == expected
    assert tallies(Filters(), by=columns, most=2) == expected[:2]
    assert tallies(Filters(), by=frozenset({"person"})) == [
        Tally(None, "ada", None, 5),
        Tally(None, "bela", None, 4),
        Tally(None, "", None, 1),
    ]
    assert tallies(Filters(person="ada"), by=frozenset({"day"})) == [Tally(TODAY, None, None, 2), Tally(YESTERDAY, None, None, 3)]


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
    assert tallies(Filters(code=CODE), by=by_day) == [Tally(TODAY, None, None, 4), Tally(YESTERDAY, None, None, 1)]
    assert tallies(Filters(code=CODE), by=frozenset({"person", "whose"})) == [Tally(None, "bela", "ada", 5)]
    assert tallies(Filters(code=CODE, since=NOON), by=by_day) == [Tally(TODAY, None, None, 4)], "they may have begun before it"
    assert tallies(Filters(code=CODE, since=NOON + timedelta(seconds=1)), by=by_day) == []
    assert tallies(Filters(code=CODE, person="ada"), by=by_day) == []
    assert tallies(Filters(code=CODE, before=NOON), by=by_day) == [Tally(YESTERDAY, None, None, 1)], "and end after it"
    until = NOON + timedelta(seconds=1)
    assert tallies(Filters(code=CODE, since=NOON, before=until), by=by_day) == [Tally(TODAY, None, None, 4)], "their sum may be later"


def test_the_counts_of_a_debug_view_are_no_attempts(grace: User, conversation: Conversation, clock: Callable[[datetime], None]) -> None:
    clock(NOON)
    line = lambda: record("open debug view", visitor(grace), conversation)  # noqa: E731
    for _ in range(3):
        aggregation.count("look:1", "debug page", visitor(grace), NOON + timedelta(hours=1), line)
    assert tallies(Filters(), by=frozenset({"person"})) == [Tally(None, "grace", None, 1)]
    aggregation.close_counter("look:1")
    assert tallies(Filters(), by=frozenset({"person"})) == [Tally(None, "grace", None, 2)], "its first and its last line"
    assert CountedLine.objects.get().sum_line == 2
