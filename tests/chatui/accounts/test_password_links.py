"""Password links: staff never learn a password, and the person sees who created a link and whether it was used."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.sign_in import PasswordLink
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support.people import close
from tests.support.staff_pages import page_of, save_details

pytestmark = pytest.mark.django_db

NEW = "quite another password"


@pytest.fixture
def asker() -> User:
    """Looks after accounts."""
    return make_person("olga", "add_user", "change_user", "view_user", staff=True)


def link_for(person: User, by: User, **sent: str) -> str:
    page = signed_in(by).post(page_of(person, "password"), sent).content.decode()
    found = re.search(r">http://testserver(/password/link/[^<]+)<", page)
    assert found, page
    return found[1]


def set_password(path: str, password: str = NEW, client: Client | None = None) -> int:
    return (client or Client()).post(path, {"new_password1": password, "new_password2": password}, REMOTE_ADDR="192.0.2.9").status_code


def can_sign_in(name: str, password: str) -> bool:
    return Client().post("/sign-in/", {"username": name, "password": password}).status_code == 302


def test_staff_cannot_set_a_password(asker: User, ada: User) -> None:
    client = signed_in(asker)
    sent = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    page = client.get(page_of(ada, "password")).content.decode()
    assert 'type="password"' not in page
    client.post(page_of(ada, "password"), sent)
    save_details(client, ada, password=NEW, **sent)
    assert not can_sign_in("ada", NEW) and can_sign_in("ada", PASSWORD)


def test_a_link_sets_a_password_once(asker: User, ada: User) -> None:
    path = link_for(ada, asker)
    assert Client().get(path).status_code == 200 and Client().get(path).status_code == 200, "looking does not use it up"
    assert set_password(path, "short") == 200 and set_password(path) == 302
    assert can_sign_in("ada", NEW) and not can_sign_in("ada", PASSWORD)
    assert set_password(path, "yet another password") == 404 and can_sign_in("ada", NEW)


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_machine_with_a_wrong_clock_neither_shortens_nor_extends_a_link(
    hours: int, asker: User, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    path = link_for(ada, asker)
    assert timedelta(hours=23) < PasswordLink.objects.get().expires_at - datetime.now(UTC) <= timedelta(hours=24)
    for minutes, status in ((-1, 404), (1, 200)):
        PasswordLink.objects.update(expires_at=datetime.now(UTC) + timedelta(minutes=minutes))
        assert Client().get(path).status_code == status
    close(ada)
    assert PasswordLink.objects.get().expires_at <= datetime.now(UTC), "also if the account is opened again"


@pytest.mark.parametrize("ending", ["another password", "a newer link", "time", "deactivation", "another link's token", "a changed token"])
def test_a_link_stops_working(ending: str, asker: User, ada: User, bela: User) -> None:
    path = link_for(ada, asker)
    match ending:
        case "another password":
            ada.set_password("one of ada's own")
            ada.save()
        case "a newer link":
            link_for(ada, asker)
        case "time":
            PasswordLink.objects.update(expires_at=timezone.now())
        case "deactivation":
            User.objects.filter(pk=ada.pk).update(is_active=False)
        case "another link's token":
            path = "/".join([*path.split("/")[:4], link_for(bela, asker).split("/")[4], ""])
        case _:
            path = path[:-2] + ("0/" if path[-2] != "0" else "1/")
    assert set_password(path) == 404
    User.objects.update(is_active=True)
    assert not can_sign_in("ada", NEW)


def test_guesses_at_a_link_must_wait_and_a_valid_one_still_works(asker: User, ada: User) -> None:
    path = link_for(ada, asker)
    wrong = "/".join([*path.split("/")[:4], "x", ""])
    assert [Client().get(wrong).status_code for _ in range(12)][-1] == 429
    assert set_password(path) == 302


def test_the_old_password_works_unless_it_is_voided(asker: User, ada: User) -> None:
    browser = signed_in(ada)
    link_for(ada, asker)
    assert can_sign_in("ada", PASSWORD) and browser.get("/").status_code == 200
    path = link_for(ada, asker, void="yes")
    assert not can_sign_in("ada", PASSWORD) and browser.get("/").status_code == 302
    assert set_password(path) == 302 and can_sign_in("ada", NEW)


def test_the_person_sees_who_created_a_link_and_when_and_from_where_it_was_used(asker: User, ada: User) -> None:
    browser = signed_in(ada)
    assert "link to reset your password" not in browser.get("/").content.decode()
    path = link_for(ada, asker)
    page = browser.get("/").content.decode()
    assert "olga created a link to reset your password" in page and "It has not been used" in page
    assert "olga created a link" in browser.get("/settings/").content.decode()
    assert browser.post("/password/links/dismiss/", {"next": "/settings/"}).headers["Location"] == "/settings/"
    assert "link to reset your password" not in browser.get("/").content.decode()
    assert set_password(path) == 302
    page = signed_in(User.objects.get(pk=ada.pk)).get("/").content.decode()
    assert "olga created a link" in page and "from 192.0.2.9" in page, "it comes back once it was used"


def test_creating_and_using_a_link_is_recorded(asker: User, ada: User) -> None:
    set_password(link_for(ada, asker))
    lines = [(line.action, line.actor_name, line.owner_name, line.detail) for line in AuditEvent.objects.order_by("number")]
    assert lines == [("make password link", "olga", "ada", ""), ("use password link", "", "ada", "made by olga")]


def test_staff_change_their_own_password_without_a_link(asker: User) -> None:
    assert signed_in(asker).post(page_of(asker, "password")).status_code == 404 and not PasswordLink.objects.exists()
