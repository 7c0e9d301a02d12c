"""Only members of the groups of CHATUI_SHARE_GROUPS can create share links, and nobody can read the links of others."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.shares import ShareLink
from chatui.models.user import User
from chatui.permissions import shares
from chatui.permissions.access import NotFoundError
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.support.environment import change
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db


@pytest.fixture
def writers(ada: User) -> Group:
    """Ada is in it, and in another one that may share as well."""
    groups = [Group.objects.create(name=name) for name in ("writers", "editors")]
    ada.groups.set(groups)
    return groups[0]


@pytest.fixture
def leaf(conversation: Conversation, ada: User) -> str:
    """The key of a question in Ada's conversation."""
    row = add_message(conversation, None, Frame(Header("user"), "Why?"), Author.PERSON)
    open_branch(conversation, ada, row)
    return str(row.pk)


@pytest.fixture(autouse=True)
def _for_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"share_groups": ["writers", "editors"]})


def try_to_share(person: User, conversation: Conversation, leaf: str) -> int:
    return signed_in(person).post(f"/c/{conversation.pk}/share/", {"leaf": leaf, "days": "7"}).status_code


def link_to(leaf: str, **fields: datetime) -> ShareLink:
    row = Message.objects.get(pk=leaf)
    person = row.conversation.owner
    return ShareLink.objects.create(token=f"a{uuid4().hex[:21]}", conversation=row.conversation, leaf=row, created_by=person, **fields)


def opens(link: ShareLink) -> bool:
    return Client().get(f"/s/{link.token}/").status_code == 200


def test_members_can_share_and_others_do_not_even_see_where(ada: User, conversation: Conversation, leaf: str) -> None:
    path = f"/c/{conversation.pk}/share/"
    assert try_to_share(ada, conversation, leaf) == 404 and signed_in(ada).get(path).status_code == 404
    assert not ShareLink.objects.exists()
    for page in (f"/c/{conversation.pk}/", "/settings/"):
        assert path not in (text := signed_in(ada).get(page).content.decode()) and 'href="/shares/"' not in text
    ada.groups.add(Group.objects.create(name="writers"))
    assert try_to_share(ada, conversation, leaf) == 302 and opens(ShareLink.objects.get())
    assert path in signed_in(ada).get(f"/c/{conversation.pk}/").content.decode()


def test_a_superuser_is_not_a_member(ada: User, conversation: Conversation, leaf: str) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    assert try_to_share(User.objects.get(pk=ada.pk), conversation, leaf) == 404


@pytest.mark.usefixtures("writers")
def test_a_link_is_suspended_as_soon_as_its_owner_may_not_share(ada: User, conversation: Conversation, leaf: str) -> None:
    assert try_to_share(ada, conversation, leaf) == 302
    link = ShareLink.objects.get()
    assert opens(link), "one link, though its owner is in two such groups"
    ada.groups.clear()
    assert not opens(link)
    ada.groups.set(Group.objects.filter(name="editors"))
    assert opens(link)


def test_a_suspended_link_is_listed_for_its_owner_who_can_revoke_it(
    writers: Group, ada: User, conversation: Conversation, leaf: str
) -> None:
    try_to_share(ada, conversation, leaf)
    ada.groups.clear()
    link, client = ShareLink.objects.get(), signed_in(ada)
    assert "You are not allowed to share at the moment, so nobody can open these links." in client.get("/shares/").content.decode()
    assert client.post(f"/shares/{link.pk}/revoke/", {"conversation": str(conversation.pk)})["Location"] == "/shares/"
    ada.groups.add(writers)
    assert not opens(link), "it was taken back meanwhile"


def test_a_missing_group_lets_nobody_share(ada: User, writers: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"share_groups": ["wrtiers"]})
    assert not shares.may_share(ada)
    change(monkeypatch, {"share_groups": []})
    assert shares.may_share(ada) and not shares.may_share(None)
    for days in (1, 30, -1):
        change(monkeypatch, {"share_groups": [], "share_max_days": days})
        assert shares.may_share(ada), days
    change(monkeypatch, {"share_groups": ["writers"], "share_max_days": 0})
    assert not shares.may_share(ada) and writers.user_set.filter(pk=ada.pk).exists()


ENDS: dict[str, Callable[[ShareLink], object]] = {
    "revoked": lambda link: ShareLink.objects.update(revoked_at=timezone.now()),
    "expired": lambda link: ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1)),
    "older than the operator allows": lambda link: ShareLink.objects.update(created_at=timezone.now() - timedelta(days=31)),
    "in the bin": lambda link: Conversation.objects.update(deleted_at=timezone.now()),
    "temporary": lambda link: Conversation.objects.update(temporary_until=timezone.now() + timedelta(days=1)),
    "of somebody else": lambda link: Conversation.objects.update(owner=User.objects.create_user("carol")),
    "of a deactivated person": lambda link: User.objects.update(is_active=False),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_link_is_read_and_listed_until_it_ends(how: str, ada: User, leaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"share_groups": [], "share_max_days": 30})
    link = link_to(leaf, expires_at=timezone.now() + timedelta(days=1))
    assert shares.share_link(link.token) == link and list(shares.own_share_links(ada)) == [link]
    ENDS[how](link)
    with pytest.raises(NotFoundError):
        shares.share_link(link.token)
    assert not shares.own_share_links(ada).exists()


def test_a_machine_whose_clock_is_slow_opens_no_link_that_has_ended(leaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"share_groups": [], "share_max_days": 30})
    right = timezone.now()
    link = link_to(leaf, expires_at=right - timedelta(minutes=1))
    monkeypatch.setattr(timezone, "now", lambda: right - timedelta(hours=2))
    with pytest.raises(NotFoundError):
        shares.share_link(link.token)


def test_only_the_whole_token_opens_a_link(leaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"share_groups": []})
    link = link_to(leaf)
    assert shares.share_link(link.token) == link
    for token in ("", link.token[:-1], f"{link.token}x", link.token.upper(), str(link.pk)):
        with pytest.raises(NotFoundError):
            shares.share_link(token)


def test_people_list_their_own_links_the_newest_first(ada: User, bela: User, leaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"share_groups": [], "share_max_days": -1})
    older, newer = link_to(leaf), link_to(leaf)
    ShareLink.objects.filter(pk=older.pk).update(created_at=timezone.now() - timedelta(days=4000))
    assert list(shares.own_share_links(ada)) == [newer, older] and not shares.own_share_links(bela).exists()
    change(monkeypatch, {"share_groups": [], "share_max_days": 0})
    assert not shares.own_share_links(ada).exists(), "nobody may share at all"
