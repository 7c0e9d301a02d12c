"""Debug views are recorded at once, their pages and streams are counted, and however they end, a line gives the counts."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import DateTimeField, Value
from django.utils import timezone

from chatui.audit_log import chain
from chatui.audit_log.lines import LineFilters, page
from chatui.audit_log.record import SHELL, RequestCause, Visitor
from chatui.database import connections
from chatui.lifecycle import erasure as lifecycle_erasure
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access, debug_requests
from chatui.store import erasure
from tests.chatui.conftest import make_person, visitor
from tests.support.environment import change
from tests.support.limits import limit, set_limits

pytestmark = pytest.mark.django_db

REASON = "a fault was reported"
START = timezone.now().replace(hour=10, minute=0, second=0, microsecond=0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Ten in the morning, for the process and the database; lets time pass."""
    passed = [START]
    monkeypatch.setattr(timezone, "now", lambda: passed[0])
    monkeypatch.setattr(connections, "now", lambda: Value(passed[0], DateTimeField()))
    monkeypatch.setattr(connections, "after", lambda wait: Value(passed[0] + wait, DateTimeField()))

    def wait(**time: float) -> None:
        passed[0] += timedelta(**time)

    return wait


def open_view(person: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(person), conversation.pk, REASON, 15)


def look(person: User, conversation: Conversation, *actions: str, address: str = "192.0.2.7") -> None:
    for action in actions:
        way = "socket" if action == "debug stream" else "download" if action in limit("chatui.permissions", "DOWNLOADS") else "page"
        access.view_hidden(visitor(person, way, address), conversation.pk, action=action)


def lines() -> list[tuple[str, str, str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("action", "way", "actor_name", "owner_name", "detail"))


OPENED = ("open debug view", "page", "grace", "ada", f"15 min: {REASON}")


def test_a_debug_view_gets_a_line_at_once_and_one_with_counts_when_it_is_closed(
    grace: User, conversation: Conversation, clock: Callable[..., None]
) -> None:
    open_view(grace, conversation)
    assert lines() == [OPENED]
    for _ in range(40):
        clock(seconds=5)
        look(grace, conversation, "debug page", "debug stream", "debug raw frame")
    assert lines() == [OPENED], "no line for each page"
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    detail = f"after line 1: 40 × page, 40 × stream, 40 × raw frame; last {START:%Y-%m-%d} 10:03:20"
    assert lines()[1:] == [("close debug view", "page", "grace", "ada", detail)]
    assert chain.verify().is_intact and CountedLine.objects.get().counts == {}


def test_the_next_access_writes_the_counts_of_expired_views(
    grace: User, bela: User, conversation: Conversation, clock: Callable[..., None]
) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "debug page", "debug page")
    clock(minutes=20)
    with pytest.raises(access.HiddenViewRefusedError):
        access.view_hidden(visitor(bela), conversation.pk, action="debug page")
    detail = f"after line 1: 2 × page; last {START:%Y-%m-%d} 10:00:00"
    assert lines()[1] == ("debug view ended", "server", "grace", "ada", detail)
    assert lines()[2][2] == "bela" and len(lines()) == 3


def test_the_daily_purge_writes_the_counts_of_expired_views(grace: User, conversation: Conversation, clock: Callable[..., None]) -> None:
    open_view(grace, conversation)
    clock(minutes=20)
    call_command("purge")
    assert lines()[1] == ("debug view ended", "server", "grace", "ada", "after line 1: nothing was shown")


def test_a_reopened_view_is_another_debug_view(grace: User, conversation: Conversation, clock: Callable[..., None]) -> None:
    for _ in range(2):
        open_view(grace, conversation)
        look(grace, conversation, "debug page")
    detail = f"after line 1: 1 × page; last {START:%Y-%m-%d} 10:00:00"
    assert lines() == [OPENED, ("debug view ended", "server", "grace", "ada", detail), OPENED]
    assert CountedLine.objects.get(sum_line=None).line == 3


def test_downloads_get_separate_lines_up_to_a_limit_and_the_sum_line_counts_all(
    grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, "chatui.permissions", LISTED_DOWNLOADS=3)
    open_view(grace, conversation)
    for _ in range(5):
        look(grace, conversation, "whole download", "debug page")
    assert [line[:2] for line in lines()] == [OPENED[:2], *[("whole download", "download")] * 3]
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert "5 × whole download, 5 × page" in lines()[-1][4]


def test_a_view_that_continues_from_another_network_gets_a_line_at_once(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    for _ in range(3):
        look(grace, conversation, "debug page", address="198.51.100.1")
    assert lines()[1:] == [("debug page", "page", "grace", "ada", "from another network")]
    assert AuditEvent.objects.get(number=2).address == "198.51.100.1"
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert "3 × page; from 2 networks" in lines()[-1][4]


def test_an_approved_view_starts_with_its_first_page(grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"debug_approval": True})
    vera = make_person("vera", "view_hidden_channels", "view_any_conversation", staff=True)
    open_view(grace, conversation)
    debug_requests.decide(visitor(vera), conversation.pk, DebugRequest.objects.get().pk, approves=True)
    assert not CountedLine.objects.exists(), "nobody has looked yet"
    look(grace, conversation, "debug page", "debug page", "debug stream")
    assert lines()[2:] == [("debug page", "page", "grace", "ada", f"15 min, approved by vera: {REASON}")]
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert lines()[-1][4].startswith("after line 3: 2 × page, 1 × stream; last ")


def test_an_approved_view_stays_open_after_the_approvers_account_was_erased(
    grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"debug_approval": True})
    vera = make_person("vera", "view_hidden_channels", "view_any_conversation", staff=True)
    open_view(grace, conversation)
    debug_requests.decide(visitor(vera), conversation.pk, DebugRequest.objects.get().pk, approves=True)
    lifecycle_erasure.erase(SHELL, vera)
    look(grace, conversation, "debug page")
    assert lines()[-1] == ("debug page", "page", "grace", "ada", f"15 min: {REASON}")


def test_a_closed_account_has_no_open_views_and_no_requests(
    grace: User, hank: User, ada: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Conversation.objects.create(owner=hank)
    for person, row in ((grace, conversation), (hank, own)):
        open_view(person, row)
    change(monkeypatch, {"debug_approval": True})
    asked = Conversation.objects.create(owner=ada)
    open_view(grace, asked)
    debug_requests.close_all_of(grace)
    assert debug_requests.open_view(visitor(grace), conversation) is None and debug_requests.own_request(visitor(grace), asked) is None
    assert debug_requests.open_view(visitor(hank), own) is not None
    assert [line[:3] for line in lines()[3:]] == [("debug view ended", "server", "grace")]


def test_prefetched_and_embedded_pages_show_nothing_and_are_refused(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    for cause in (RequestCause.PREFETCH, RequestCause.EMBEDDED):
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(Visitor(grace, "192.0.2.7", "page", cause), conversation.pk, action="debug page")
    assert [line[1] for line in lines()] == ["page", "prefetch", "another site's page"]
    assert CountedLine.objects.get(line=1).counts == {}
    access.view_hidden(Visitor(grace, "192.0.2.7", "page", RequestCause.LINK), conversation.pk, action="debug page")
    assert CountedLine.objects.get(line=1).counts == {"debug page": 1}, "somebody followed a link"


def test_a_sum_line_survives_the_conversation_and_the_viewer(grace: User, conversation: Conversation, clock: Callable[..., None]) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "debug page")
    erasure.erase_conversation(conversation.pk)
    lifecycle_erasure.erase(SHELL, grace)
    detail = f"after line 1: 1 × page; last {START:%Y-%m-%d} 10:00:00"
    assert lines()[2] == ("debug view ended", "server", "grace", "ada", detail)
    assert chain.verify().is_intact and not CountedLine.objects.exclude(person_id=None).exists()


def test_views_of_an_erased_persons_conversations_get_their_counts_before_erasure(
    ada: User, grace: User, conversation: Conversation
) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "debug page")
    lifecycle_erasure.erase(SHELL, ada)
    actions = [line[0] for line in lines()]
    assert actions == ["open debug view", "account erased", "debug view ended"], "no line is written about them afterwards"
    call_command("purge")
    assert AuditEvent.objects.filter(number__gt=3).exclude(owner_name="").count() == 0 and chain.verify().is_intact


# --- what the page shows ----------------------------------------------------------------------------------------------------------------


def shown(filters: LineFilters | None = None) -> list[tuple[int, str, str, int | None]]:
    return [(line.number, line.action, line.sum, line.sum_number) for line in page(filters or LineFilters()).lines]


def test_a_forged_row_cannot_hide_a_line(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    look(grace, conversation, "whole download")
    CountedLine.objects.filter(line=1).update(sum_line=2)
    assert [number for number, *_ in shown()] == [2, 1]
