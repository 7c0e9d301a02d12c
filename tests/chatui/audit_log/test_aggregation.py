"""Repeated events in the audit log: counters with their sums, and limits on the lines of repeated actions.

The list of debug views and the attempts by person and day count repetitions as well. Of a repeated action, the first lines are listed, and
one says from when on the others are only counted.
"""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chatui.audit_log import aggregation, lines
from chatui.audit_log.aggregation import MAX_NETWORKS, MORE
from chatui.audit_log.lines import LineFilters
from chatui.audit_log.record import SHELL, Visitor, record
from chatui.audit_log.repeated_action import REPORTED_COUNTS, WINDOW_SECONDS, RepeatedAction
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


@pytest.mark.parametrize(
    ("networks", "words"), [(1, ""), (2, "; from 2 networks"), (MAX_NETWORKS + 3, f"; from {MAX_NETWORKS} or more networks")]
)
def test_a_sum_says_from_how_many_networks(networks: int, words: str, view: Callable[..., None]) -> None:
    for number in range(networks):
        view(address=f"192.0.2.{number}")
        view(address="")  # through a Unix socket
    aggregation.close_counter("look:1")
    assert f"{2 * networks} × page{words}; last" in last_detail()


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
    assert [row.sum for row in lines.debug_view_page(LineFilters()).lines if row.number == 1] == [""]


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


def test_after_an_hour_repetitions_are_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.time()
    passed = [0.0]
    monkeypatch.setattr(time, "time", lambda: start + passed[0])
    monkeypatch.setattr(time, "monotonic", lambda: start + passed[0])
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
