"""Repeated events in the audit log: counters with their sums, and limits on the lines of repeated actions.

The list of debug views and the attempts by person and day count repetitions as well. Of a repeated action, the first lines are listed, and
one says from when on the others are only counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from chatui.audit_log import aggregation, lines
from chatui.audit_log.aggregation import MAX_NETWORKS, MORE, REPORTED_COUNTS, WINDOW_SECONDS, RepeatedAction, RepeatedAttempts
from chatui.audit_log.lines import LineFilters
from chatui.audit_log.record import SHELL, Visitor, record
from chatui.limits import CACHE_ERRORS, Throttle
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.user import User

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def view(grace: User, conversation: Conversation) -> Callable[..., None]:
    """Counts something that was viewed in a debug view."""

    def seen(what: str = "debug page", key: str = "look:1", address: str = "192.0.2.7") -> None:
        visitor = Visitor(grace, address, "page")
        line = lambda: record("open debug view", visitor, conversation, detail="15 min: a fault")  # noqa: E731
        aggregation.count(key, what, visitor, timezone.now() + HOUR, line)

    return seen


def attempt(person: User, conversation: Conversation, key: str = "attempt:1") -> None:
    visitor = Visitor(person, "192.0.2.7", "page")
    line = lambda: record("debug page", visitor, conversation, code="E-PERM-VISIBILITY")  # noqa: E731
    aggregation.count(key, MORE, visitor, timezone.now() + HOUR, line)


def last_detail() -> str:
    return AuditEvent.objects.order_by("-number")[0].detail


def test_a_sum_says_how_often_what_was_viewed(view: Callable[..., None]) -> None:
    for what in ("debug page", "debug page", "debug stream"):
        view(what)
    aggregation.close_counter("look:1")
    assert last_detail().startswith("after line 1: 2 × page, 1 × stream; last 20"), "the first view is counted"


def test_a_sum_with_many_kinds_is_cut_to_its_column(view: Callable[..., None]) -> None:
    """Otherwise a debug view with many kinds of views could not be closed on a database that checks lengths."""
    for number in range(30):
        view(f"debug something {number}")
    aggregation.close_counter("look:1")
    assert len(last_detail()) == 200 and last_detail().startswith("after line 1: 1 × something 0, 1 × something 1")


@pytest.mark.parametrize(
    ("networks", "words"), [(1, ""), (2, "; from 2 networks"), (MAX_NETWORKS + 3, f"; from {MAX_NETWORKS} or more networks")]
)
def test_a_sum_says_from_how_many_networks(networks: int, words: str, view: Callable[..., None]) -> None:
    for number in range(networks):
        view(address=f"192.0.2.{number}")
        view(address="")  # through a Unix socket
    aggregation.close_counter("look:1")
    assert f"{2 * networks} × page{words}; last" in last_detail()


def test_a_debug_view_in_which_nothing_was_viewed_gets_a_last_line_as_well(grace: User, conversation: Conversation) -> None:
    visitor = Visitor(grace, "192.0.2.7", "page")
    aggregation.open_counter(record("open debug view", visitor, conversation), "look:1", grace, timezone.now() + HOUR)
    assert aggregation.counts_after([1]) == {} == aggregation.attempts_after()
    closed = aggregation.close_counter("look:1", Visitor(grace, "192.0.2.8", "socket"))
    assert closed is not None and aggregation.close_counter("look:1") is None
    assert (closed.action, closed.way, closed.address, closed.detail) == (
        "close debug view",
        "socket",
        "192.0.2.8",
        "after line 1: nothing was shown",
    )
    assert (closed.actor_name, closed.owner_name, closed.conversation_id) == ("grace", "ada", conversation.pk)


def test_expired_counters_are_closed_oldest_first_up_to_a_limit(view: Callable[..., None]) -> None:
    for number in range(3):
        view(key=f"look:{number}")
        CountedLine.objects.filter(key=f"look:{number}").update(ends_at=timezone.now() - timedelta(minutes=number))
    view(key="look:open")
    aggregation.close_expired(most=2)
    assert list(CountedLine.objects.filter(sum_line=None).order_by("line").values_list("line", flat=True)) == [1, 4]
    aggregation.close_expired()
    assert CountedLine.objects.get(sum_line=None).key == "look:open" and aggregation.is_open("look:open")
    assert AuditEvent.objects.filter(action="debug view ended", way="server", address="").count() == 3


def test_the_counters_of_a_person_and_about_their_conversations_are_closed_before_they_are_erased(
    view: Callable[..., None], ada: User, bela: User, conversation: Conversation
) -> None:
    other = Conversation.objects.create(owner=bela)
    attempt(ada, other, "by ada")
    attempt(ada, other, "by ada")
    view(key="about ada")
    attempt(bela, other, "neither")
    aggregation.close_all_of(ada)
    assert list(CountedLine.objects.filter(sum_line=None).values_list("key", flat=True)) == ["neither"]
    assert [line.detail.partition(";")[0] for line in AuditEvent.objects.filter(detail__startswith="after line").order_by("number")] == [
        "after line 1: 1 more",
        "after line 2: 1 × page",
    ]


def test_only_open_counters_are_counted_for_a_person(grace: User, ada: User, view: Callable[..., None]) -> None:
    for key in ("look:1", "look:2", "look:3", "other:1"):
        view(key=key)
    CountedLine.objects.filter(key="look:1").update(ends_at=timezone.now())
    aggregation.close_counter("look:2")
    assert (aggregation.count_open(grace, "look:"), aggregation.count_open(ada, "look:")) == (1, 0)


def test_the_attempts_of_a_sum_are_read_from_its_detail() -> None:
    moment = datetime.fromisoformat("2026-11-20T10:14:03+00:00")
    for words in ("7 more", "7 more; from 3 networks", "7 more on other conversations; from 20 or more networks"):
        assert aggregation.attempts_in(f"after line 12: {words}; last 2026-11-20 10:14:03") == RepeatedAttempts(7, moment)
    for other in ("after line 12: 7 × page; last 2026-11-20 10:14:03", "after line 12: nothing was shown", "7 more; last", ""):
        assert aggregation.attempts_in(other).number == 0


def test_attempts_are_counted_on_the_day_of_the_last_one_and_their_sum_line_is_not(
    bela: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = timezone.now().replace(hour=12)
    counted = LineFilters(code="E-PERM-VISIBILITY")
    monkeypatch.setattr(timezone, "now", lambda: noon - timedelta(days=1))
    for _ in range(3):
        attempt(bela, conversation)
    yesterday = f"{timezone.now():%Y-%m-%d}"
    for close in (lambda: None, aggregation.close_expired):
        monkeypatch.setattr(timezone, "now", lambda: noon)
        close()
        tallies = lines.tallies(counted, by=frozenset({"day", "person", "whose"}))
        assert [(tally.day, tally.person, tally.whose, tally.times) for tally in tallies] == [(yesterday, "bela", "ada", 3)]
    assert AuditEvent.objects.count() == 2, "the premise: the sum has a line, of today"
    assert lines.tallies(LineFilters(code=counted.code, since=noon), by=frozenset({"person"})) == []


def test_debug_views_are_listed_page_by_page_without_refused_attempts(
    view: Callable[..., None], bela: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "PAGE_LINES", 2)
    for number in range(4):
        view(key=f"look:{number}")
    attempt(bela, conversation)
    attempt(bela, conversation)
    record("another line", Visitor(bela, "192.0.2.7", "page"), conversation)
    aggregation.close_counter("look:3")
    pages = [lines.debug_view_page(LineFilters())]
    while pages[-1].older is not None:
        pages.append(lines.debug_view_page(LineFilters(), pages[-1].older))
    assert [[found.number for found in page.lines] for page in pages] == [[4, 3], [2, 1]]
    assert lines.count(LineFilters()) == 4 and lines.count(LineFilters(person="bela")) == 0
    closed, still_open = pages[0].lines
    assert (closed.actor_name, closed.owner_name, closed.conversation_id, closed.detail) == (
        "grace",
        "ada",
        conversation.pk,
        "15 min: a fault",
    )
    assert closed.sum.startswith("1 × page; last") and still_open.sum.startswith("so far 1 × page; last")


def test_a_counter_that_names_a_wrong_sum_line_adds_nothing_to_a_line(view: Callable[..., None], bela: User) -> None:
    """Whoever can change the table of counters cannot put other words beside a line of the log."""
    view()
    record("act", Visitor(bela, "192.0.2.7", "page"), detail="after line 9: 1 × page")
    CountedLine.objects.update(sum_line=2, key=None)
    assert aggregation.counts_after([1]) == {}


def test_a_repetition_at_the_end_of_the_counted_time_starts_anew(
    view: Callable[..., None], bela: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: start)
    view()
    attempt(bela, conversation)
    attempt(bela, conversation)
    monkeypatch.setattr(timezone, "now", lambda: start + HOUR)
    view()
    attempt(bela, conversation)
    details = list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))
    assert [detail.partition(";")[0] for detail in details] == [
        "15 min: a fault",
        "",
        "after line 1: 1 × page",
        "15 min: a fault",
        "after line 2: 1 more",
        "",
    ]
    assert [row.counts for row in CountedLine.objects.filter(sum_line=None).order_by("line")] == [{"debug page": 1}, {}]


def test_a_repetition_is_numbered_and_a_network_is_new_once(grace: User, conversation: Conversation) -> None:
    visitors = [
        Visitor(grace, address, "page")
        for address in ("192.0.2.7", "192.0.2.7", "192.0.2.8", "192.0.2.8", "", "2001:db8::1", "2001:db8::2")
    ]
    line = lambda: record("open debug view", visitors[0], conversation)  # noqa: E731
    found = [aggregation.count("look:1", "debug page", each, timezone.now() + HOUR, line) for each in visitors]
    assert [each and (each.number, each.is_new_network) for each in found] == [
        None,
        (2, False),
        (3, True),
        (4, False),
        (5, False),
        (6, True),
        (7, False),
    ]


def test_attempts_on_other_conversations_add_up_with_the_others(bela: User, conversation: Conversation) -> None:
    visitor = Visitor(bela, "192.0.2.7", "page")
    line = lambda: record("debug page", visitor, conversation, code="E-PERM-VISIBILITY")  # noqa: E731
    for what in (MORE, MORE, aggregation.MORE_ELSEWHERE, aggregation.MORE_ELSEWHERE):
        aggregation.count("attempt:1", what, visitor, timezone.now() + HOUR, line)
    assert [found.number for found in aggregation.attempts_after().values()] == [3]
    closed = aggregation.close_counter("attempt:1")
    assert closed is not None and closed.detail.startswith("after line 1: 1 more, 2 more on other conversations; last ")
    assert (closed.conversation_id, closed.owner_name, closed.code, closed.way) == (None, "", "E-PERM-VISIBILITY", "page")
    assert aggregation.attempts_after() == {}


def test_the_line_of_a_counter_is_found_among_others(view: Callable[..., None]) -> None:
    view(key="look:1")
    view(key="look:2")
    aggregation.close_counter("look:1")
    assert aggregation.is_open("look:2") and not aggregation.is_open("look:1")
    assert aggregation.sum_lines_among([1, 2, 3]) == {3: 1} and aggregation.sum_lines_among([1, 2]) == {}
    assert aggregation.counts_after([1]) == {1: (last_detail().partition(": ")[2], 3)}
    (so_far,) = aggregation.counts_after([2, 3]).items()
    assert so_far[0] == 2 and so_far[1][0].startswith("so far 1 × page; last ") and so_far[1][1] is None
    assert not aggregation.is_sum_of(last_detail(), 11) and not aggregation.is_sum_of(f"x{last_detail()}", 1)


def details() -> list[str]:
    return list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))


def test_further_repetitions_of_one_key_are_only_counted() -> None:
    action = RepeatedAction("knock", per_key=2, total=10)
    for _ in range(6):
        action.record(SHELL, "ada", "ada", "wrong password")
    assert details() == ["wrong password", "wrong password", "wrong password, further ones are only counted"]
    action.record(SHELL, "bela", "bela")
    assert details()[3:] == [""], "another key is listed"
    assert set(AuditEvent.objects.values_list("action", "owner_name")) == {("knock", "ada"), ("knock", "bela")}


def test_large_counts_of_one_key_are_reported() -> None:
    action = RepeatedAction("knock", per_key=1, total=10)
    for _ in range(REPORTED_COUNTS[0] + 1):
        action.record(SHELL, "ada")
    assert details() == ["", "further ones are only counted", "100 times within the hour"]


def test_all_keys_together_have_a_limit() -> None:
    action = RepeatedAction("knock", per_key=2, total=3)
    for number in range(6):
        action.record(SHELL, f"person{number}")
    assert details() == ["", "", "", "further ones, of anybody, are not listed"]


def test_repetitions_that_are_only_counted_do_not_use_up_the_limit_for_all() -> None:
    action = RepeatedAction("knock", per_key=1, total=3)
    for _ in range(20):
        action.record(SHELL, "ada")
    action.record(SHELL, "bela")
    assert details() == ["", "further ones are only counted", ""]


def test_actions_are_counted_separately() -> None:
    for name in ("knock", "knock twice"):
        RepeatedAction(name, per_key=1, total=1).record(SHELL, "ada")
    assert details() == ["", ""]


def test_after_an_hour_repetitions_are_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.time()
    passed = [0.0]
    monkeypatch.setattr(time, "time", lambda: start + passed[0])
    action = RepeatedAction("knock", per_key=1, total=2)
    for seconds in (0, 1, WINDOW_SECONDS - 1, WINDOW_SECONDS + 1):
        passed[0] = seconds
        action.record(SHELL, "ada")
    assert details() == ["", "further ones are only counted", ""]


def test_while_repetitions_cannot_be_counted_each_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the cache may not hide what people do."""
    action = RepeatedAction("knock", per_key=1, total=1)

    def unreachable(*arguments: object) -> int:
        raise next(iter(CACHE_ERRORS))

    monkeypatch.setattr(Throttle, "count", unreachable)
    for _ in range(3):
        action.record(SHELL, "ada", "ada", "wrong password")
    assert details() == ["wrong password"] * 3


def test_large_counts_are_not_reported_beyond_the_limit_for_all() -> None:
    action, other = RepeatedAction("knock", per_key=1, total=2), RepeatedAction("ring", per_key=0, total=5)
    for _ in range(REPORTED_COUNTS[0] + 1):
        action.record(SHELL, "ada", detail="x")
    assert details() == ["x", "x, further ones are only counted", "x, further ones, of anybody, are not listed"]
    other.record(SHELL, "ada")
    assert details()[3:] == ["further ones are only counted"]
