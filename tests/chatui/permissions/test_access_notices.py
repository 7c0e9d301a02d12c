"""Owners are notified when staff opened their conversation, if the setting is on, but not who or why."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import debug_requests
from tests.chatui.conftest import make_person, signed_in
from tests.support.environment import change
from tests.support.html_text import collapsed

pytestmark = pytest.mark.django_db

REASON = "a complaint about this answer"
SENTENCE = "A member of staff opened the hidden channels of this conversation on "


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **values: change(monkeypatch, values)


@pytest.fixture
def _notified(set_up: Callable[..., None]) -> None:
    set_up(tell_owners=True)


def opened_by(person: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(Visitor(person, "192.0.2.7", "page"), conversation.pk, REASON)


def page(person: User, conversation: Conversation) -> str:
    response = signed_in(person).get(f"/c/{conversation.pk}/")
    assert response.status_code == 200
    return collapsed(response.content.decode())


@pytest.mark.usefixtures("_notified")
def test_the_owner_is_told_when_but_not_who_or_why(ada: User, grace: User, conversation: Conversation) -> None:
    assert SENTENCE not in page(ada, conversation)
    opened_by(grace, conversation)
    text = page(ada, conversation)
    assert f"{SENTENCE}{timezone.now():%-d %b %Y, %H}:" in text and " UTC." in text
    assert "grace" not in text and REASON not in text


def test_by_default_nobody_is_told(ada: User, grace: User, conversation: Conversation) -> None:
    opened_by(grace, conversation)
    assert SENTENCE not in page(ada, conversation) and "/access-notices/" not in page(ada, conversation).replace(
        "/access-notices/dismiss/", ""
    )
    assert signed_in(ada).get("/access-notices/").status_code == 404


@pytest.mark.usefixtures("_notified")
def test_of_several_accesses_the_last_is_shown(ada: User, grace: User, conversation: Conversation) -> None:
    for person in (grace, grace, make_person("gus", "view_hidden_channels", "view_any_conversation", staff=True)):
        opened_by(person, conversation)
    assert "Staff opened the hidden channels of this conversation 3 times, most recently on " in page(ada, conversation)


@pytest.mark.usefixtures("_notified")
def test_opening_ones_own_debug_view_gives_no_notice(hank: User) -> None:
    own = Conversation.objects.create(owner=hank)
    opened_by(hank, own)
    assert SENTENCE not in page(hank, own) and "No accesses so far." in signed_in(hank).get("/access-notices/").content.decode()


@pytest.mark.usefixtures("_notified")
def test_an_unapproved_request_gives_no_notice(ada: User, grace: User, conversation: Conversation) -> None:
    debug_request = DebugRequest.objects.create(conversation=conversation, person=grace, reason=REASON, minutes=15)
    assert SENTENCE not in page(ada, conversation)
    now = timezone.now()
    DebugRequest.objects.filter(pk=debug_request.pk).update(
        asked_at=now - timedelta(days=1), decided_at=now, expires_at=now + timedelta(minutes=15)
    )
    assert f"{SENTENCE}{now:%-d %b %Y, %H:%M}" in page(ada, conversation), "it was open from the approval on"


@pytest.mark.usefixtures("_notified")
def test_a_dismissed_notice_stays_dismissed_and_in_the_list(ada: User, grace: User, conversation: Conversation) -> None:
    opened_by(grace, conversation)
    assert signed_in(ada).post(f"/c/{conversation.pk}/access-notices/dismiss/")["Location"] == f"/c/{conversation.pk}/"
    assert SENTENCE not in page(ada, conversation)
    listed = signed_in(ada).get("/access-notices/").content.decode()
    assert f"/c/{conversation.pk}/" in listed and "grace" not in listed and REASON not in listed
    opened_by(grace, conversation)
    assert SENTENCE in page(ada, conversation), "the next access is announced again"


@pytest.mark.usefixtures("_notified")
def test_a_deleted_conversation_is_not_listed(ada: User, grace: User, conversation: Conversation) -> None:
    opened_by(grace, conversation)
    assert str(conversation.pk) in signed_in(ada).get("/access-notices/").content.decode()
    Conversation.objects.update(deleted_at=timezone.now())
    assert str(conversation.pk) not in signed_in(ada).get("/access-notices/").content.decode()


ELSEWHERE = "A member of staff opened the hidden channels of one of your conversations on "
PAGES = ("/settings/", "/usage/")


@pytest.mark.usefixtures("_notified")
def test_pages_without_a_conversation_show_the_last_notice_until_it_is_dismissed(
    ada: User, grace: User, conversation: Conversation
) -> None:
    other = Conversation.objects.create(owner=ada, title="Another one")
    client = signed_in(ada)
    assert not any(ELSEWHERE in client.get(path).content.decode() for path in PAGES)
    opened_by(grace, conversation)
    opened_by(grace, other)
    for path in PAGES:
        text = collapsed(client.get(path).content.decode())
        assert ELSEWHERE in text and "Another one" in text and "There is a notice in 1 other conversation." in text
        assert "grace" not in text and REASON not in text and f'name="next" value="{path}"' in text
    left = client.post(f"/c/{other.pk}/access-notices/dismiss/", {"next": "/settings/"})
    assert left.headers["Location"] == "/settings/"
    text = collapsed(client.get("/settings/").content.decode())
    assert ELSEWHERE in text and "Ada's conversation" in text.replace("&#x27;", "'") and "Another one" not in text
    assert client.post(f"/c/{conversation.pk}/access-notices/dismiss/").headers["Location"] == f"/c/{conversation.pk}/"
    assert ELSEWHERE not in client.get("/settings/").content.decode()


@pytest.mark.usefixtures("_notified")
def test_nobody_else_is_told(bela: User, ada: User, grace: User, conversation: Conversation) -> None:
    opened_by(grace, conversation)
    assert ELSEWHERE in signed_in(ada).get("/settings/").content.decode(), "the premise"
    assert ELSEWHERE not in signed_in(bela).get("/settings/").content.decode()
    assert ELSEWHERE not in signed_in(grace).get("/settings/").content.decode()
