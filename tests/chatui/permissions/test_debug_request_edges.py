"""Debug requests at their edges: which of them wait, who finds whose, what closing leaves unchanged, and the lines of decisions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access, debug_requests, debug_views
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
