"""Password reset by e-mail: to the account's own address, valid for an hour, with the same page for everybody."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from chatui.accounts import password_links
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import PasswordLink
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD
from tests.support import mails
from tests.support.environment import change
from tests.support.system_checks import said

NEW = "quite another password"


@pytest.fixture(autouse=True)
def _mails(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """There is a mail server, and what happens behind the page happens at once."""
    change(monkeypatch, {"mail_url": "smtp://localhost", "mail_from": "chat@example.org", "origins": ["http://testserver"]})

    mails.send_at_once(monkeypatch)


@pytest.fixture
def ada(ada: User) -> User:
    """With an address."""
    ada.email = "Ada@example.org"
    ada.save()
    return ada


def request_link(account: str, client: Client | None = None) -> str:
    page = (client or Client()).post("/password/forgotten/", {"account": account})
    assert page.status_code == 200
    return page.content.decode()


def link() -> str:
    found = re.search(r"http://testserver(/password/link/\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


@pytest.mark.parametrize("account", ["ada", "ada@example.org", " ADA@example.org "])
def test_a_person_gets_a_link_and_chooses_a_password(account: str, ada: User) -> None:
    assert 'href="/password/forgotten/"' in Client().get("/sign-in/").content.decode()
    request_link(account)
    assert mail.outbox[0].to == ["Ada@example.org"] and mail.outbox[0].from_email == "chat@example.org"
    path = link()
    assert Client().post(path, {"new_password1": NEW, "new_password2": NEW}).status_code == 302
    ada.refresh_from_db()
    assert ada.check_password(NEW) and Client().get(path).status_code == 404
    assert list(AuditEvent.objects.order_by("number").values_list("action", flat=True)) == ["mail password link", "use password link"]


def test_the_page_says_the_same_to_everybody(ada: User) -> None:
    token = re.compile(r'"\w{64}"')
    assert token.sub("", request_link("ada")) == token.sub("", request_link("nobody"))
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("why", ["no address", "closed", "no password", "only alike", "somebody else's part"])
def test_who_gets_no_link(why: str, ada: User) -> None:
    account = "ada"
    match why:
        case "no address":
            User.objects.update(email="")
        case "closed":
            User.objects.update(is_active=False)
        case "no password":
            ada.set_unusable_password()
            ada.save()
        case "only alike":
            account = "ada@exampıe.org"
        case "somebody else's part":
            account = "ada@example.org,evil@example.org"
    request_link(account)
    assert mail.outbox == [] and not PasswordLink.objects.exists()


def test_a_link_expires_after_an_hour_or_with_the_next_link(ada: User) -> None:
    request_link("ada")
    first = link()
    request_link("ada")
    assert Client().get(first).status_code == 404 and Client().get(link()).status_code == 200
    row = PasswordLink.objects.latest("made_at")
    assert (row.expires_at - timezone.now()).total_seconds() <= 3600


def test_a_request_does_not_end_a_link_that_staff_created(ada: User) -> None:
    link_row = PasswordLink.objects.create(user=ada, made_by_name="olga", expires_at=timezone.now() + password_links.RESET_LIFETIME)
    request_link("ada")
    link_row.refresh_from_db()
    assert link_row.expires_at > timezone.now()


def test_the_number_of_mails_is_limited(ada: User) -> None:
    for number in range(6):
        client = Client(REMOTE_ADDR=f"198.51.{number}.1")
        request_link("ada", client)
    assert len(mail.outbox) == 3
    answers = [Client().post("/password/forgotten/", {"account": "x"}).status_code for _ in range(8)]
    assert answers[0] == 200 and answers[-1] == 429


def test_a_mail_server_that_is_down_causes_no_error_page(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: Any) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(mail.EmailMessage, "send", down)
    assert "on its way" in request_link("ada")


@pytest.mark.usefixtures("ada")
def test_the_request_does_not_determine_the_host_of_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(headers={"host": "testserver:4444"})
    request_link("ada", client)
    assert link()
    change(monkeypatch, {"origins": []})
    assert client.get("/password/forgotten/").status_code == 404
    assert said("W055")


def test_without_a_mail_server_there_is_no_such_page(monkeypatch: pytest.MonkeyPatch, ada: User) -> None:
    change(monkeypatch, {"mail_url": ""})
    assert Client().get("/password/forgotten/").status_code == 404
    assert "/password/forgotten/" not in Client().get("/sign-in/").content.decode()
    assert Client().post("/sign-in/", {"username": "ada", "password": PASSWORD}).status_code == 302, "the premise"
