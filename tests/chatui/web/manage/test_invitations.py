"""Invitations in the admin pages: links by mail, copying all links, and revoking them."""

import re

import pytest
import pytest_django
from django.contrib.auth.models import Group, Permission
from django.core import mail
from django.test import Client

from chatui.accounts import invitations
from chatui.models.audit import AuditEvent
from chatui.models.invitations import Invitation
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support import mails
from tests.support.environment import change
from tests.support.html_text import collapsed

pytestmark = pytest.mark.django_db

KEEPER = ("view_user", "add_user", "change_user")
FORM = {"people": "nora@example.org\nOtto", "group": "", "days": "7"}
INVITE = "/manage/people/invite/"


@pytest.fixture
def kim() -> User:
    """Staff who manage accounts."""
    return make_person("kim", *KEEPER, staff=True)


@pytest.fixture
def _mails(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"mail_url": "smtp://localhost", "mail_from": "chat@example.org", "origins": ["https://chat.example.org"]})


@pytest.mark.usefixtures("_mails")
def test_links_are_mailed_to_addresses(kim: User, django_capture_on_commit_callbacks: pytest_django.DjangoCaptureOnCommitCallbacks) -> None:
    client = signed_in(kim)
    assert 'name="mails"' in client.get(INVITE).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        client.post(INVITE, FORM)  # not asked to mail anything
        page = client.post(INVITE, FORM | {"mails": "on"}).content.decode()
    mails.all_sent()
    [sent] = mail.outbox
    links = re.findall(r"/invitation/[0-9a-f-]+/[0-9a-f]+/", page)
    assert sent.to == ["nora@example.org"] and "https://chat.example.org/invitation/" in sent.body and "kim" in sent.body
    assert links[0] not in sent.body, "the mail has a link of its own"
    assert page.count("sent by e-mail") == 1 and len(set(links)) == 2


def test_without_a_mail_server_mailing_is_not_offered(
    kim: User, django_capture_on_commit_callbacks: pytest_django.DjangoCaptureOnCommitCallbacks
) -> None:
    client = signed_in(kim)
    assert 'name="mails"' not in client.get(INVITE).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        page = client.post(INVITE, FORM | {"mails": "on"}).content.decode()
    mails.all_sent()
    assert "sent by e-mail" not in page and not mail.outbox


def test_all_links_can_be_copied_at_once(kim: User) -> None:
    client = signed_in(kim)
    page = client.post(INVITE, FORM).content.decode()
    together = page.partition("<textarea")[2].partition("</textarea>")[0]
    assert "nora@example.org: http://testserver/invitation/" in together and "Otto: http://" in together
    assert "<textarea" not in client.post(INVITE, FORM | {"people": "Otto"}).content.decode(), "a single link can be copied itself"


def test_staff_revoke_only_invitations_they_could_have_made(kim: User) -> None:
    root = User.objects.create_superuser("root", password="correct horse battery")
    readers = Group.objects.create(name="readers")
    readers.permissions.set(Permission.objects.filter(codename="view_auditevent"))
    for name, group in (("Nora", readers), ("Otto", Group.objects.create(name="plain")), ("Pia", None)):
        assert signed_in(root).post(INVITE, FORM | {"people": name, "group": str(group.pk) if group else ""}).status_code == 200
    client = signed_in(kim)
    page = client.get("/manage/people/?show=invited").content.decode()
    rows = {row.note: row for row in Invitation.objects.all()}
    assert f"{rows['Nora'].pk}/revoke/" not in page and f"{rows['Otto'].pk}/revoke/" in page and f"{rows['Pia'].pk}/revoke/" in page
    answers = {name: client.post(f"/manage/people/invitations/{row.pk}/revoke/").status_code for name, row in rows.items()}
    assert answers == {"Nora": 404, "Otto": 302, "Pia": 302}
    assert list(Invitation.objects.filter(revoked_at=None).values_list("note", flat=True)) == ["Nora"]
    assert AuditEvent.objects.filter(action="revoke invitation").count() == 2
    signed_in(root).post(f"/manage/people/invitations/{rows['Nora'].pk}/revoke/")
    assert not Invitation.objects.filter(revoked_at=None).exists()


@pytest.mark.usefixtures("_mails")
def test_invitations_are_rate_limited_and_the_refusal_says_until_when(kim: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client, names = signed_in(kim), [f"p{number}@example.org" for number in range(invitations.MAX_PER_HOUR + 1)]
    for first in range(0, invitations.MAX_PER_HOUR - 50, 50):
        assert client.post(INVITE, FORM | {"people": "\n".join(names[first : first + 50])}).status_code == 200
    assert client.post(INVITE, FORM | {"people": "\n".join(names[-49:])}).status_code == 200
    refused = client.post(INVITE, FORM)
    page = refused.content.decode()
    assert refused.status_code == 429 and "Nobody was invited. Try again in 60 minutes, or with fewer people." in page
    assert "nora@example.org" in page, "what was written stays"
    assert Invitation.objects.count() == invitations.MAX_PER_HOUR - 1 and not mail.outbox
    assert client.post(INVITE, FORM | {"people": "Otto"}).status_code == 200, "a refused one does not reduce the remaining number"
    assert Invitation.objects.count() == invitations.MAX_PER_HOUR
    other = signed_in(make_person("lee", *KEEPER, staff=True))
    assert other.post(INVITE, FORM).status_code == 200, "others continue"
    monkeypatch.setattr("chatui.limits.Throttle.take", raising)
    assert client.post(INVITE, FORM).status_code == 429, "an uncountable document is refused"


def raising(*_: object) -> int:
    raise OSError


NEW = {"username": "nora", "password1": PASSWORD, "password2": PASSWORD}


@pytest.mark.usefixtures("_mails")
@pytest.mark.parametrize("way", ["mail", "page", "by name"])
def test_the_invited_address_is_the_accounts_only_if_a_mailed_link_or_staff_say_so(
    way: str, kim: User, django_capture_on_commit_callbacks: pytest_django.DjangoCaptureOnCommitCallbacks
) -> None:
    client, note = signed_in(kim), "Nora" if way == "by name" else "nora@example.org"
    with django_capture_on_commit_callbacks(execute=True):
        page = client.post(INVITE, FORM | {"people": note, "mails": "on"}).content.decode()
    mails.all_sent()
    [shown] = set(re.findall(r"/invitation/[0-9a-f-]+/[0-9a-f]+/", page))
    mailed = re.search(r"https://chat\.example\.org(/invitation/\S+)", str(mail.outbox[0].body)) if mail.outbox else None
    assert (mailed is None) == (way == "by name")
    assert mailed is None or mailed[1] != shown, "staff see no link that proves an address"
    assert Client().post(mailed[1] if mailed and way == "mail" else shown, NEW).status_code == 302
    nora = User.objects.get(username="nora")
    assert nora.email == (note if way == "mail" else "")
    assert Client().get(mailed[1] if mailed else shown).status_code == 404, "one use ends both"
    path = f"/manage/people/{nora.pk}/"
    page = collapsed(client.get(path).content.decode())
    assert f"invited as<bdi>{note}</bdi>by<bdi>kim</bdi>" in page
    assert ("Use it as the address of this account" in page) == (way == "page")
    if way != "page":
        assert client.post(f"{path}address/").status_code == 404
        return
    assert "nothing proves that<bdi>nora@example.org</bdi>is this person’s" in page
    assert signed_in(make_person("sam", "view_user", staff=True)).post(f"{path}address/").status_code == 404
    assert client.post(f"{path}address/").status_code == 302
    nora.refresh_from_db()
    assert nora.email == note and AuditEvent.objects.filter(detail="has another e-mail address now", actor_name="kim").count() == 1
    assert client.post(f"{path}address/").status_code == 404


@pytest.mark.usefixtures("_mails")
def test_a_mailed_link_ends_as_the_shown_one_does(
    kim: User, django_capture_on_commit_callbacks: pytest_django.DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        signed_in(kim).post(INVITE, FORM | {"mails": "on"})
    mails.all_sent()
    link = re.findall(r"https://chat\.example\.org(/invitation/\S+)", str(mail.outbox[0].body))[0]
    assert Client().get(link).status_code == 200
    row = Invitation.objects.get(note="nora@example.org")
    Invitation.objects.filter(pk=row.pk).update(note="another@example.org")
    assert Client().get(link).status_code == 404, "it proves one address"
    Invitation.objects.filter(pk=row.pk).update(note="nora@example.org", group=Group.objects.create(name="readers"))
    assert Client().get(link).status_code == 404
    Invitation.objects.filter(pk=row.pk).update(group=None)
    signed_in(kim).post(f"/manage/people/invitations/{row.pk}/revoke/")
    assert Client().get(link).status_code == 404
