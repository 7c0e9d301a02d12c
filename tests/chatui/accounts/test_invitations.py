"""Invitations: a link creates one account, in the group that it was created for, and stops working when it should."""

import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.invitations import Invitation
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure, start_sign_in
from tests.chatui.accounts.conftest import provider as provider
from tests.chatui.accounts.scripted_provider import ScriptedProvider
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support.people import are_linked, invite

INVITE = "/manage/people/invite/"
NEW = {"username": "nora", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def asker(db: None) -> User:
    """Looks after accounts."""
    return make_person("olga", "add_user", "change_user", "view_user", staff=True)


@pytest.fixture
def readers(db: None) -> Group:
    """A group without permissions."""
    return Group.objects.create(name="readers")


def link_by(maker: User, group: Group | None = None, **sent: object) -> str:
    form = {"people": "Nora", "group": str(group.pk) if group else "", "days": "7"} | sent
    page = signed_in(maker).post(INVITE, form).content.decode()
    found = re.search(r">http://testserver(/invitation/[^<]+)<", page)
    assert found, page
    return found[1]


def test_an_invited_person_creates_an_account_and_is_signed_in(asker: User, readers: Group) -> None:
    path = link_by(asker, readers)
    client = Client()
    assert "olga" in client.get(path).content.decode() and Client().get(path).status_code == 200, "looking does not use it up"
    assert client.post(path, NEW | {"password2": "another"}).status_code == 200 and not User.objects.filter(username="nora").exists()
    assert client.post(path, NEW)["Location"] == "/" and client.get("/").status_code == 200
    nora = User.objects.get(username="nora")
    assert list(nora.groups.all()) == [readers] and not nora.is_staff and nora.check_password(PASSWORD)
    row = Invitation.objects.get()
    assert row.used_by == nora and row.used_at
    actions = list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))
    assert actions == [
        ("make invitation", "", "for 7 days, to group readers"),
        ("use invitation", "nora", "made by olga, to group readers"),
        ("sign in", "", "by invitation"),
    ]
    assert are_linked(asker, nora)
    assert Client().get(path).status_code == 404 and Client().post(path, NEW | {"username": "two"}).status_code == 404


def test_a_used_link_says_so_to_whoever_has_all_of_it_and_leads_to_the_sign_in(asker: User, ada: User) -> None:
    path = link_by(asker)
    other = f"{path.rpartition('/')[0][:-1]}{'b' if path[-2] == 'a' else 'a'}/"
    assert Client().post(path, NEW).status_code == 302
    used, wrong, own = (each.content.decode() for each in (Client().get(path), Client().get(other), signed_in(ada).get(path)))
    assert "This link was used." in used and "Then sign in." in used and 'href="/sign-in/"' in used and "nora" not in used
    assert "This link was used." not in wrong and "never existed" in wrong and 'href="/sign-in/"' in wrong
    assert "This link was used." in own and "Back to your conversations" in own and 'href="/sign-in/"' not in own
    assert {Client().get(path).status_code for _ in range(20)} == {404}, "who has it guesses nothing"


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_machine_with_a_wrong_clock_neither_shortens_nor_extends_a_link(hours: int, asker: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    path = invite(asker, days=1)
    assert timedelta(hours=23) < Invitation.objects.get().expires_at - datetime.now(UTC) <= timedelta(hours=24)
    for minutes, status in ((-1, 404), (1, 200)):
        Invitation.objects.update(expires_at=datetime.now(UTC) + timedelta(minutes=minutes))
        assert Client().get(path).status_code == status


@pytest.mark.parametrize("ending", ["time", "revoked", "maker closed", "maker deleted", "group deleted", "another group", "another token"])
def test_a_link_stops_working(ending: str, asker: User, readers: Group) -> None:
    path = link_by(asker, readers)
    assert Client().get(path).status_code == 200, "the premise"
    match ending:
        case "time":
            Invitation.objects.update(expires_at=timezone.now())
        case "revoked":
            keeper = make_person("keeper", "view_user", "add_user", staff=True)
            assert signed_in(keeper).post(f"/manage/people/invitations/{Invitation.objects.get().pk}/revoke/").status_code == 302
            assert AuditEvent.objects.filter(action="revoke invitation").count() == 1
        case "maker closed":
            User.objects.filter(pk=asker.pk).update(is_active=False)
        case "maker deleted":
            asker.delete()
        case "group deleted":
            readers.delete()
        case "another group":
            Invitation.objects.update(group=Group.objects.create(name="others"))
        case "another token":
            path = path[:-2] + ("a/" if path[-2] != "a" else "b/")
    assert Client().get(path).status_code == 404 and Client().post(path, NEW).status_code == 404
    assert not User.objects.filter(username="nora").exists()


def test_nobody_can_invite_into_a_group_with_more_permissions_than_theirs(asker: User, readers: Group) -> None:
    readers.permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    page = signed_in(asker).post(INVITE, {"people": "Nora", "group": str(readers.pk), "days": "7"})
    assert page.status_code == 200 and not Invitation.objects.exists()
    asker.user_permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    assert link_by(User.objects.get(pk=asker.pk), readers)


@pytest.mark.parametrize("change", ["group may do more", "not staff", "may not add", "may not see"])
def test_an_invitation_grants_nothing_that_its_creator_can_no_longer_grant(change: str, asker: User, readers: Group) -> None:
    path = link_by(asker, readers)
    match change:
        case "group may do more":
            readers.permissions.add(Permission.objects.get(codename="view_hidden_channels"))
        case "not staff":
            User.objects.filter(pk=asker.pk).update(is_staff=False)
        case "may not add":
            asker.user_permissions.remove(Permission.objects.get(codename="add_user"))
        case "may not see":
            asker.user_permissions.remove(Permission.objects.get(codename="view_user"))
    assert Client().get(path).status_code == 404 and Client().post(path, NEW).status_code == 404
    assert not User.objects.filter(username="nora").exists()


def test_a_superuser_can_invite_into_every_group(readers: Group) -> None:
    path = link_by(User.objects.create_superuser("root", password=PASSWORD), readers)
    readers.permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    assert Client().post(path, NEW)["Location"] == "/"


def test_a_signed_in_person_does_not_use_up_an_invitation(asker: User, ada: User) -> None:
    path = link_by(asker)
    assert signed_in(ada).post(path, NEW)["Location"] == "/" and Invitation.objects.get().used_at is None


def test_guesses_at_links_have_to_wait(asker: User) -> None:
    link_by(asker)
    row = Invitation.objects.get()
    found = [Client().get(f"/invitation/{row.pk}/{'a' * number}/").status_code for number in range(1, 14)]
    assert found[0] == 404 and found[-1] == 429


@pytest.mark.django_db(transaction=True)
def test_of_two_people_with_one_link_one_gets_an_account() -> None:
    asker = make_person("olga", "add_user", "view_user", staff=True)
    path = invite(asker, days=1)
    start = threading.Barrier(3)
    answers: list[int] = []

    def use(name: str) -> None:
        try:
            start.wait(10)
            answers.append(Client().post(path, NEW | {"username": name}).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=use, args=(name,)) for name in ("nora", "paul", "quentin")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == [302, 404, 404] and User.objects.count() == 2


def test_with_a_provider_an_invitation_lets_somebody_sign_up(
    asker: User, readers: Group, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, provider.table(sign_up=False), passwords="emergency", emergency_accounts=("rescue",))
    path = link_by(asker, readers)
    client = Client()
    page = client.get(path).content.decode()
    field = re.search(r'name="invitation" value="([^"]+)"', page)
    assert field and 'name="password1"' not in page
    assert client.get(provider.sign_in(start_sign_in(client))).status_code == 403, "the twin: without it"
    assert client.get(provider.sign_in(start_sign_in(client, invitation="x/y"))).status_code == 403
    Invitation.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    back = provider.sign_in(start_sign_in(client, invitation=field[1]))
    assert client.get(back).status_code == 302
    nora = User.objects.get(username="ada.l")
    assert list(nora.groups.all()) == [readers] and Invitation.objects.get().used_by == nora
    provider.person = {"sub": "another", "preferred_username": "another"}
    other = Client()
    assert other.get(provider.sign_in(start_sign_in(other, invitation=field[1]))).status_code == 403, "used up"


def test_an_invitation_that_expires_during_sign_in_creates_no_account(
    asker: User, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, provider.table(sign_up=False))
    code = link_by(asker).removeprefix("/invitation/").removesuffix("/")
    client = Client()
    back = provider.sign_in(start_sign_in(client, invitation=code))
    Invitation.objects.update(revoked_at=timezone.now())
    assert client.get(back).status_code == 403 and not User.objects.filter(username="ada.l").exists()


def test_an_invited_person_cannot_take_the_name_of_an_emergency_account(
    asker: User, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, provider.table(), passwords="everybody", emergency_accounts=("rescue",))
    path = link_by(asker)
    assert Client().post(path, NEW | {"username": "rescue"}).status_code == 200 and not User.objects.filter(username="rescue").exists()


@pytest.mark.parametrize(
    ("invited", "proposed"),
    [("erik", "erik"), ("erik@example.org", "erik@example.org"), ("Erik Lund", "Erik.Lund"), ("ada", ""), ("The <new> one!", "")],
)
def test_the_name_that_was_invited_is_proposed_if_it_can_be_a_user_name(invited: str, proposed: str, asker: User, ada: User) -> None:
    page = signed_in(asker).post(INVITE, {"people": invited, "days": "7"}).content.decode()
    path = page.partition("http://testserver")[2].partition("<")[0]
    form = Client().get(path).context["form"]
    assert form["username"].value() == proposed
    assert Client().post(path, NEW | {"username": "chosen"}).status_code == 302, "they may choose another one"
