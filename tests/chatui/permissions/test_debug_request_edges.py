"""Debug requests at their edges: which of them wait, who finds whose, what closing leaves unchanged, and the lines of decisions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access, debug_requests, debug_views
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import make_person
from tests.support.environment import change

pytestmark = pytest.mark.django_db

REASON = "a fault was reported"
LOOKERS = ("view_hidden_channels", "view_any_conversation")


def visitor(person: User, address: str = "192.0.2.7", way: str = "page") -> Visitor:
    return Visitor(person, address, way)


def open_view(person: User, conversation: Conversation) -> DebugRequest:
    """The person's debug view, or their request for one if somebody else must approve it."""
    debug_requests.open_debug_view(visitor(person), conversation.pk, REASON, 15)
    return DebugRequest.objects.filter(person=person, conversation=conversation).latest("asked_at")


@pytest.fixture
def _approval(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"debug_approval": True})


@pytest.fixture
def vera(db: None) -> User:
    """A second person with the same permissions as grace."""
    return make_person("vera", *LOOKERS, staff=True)


@pytest.mark.usefixtures("_approval")
@pytest.mark.parametrize("column", ["decided_at", "closed_at", "expires_at"])
def test_a_request_that_was_decided_closed_or_opened_does_not_wait(
    column: str, grace: User, vera: User, conversation: Conversation
) -> None:
    asked = open_view(grace, conversation)
    assert debug_requests.own_request(visitor(grace), conversation) is not None, "the premise"
    DebugRequest.objects.update(**{column: timezone.now()})
    assert debug_requests.own_request(visitor(grace), conversation) is None
    assert debug_requests.pending_requests(visitor(vera)) == [] and debug_requests.count_to_decide(vera) == 0
    with pytest.raises(NotFoundError):
        debug_requests.decide(visitor(vera), conversation.pk, asked.pk, approves=True)


@pytest.mark.usefixtures("_approval")
def test_people_find_only_their_own_request_and_only_in_its_conversation(
    ada: User, grace: User, vera: User, conversation: Conversation
) -> None:
    asked, other = open_view(grace, conversation), Conversation.objects.create(owner=ada)
    found = debug_requests.own_request(visitor(grace), conversation)
    assert found is not None and (found.id, found.is_own, found.account_permissions) == (str(asked.pk), True, ())
    assert debug_requests.own_request(visitor(vera), conversation) is None
    assert debug_requests.own_request(visitor(grace), other) is None


@pytest.mark.usefixtures("_approval")
def test_people_who_may_view_only_their_own_conversations_still_find_what_they_asked_before(
    grace: User, vera: User, conversation: Conversation
) -> None:
    asked = open_view(grace, conversation)
    open_view(vera, conversation)
    grace.user_permissions.remove(Permission.objects.get(codename="view_any_conversation"))
    left = User.objects.get(pk=grace.pk)
    assert [found.id for found in debug_requests.pending_requests(visitor(left))] == [str(asked.pk)]
    assert debug_requests.count_to_decide(left) == 0


def test_closing_a_view_that_has_expired_changes_and_records_nothing(grace: User, conversation: Conversation) -> None:
    asked = open_view(grace, conversation)
    DebugRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    asked.refresh_from_db()
    assert asked.closed_at is None and AuditEvent.objects.count() == 1


def test_closing_all_views_of_a_person_leaves_the_time_at_which_others_were_closed(grace: User, conversation: Conversation) -> None:
    asked, before = open_view(grace, conversation), timezone.now() - timedelta(minutes=3)
    DebugRequest.objects.update(closed_at=before)
    debug_requests.close_all_of(grace)
    asked.refresh_from_db()
    assert asked.closed_at == before


def test_of_two_open_views_the_one_that_stays_open_longer_counts(grace: User, conversation: Conversation) -> None:
    now = timezone.now()
    for minutes in (20, 200, 2):
        DebugRequest.objects.create(
            conversation=conversation, person=grace, minutes=240, reason=str(minutes), expires_at=now + timedelta(minutes=minutes)
        )
    opened = debug_requests.open_view(visitor(grace), conversation)
    assert opened is not None and opened.reason == "200"


@pytest.mark.parametrize(("left", "seconds"), [(0.5, 0), (1.0, 1), (59.9, 59)])
def test_the_time_that_is_left_is_given_in_whole_seconds(
    left: float, seconds: int, grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    open_view(grace, conversation)
    DebugRequest.objects.update(expires_at=now + timedelta(seconds=left))
    monkeypatch.setattr(timezone, "now", lambda: now)
    opened = debug_requests.open_view(visitor(grace), conversation)
    assert opened is not None and (opened.seconds, opened.approved_by) == (seconds, "")


DETAILS: list[tuple[bool, tuple[str, ...], tuple[str, ...], str]] = [
    (True, (), (), ""),
    (True, ("change_user",), (), " (who asked may change accounts)"),
    (True, (), ("add_user",), " (who approves may change accounts)"),
    (True, ("change_user",), ("add_user",), " (who asked and who approves may change accounts)"),
    (False, ("change_user",), ("add_user",), ""),
]


@pytest.mark.usefixtures("_approval")
@pytest.mark.parametrize(("approves", "of_asker", "of_decider", "words"), DETAILS)
def test_the_line_of_an_approval_says_which_of_the_two_may_change_accounts(
    approves: bool, of_asker: tuple[str, ...], of_decider: tuple[str, ...], words: str, conversation: Conversation
) -> None:
    asker, decider = make_person("olga", *LOOKERS, *of_asker, staff=True), make_person("vera", *LOOKERS, *of_decider, staff=True)
    asked = open_view(asker, conversation)
    (shown,) = debug_requests.pending_requests(visitor(decider))
    assert len(shown.account_permissions) == len(of_asker) + len(of_decider)
    debug_requests.decide(visitor(decider), conversation.pk, asked.pk, approves=approves)
    assert AuditEvent.objects.latest("number").detail == f"for olga{words}: {REASON}"


@pytest.mark.usefixtures("_approval")
def test_nothing_can_be_shown_or_counted_for_a_request_that_waits(grace: User, conversation: Conversation) -> None:
    asked = open_view(grace, conversation)
    with pytest.raises(ValueError, match="not open"):
        debug_views.record_access(visitor(grace), asked, "debug page")
    assert AuditEvent.objects.count() == 1 and not CountedLine.objects.exists()


def test_a_download_from_another_network_is_listed_once_and_by_its_address(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    access.view_hidden(visitor(grace, "198.51.100.1", "download"), conversation.pk, action="whole download")
    access.view_hidden(visitor(grace, "198.51.100.1"), conversation.pk, action="debug page")
    listed = AuditEvent.objects.order_by("number").values_list("action", "address", "detail")[1:]
    assert list(listed) == [("whole download", "198.51.100.1", "")], "the line of the download shows the network already"


def test_an_access_writes_the_counts_of_other_peoples_expired_views(grace: User, vera: User, conversation: Conversation) -> None:
    for person in (grace, vera):
        open_view(person, conversation)
    CountedLine.objects.filter(person_id=vera.pk).update(ends_at=timezone.now() - timedelta(seconds=1))
    access.view_hidden(visitor(grace), conversation.pk, action="debug page")
    assert AuditEvent.objects.latest("number").detail == "after line 2: nothing was shown"


@pytest.mark.parametrize(("most", "minutes"), [(240, 15), (15, 15), (5, 5)])
def test_without_a_chosen_time_a_view_is_open_for_the_shortest(
    most: int, minutes: int, grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"debug_open_minutes": most})
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON)
    asked = DebugRequest.objects.get()
    assert (asked.minutes, asked.expires_at) == (minutes, now + timedelta(minutes=minutes))
    assert AuditEvent.objects.get().detail == f"{minutes} min: {REASON}"


@pytest.mark.usefixtures("_approval")
@pytest.mark.parametrize("approves", [True, False])
def test_a_decision_is_stored_with_its_person_and_time(approves: bool, grace: User, vera: User, conversation: Conversation) -> None:
    asked, now = open_view(grace, conversation), timezone.now()
    debug_requests.decide(visitor(vera), conversation.pk, asked.pk, approves=approves)
    asked.refresh_from_db()
    assert asked.decided_by == vera and asked.decided_at is not None and asked.decided_at >= now
    assert (asked.expires_at is not None, asked.closed_at is not None) == (approves, not approves)


ATTEMPTS: dict[str, Callable[[Visitor, Conversation], object]] = {
    "open debug view": lambda who, row: debug_requests.open_debug_view(who, row.pk, REASON),
    "close debug view": lambda who, row: debug_requests.close_debug_view(who, row.pk),
    "approve debug view": lambda who, row: debug_requests.decide(who, row.pk, row.pk, approves=True),
    "decline debug view": lambda who, row: debug_requests.decide(who, row.pk, row.pk, approves=False),
    "debug page": lambda who, row: access.view_hidden(who, row.pk, action="debug page"),
}


@pytest.mark.parametrize("action", ATTEMPTS)
def test_an_attempt_without_the_permission_is_recorded_as_what_it_was(action: str, ada: User, conversation: Conversation) -> None:
    with pytest.raises(access.RefusedError):
        ATTEMPTS[action](visitor(ada), conversation)
    line = AuditEvent.objects.get()
    assert (line.action, line.code, line.actor, line.owner_name) == (action, "E-PERM-VISIBILITY", ada, "ada")
    assert not DebugRequest.objects.exists()


@pytest.mark.usefixtures("_approval")
def test_an_attempt_to_ask_is_recorded_as_one_and_its_reason_is_not(ada: User, conversation: Conversation) -> None:
    with pytest.raises(access.RefusedError):
        debug_requests.open_debug_view(visitor(ada), conversation.pk, REASON)
    assert list(AuditEvent.objects.values_list("action", "detail")) == [("ask for debug view", "")]
