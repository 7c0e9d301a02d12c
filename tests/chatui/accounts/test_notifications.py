"""People are notified when their sign-in methods change, and half-finished sign-ins end with their sessions."""

from datetime import timedelta
from typing import Any

import pytest
import pytest_django
from django.core import mail
from django.test import Client
from django.utils import timezone

from chatui.accounts import passkeys, second_factor, sign_in_notices
from chatui.audit_log.record import SHELL
from chatui.models.audit import AuditEvent
from chatui.models.passkeys import Passkey
from chatui.models.programs import ApiKey
from chatui.models.sign_in import RecoveryCode
from chatui.models.user import User
from tests.chatui.accounts.people import after_password, is_in, owned, sign_in
from tests.chatui.accounts.test_second_factor import password, switched_on
from tests.chatui.api.asking import key_of
from tests.chatui.conftest import make_person, signed_in
from tests.support import mails
from tests.support.environment import change


def notices_of(person: User) -> list[str]:
    person.refresh_from_db()
    return [line.split(" ")[0] for line in person.sign_in_news.splitlines()]


def test_the_owner_is_notified_of_passkeys_until_they_dismiss_it(ada: User) -> None:
    device = owned(ada)
    assert notices_of(ada) == ["passkey-added"]
    client = sign_in(device)
    page = client.get("/").content.decode()
    assert "A passkey was added to your account." in page and "If this was not you, tell an administrator." in page
    assert client.post("/sign-in/news/dismiss/").status_code == 302
    assert notices_of(ada) == [] and "A passkey was added" not in client.get("/").content.decode()
    client.post(f"/sign-in/passkeys/{Passkey.objects.get().pk}/remove/")
    assert notices_of(ada) == ["passkey-removed"]


def test_the_notices_are_on_the_settings_page_too_and_dismissing_one_returns_there(ada: User) -> None:
    client = sign_in(owned(ada))
    for path in ("/settings/", "/usage/"):
        page = client.get(path).content.decode()
        assert "A passkey was added to your account." in page and f'name="next" value="{path}"' in page
    for elsewhere in ("https://example.org/", "//example.org/", ""):
        assert client.post("/sign-in/news/dismiss/", {"next": elsewhere}).headers["Location"] == "/"
    assert client.post("/sign-in/news/dismiss/", {"next": "/settings/"}).headers["Location"] == "/settings/"
    assert "A passkey was added" not in client.get("/settings/").content.decode()


def test_the_owner_is_notified_of_codes(ada: User) -> None:
    client = password()
    switched_on(client, ada)
    client.post("/sign-in/second-factor/codes/")
    client.post("/sign-in/second-factor/remove/")
    assert notices_of(ada) == ["codes-set-up", "recovery-codes", "factor-removed"]
    assert sign_in_notices.notifications_of(ada)[0].sentence == "The second factor of your account was removed."


def test_staff_who_change_an_address_or_revoke_a_key_do_not_do_so_unnoticed(
    ada: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    change(monkeypatch, {"mail_url": "smtp://localhost", "mail_from": "chat@example.org"})
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    staff = signed_in(make_person("rosa", "view_user", "change_user", staff=True))
    with django_capture_on_commit_callbacks(execute=True):
        sent = staff.post(f"/manage/people/{ada.pk}/details/", {"username": "ada", "email": "elsewhere@example.org"})
    mails.all_sent()
    assert sent.status_code == 302 and notices_of(ada) == ["address-changed"] and ada.email == "elsewhere@example.org"
    assert [each.to for each in mail.outbox] == [["ada@example.org"]], "the old address: links for a new password go to the new one"
    key_of(ada)
    staff.post(f"/manage/keys/{ApiKey.objects.get().pk}/revoke/")
    assert notices_of(ada)[-1] == "key-revoked"


def test_without_dismissal_only_the_latest_notices_are_stored(ada: User) -> None:
    for _ in range(sign_in_notices.MAX_LINES + 3):
        sign_in_notices.notify(ada, "passkey-added")
    assert len(notices_of(ada)) == sign_in_notices.MAX_LINES


def test_a_notice_that_only_another_release_knows_is_omitted(ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(sign_in_news="something-new 2030-01-01T00:00:00+00:00")
    assert signed_in(ada).get("/").status_code == 200


@pytest.mark.parametrize("address", ["ada@example.org", ""])
def test_a_mail_is_sent_to_people_who_have_an_address(
    ada: User,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: pytest_django.DjangoCaptureOnCommitCallbacks,
) -> None:
    change(monkeypatch, {"mail_url": "smtp://localhost", "mail_from": "chat@example.org"})
    User.objects.filter(pk=ada.pk).update(email=address, language="de")
    with django_capture_on_commit_callbacks(execute=True):
        second_factor.remove(SHELL, ada)  # there is none: nothing happened
        sign_in_notices.notify(ada, "passkey-removed")
    mails.all_sent()
    assert [sent.to for sent in mail.outbox] == ([[address]] if address else [])
    assert all("ada" in sent.body for sent in mail.outbox)


def test_only_its_owner_can_rename_or_remove_a_passkey(ada: User, bela: User) -> None:
    device = owned(ada)
    row = Passkey.objects.get()
    client = sign_in(device)
    assert (
        client.post(f"/sign-in/passkeys/{row.pk}/rename/", {"name": " My\u202e new\n phone " + "x" * 200})["Location"] == "/sign-in/ways/"
    )
    row.refresh_from_db()
    assert row.name.startswith("My new phone x") and len(row.name) == passkeys.MAX_NAME_CHARS
    assert row.name in client.get("/sign-in/ways/").content.decode()
    assert AuditEvent.objects.latest("number").action == "passkey renamed"
    stranger = after_password(bela)
    assert stranger.post(f"/sign-in/passkeys/{row.pk}/rename/", {"name": "Mine"}).status_code == 404
    assert stranger.post(f"/sign-in/passkeys/{row.pk}/remove/").status_code == 404 and Passkey.objects.exists()
    session = client.session
    session["shown_at"] = 0
    session.save()
    assert client.post(f"/sign-in/passkeys/{row.pk}/rename/", {"name": "Late"})["Location"] == "/sign-in/confirm/"
    row.refresh_from_db()
    assert row.name.startswith("My new phone"), "neither had an effect"


def half_way(person: User) -> Client:
    """A browser in which the password was given, and no code yet."""
    client = password(person.get_username())
    assert client.get("/sign-in/code/").status_code == 200, "the premise"
    return client


def test_a_half_finished_sign_in_does_not_survive_the_end_of_all_sessions(ada: User, root: User) -> None:
    browser = password()
    codes = switched_on(browser, ada)
    client = half_way(ada)
    assert browser.post("/sign-in/sessions/end/").status_code == 302
    assert client.post("/sign-in/code/", {"code": codes[0]})["Location"] == "/sign-in/" and not is_in(client)
    assert RecoveryCode.objects.count() == 10, "no code was used up"
    client = half_way(ada)
    assert signed_in(root).post(f"/manage/people/{ada.pk}/sessions/").status_code == 302
    assert client.post("/sign-in/code/", {"code": codes[0]})["Location"] == "/sign-in/" and not is_in(client)
    client = half_way(ada)
    assert client.post("/sign-in/code/", {"code": codes[0]})["Location"] == "/" and is_in(client), "the twin: started after that"


@pytest.mark.parametrize("skew", [timedelta(hours=-1), timedelta(hours=1)], ids=["behind", "ahead"])
def test_a_half_finished_sign_in_tolerates_different_clocks(ada: User, skew: timedelta) -> None:
    codes = switched_on(password(), ada)
    client = half_way(ada)
    # As a process of a machine would whose clock is wrong.
    User.objects.filter(pk=ada.pk).update(sessions_ended_at=timezone.now() + skew)
    assert client.post("/sign-in/code/", {"code": codes[0]})["Location"] == "/sign-in/" and not is_in(client), "started before"
    client = half_way(ada)
    assert client.post("/sign-in/code/", {"code": codes[0]})["Location"] == "/" and is_in(client), "started after that"
