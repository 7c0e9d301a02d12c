"""Debug views are recorded at once, their pages and streams are counted, and however they end, a line gives the counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from chatui.audit_log import chain
from chatui.audit_log.lines import Filters, page
from chatui.audit_log.record import SHELL, Cause, Visitor
from chatui.erasure import person as erasing
from chatui.models import AuditEvent, Conversation, CountedLine, DebugRequest, User
from chatui.permissions import access, debug_requests, debug_views
from chatui.store import erasure
from tests.chatui.conftest import make_person
from tests.support.environment import change

pytestmark = pytest.mark.django_db

REASON = "a fault was reported"
START = timezone.now().replace(hour=10, minute=0, second=0, microsecond=0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Ten in the morning; lets time pass."""
    passed = [START]
    monkeypatch.setattr(timezone, "now", lambda: passed[0])

    def wait(**time: float) -> None:
        passed[0] += timedelta(**time)

    return wait


def visitor(person: User, way: str = "page", address: str = "192.0.2.7") -> Visitor:
    return Visitor(person, address, way)


def open_view(person: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(person), conversation.pk, REASON, 15)


def look(person: User, conversation: Conversation, *actions: str, address: str = "192.0.2.7") -> None:
    for action in actions:
        way = "socket" if action == "debug stream" else "download" if action in debug_views.DOWNLOADS else "page"
        access.view_hidden(visitor(person, way, address), conversation.pk, action=action)


def lines() -> list[tuple[str, str, str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("action", "way", "actor_name", "owner_name", "detail"))


OPENED = ("open debug view", "page", "grace", "ada", f"15 min: {REASON}")


def test_a_look_is_one_line_at_once_and_one_with_its_pages_and_streams_when_it_is_closed(
    grace: User, conversation: Conversation, clock: Callable[..., None]
) -> None:
    open_view(grace, conversation)
    assert lines() == [OPENED]
    for _ in range(40):
        clock(seconds=5)
        look(grace, conversation, "debug page", "debug stream", "debug raw frame")
    assert lines() == [OPENED], "no line for each page"
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    said = f"after line 1: 40 × page, 40 × stream, 40 × raw frame; last {START:%Y-%m-%d} 10:03:20"
    assert lines()[1:] == [("close debug view", "page", "grace", "ada", said)]
    assert chain.verify().is_intact and CountedLine.objects.get().counts == {}


def test_what_died_is_summed_up_by_whoever_comes_next(
    grace: User, bela: User, conversation: Conversation, clock: Callable[..., None]
) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "debug page", "debug page")
    clock(minutes=20)
    with pytest.raises(access.RefusedError):
        access.view_hidden(visitor(bela), conversation.pk, action="debug page")
    said = f"after line 1: 2 × page; last {START:%Y-%m-%d} 10:00:00"
    assert lines()[1] == ("debug view ended", "server", "grace", "ada", said)
    assert lines()[2][2] == "bela" and len(lines()) == 3


def test_the_daily_purge_sums_up_whatever_nobody_came_to(grace: User, conversation: Conversation, clock: Callable[..., None]) -> None:
    open_view(grace, conversation)
    clock(minutes=20)
    call_command("purge")
    assert lines()[1] == ("debug view ended", "server", "grace", "ada", "after line 1: nothing was shown")


def test_a_view_that_is_opened_again_is_another_look(grace: User, conversation: Conversation, clock: Callable[..., None]) -> None:
    for _ in range(2):
        open_view(grace, conversation)
        look(grace, conversation, "debug page")
    said = f"after line 1: 1 × page; last {START:%Y-%m-%d} 10:00:00"
    assert lines() == [OPENED, ("debug view ended", "server", "grace", "ada", said), OPENED]
    assert CountedLine.objects.get(sum_line=None).line == 3


def test_files_have_lines_of_their_own_up_to_a_number_and_the_sum_has_them_all(
    grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debug_views, "LISTED_DOWNLOADS", 3)
    open_view(grace, conversation)
    for _ in range(5):
        look(grace, conversation, "whole download", "debug page")
    assert [line[:2] for line in lines()] == [OPENED[:2], *[("whole download", "download")] * 3]
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert "5 × whole download, 5 × page" in lines()[-1][4]


def test_a_look_that_goes_on_from_elsewhere_says_from_where_at_once(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    for _ in range(3):
        look(grace, conversation, "debug page", address="198.51.100.1")
    assert lines()[1:] == [("debug page", "page", "grace", "ada", "from another network")]
    assert AuditEvent.objects.get(number=2).address == "198.51.100.1"
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert "3 × page; from 2 networks" in lines()[-1][4]


def test_a_look_that_somebody_approved_begins_with_its_first_page(
    grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"debug_approval": True})
    vera = make_person("vera", "view_hidden_channels", "view_any_conversation", staff=True)
    open_view(grace, conversation)
    debug_requests.decide(visitor(vera), conversation.pk, DebugRequest.objects.get().pk, approves=True)
    assert not CountedLine.objects.exists(), "nobody has looked yet"
    look(grace, conversation, "debug page", "debug page", "debug stream")
    assert lines()[2:] == [("debug page", "page", "grace", "ada", f"15 min, approved by vera: {REASON}")]
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert lines()[-1][4].startswith("after line 3: 2 × page, 1 × stream; last ")


def test_what_a_browser_loads_without_anybody_looking_shows_nothing_and_is_no_look(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    for cause in (Cause.PREFETCH, Cause.EMBEDDED):
        with pytest.raises(access.RefusedError):
            access.view_hidden(Visitor(grace, "192.0.2.7", "page", cause), conversation.pk, action="debug page")
    assert [line[1] for line in lines()] == ["page", "prefetch", "another site's page"]
    assert CountedLine.objects.get(line=1).counts == {}
    access.view_hidden(Visitor(grace, "192.0.2.7", "page", Cause.LINK), conversation.pk, action="debug page")
    assert CountedLine.objects.get(line=1).counts == {"debug page": 1}, "somebody followed a link"


def test_a_sum_survives_the_conversation_and_the_one_who_looked(
    grace: User, conversation: Conversation, clock: Callable[..., None]
) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "debug page")
    erasure.erase_conversation(conversation.pk)
    erasing.erase(SHELL, grace)
    said = f"after line 1: 1 × page; last {START:%Y-%m-%d} 10:00:00"
    assert lines()[2] == ("debug view ended", "server", "grace", "ada", said)
    assert chain.verify().is_intact and not CountedLine.objects.exclude(person_id=None).exists()


def test_looks_at_what_an_erased_person_wrote_are_summed_up_before_they_go(ada: User, grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "debug page")
    erasing.erase(SHELL, ada)
    actions = [line[0] for line in lines()]
    assert actions == ["open debug view", "account erased", "debug view ended"], "no line is written about them afterwards"
    call_command("purge")
    assert AuditEvent.objects.filter(number__gt=3).exclude(owner_name="").count() == 0 and chain.verify().is_intact


# --- what the page shows ----------------------------------------------------------------------------------------------------------------


def shown(filters: Filters | None = None) -> list[tuple[int, str, str, int | None]]:
    return [(line.number, line.action, line.sum, line.sum_number) for line in page(filters or Filters()).lines]


def test_a_look_is_one_row_of_the_page_while_it_lasts_and_afterwards(
    grace: User, conversation: Conversation, clock: Callable[..., None]
) -> None:
    open_view(grace, conversation)
    assert shown() == [(1, "open debug view", "", None)]
    look(grace, conversation, "debug page", "debug stream")
    words = "1 × page, 1 × stream; last 10:00:00"
    assert shown() == [(1, "open debug view", f"so far {words}", None)]
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert shown() == [(1, "open debug view", words, 2)]
    assert shown(Filters(action="close debug view")) == [(2, "close debug view", "", None)], "whoever looks for the other line finds it"


def test_a_line_is_not_hidden_by_a_row_that_somebody_forged(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "whole download")
    CountedLine.objects.filter(line=1).update(sum_line=2)
    assert [number for number, *_ in shown()] == [2, 1]
