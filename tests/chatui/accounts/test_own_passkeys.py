"""A person's own passkeys: who may add, rename and remove them, and where they have effects."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts import account_managers, passkeys, second_factor, sign_in_settings
from chatui.audit_log.record import SHELL
from chatui.checks import passkeys_match_host
from chatui.lifecycle.erasure import erase
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import OutsideIdentity, Passkey, RecoveryCode, SecondFactor
from chatui.models.user import User
from tests.chatui.accounts.people import add, after_password, browser, is_in, options, owned, sign_in
from tests.chatui.accounts.test_second_factor import code_of
from tests.chatui.conftest import PASSWORD, make_person
from tests.support.authenticator import Authenticator, decoded
from tests.support.environment import change
from tests.support.staff_pages import page_of


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("number").values_list("action", flat=True))


def test_only_the_first_passkey_creates_recovery_codes(ada: User) -> None:
    client = after_password(ada)
    request_options = options(client, "new")
    assert request_options["attestation"] == "none" and request_options["rp"]["id"] == "localhost"
    assert (
        request_options["authenticatorSelection"]["residentKey"]
        == request_options["authenticatorSelection"]["userVerification"]
        == "required"
    )
    assert decoded(request_options["user"]["id"]) == ada.pk.bytes
    first, second = Authenticator(), Authenticator()
    codes = re.findall(r"<code>([a-z0-9-]{17})</code>", add(client, first, "Laptop").content.decode())
    assert len(codes) == RecoveryCode.objects.count() == 10
    assert add(client, second, "Phone")["Location"] == "/sign-in/ways/"
    assert [each["id"] for each in options(client, "new")["excludeCredentials"]] != []
    page = client.get("/sign-in/ways/").content.decode()
    assert page.index("Laptop") < page.index("Phone") and page.count("never used") == 2 and "added on" in page
    assert actions() == ["sign in", "passkey added", "passkey added"]
    locked_out = after_password(ada)
    assert not is_in(locked_out), "a password alone opens nothing from now on"
    assert locked_out.post("/sign-in/code/", {"code": codes[0]}).status_code == 302 and is_in(locked_out)


def test_names_are_limited_and_escaped(ada: User) -> None:
    client = after_password(ada)
    add(client, Authenticator(), "<b>my</b>\n\u202ekey\0" + "x" * 200)
    name = Passkey.objects.get().name
    assert name == ("<b>my</b> key" + "x" * 200)[:60]
    page = client.get("/sign-in/ways/").content.decode()
    assert "&lt;b&gt;my&lt;/b&gt;" in page and "<b>my" not in page
    add(client, Authenticator(), " \u200b ")
    assert Passkey.objects.filter(name="Passkey").exists()


def test_every_change_requires_a_recent_authentication(ada: User) -> None:
    device = owned(ada)
    client = sign_in(device)
    session = client.session
    session["shown_at"] = 0
    session.save()
    row = Passkey.objects.get()
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/confirm/"
    assert client.post("/sign-in/passkey/options/new/").status_code == 404
    assert client.post(f"/sign-in/passkeys/{row.pk}/remove/")["Location"] == "/sign-in/confirm/"
    assert "/remove/" not in client.get("/sign-in/ways/").content.decode() and Passkey.objects.exists()
    client = sign_in(device)
    assert client.post(f"/sign-in/passkeys/{row.pk}/remove/")["Location"] == "/sign-in/ways/"
    assert not Passkey.objects.exists() and not RecoveryCode.objects.exists(), "no factor is left to recover"
    assert actions()[-1] == "passkey removed"
    assert is_in(after_password(ada))


def test_nobody_can_remove_another_persons_passkey(ada: User, bela: User) -> None:
    owned(ada)
    row = Passkey.objects.get()
    client = after_password(bela)
    assert client.post(f"/sign-in/passkeys/{row.pk}/remove/").status_code == 404 and Passkey.objects.exists()


def test_a_device_is_added_once_and_the_number_of_passkeys_is_limited(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    device = owned(ada)
    client = after_password(bela)
    device.handle = b""
    assert add(client, device)["Location"].endswith("?passkey-refused")
    assert AuditEvent.objects.latest("number").detail == "already known"
    monkeypatch.setattr(passkeys, "MAX_PASSKEYS", 1)
    assert add(client, Authenticator()).status_code == 200
    assert add(client, Authenticator())["Location"].endswith("?passkey-refused")


def test_a_passkey_satisfies_a_required_factor_and_the_last_one_cannot_be_removed(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"second_factor_groups": ["careful"]})
    ada.groups.add(Group.objects.create(name="careful"))
    client = after_password(ada)
    assert b"Use a passkey instead" in client.get("/sign-in/code/").content and not is_in(client)
    assert client.get("/sign-in/passkeys/new/").status_code == 200
    device = Authenticator()
    assert b"recovery-codes" in add(client, device).content and is_in(client)
    first = Passkey.objects.get()
    assert not passkeys.may_remove_one(ada)
    assert client.post(f"/sign-in/passkeys/{first.pk}/remove/").status_code == 404 and Passkey.objects.exists()
    add(client, Authenticator(), "Second")
    assert client.post(f"/sign-in/passkeys/{first.pk}/remove/").status_code == 302, "the twin: another one is left"


def test_with_a_second_factor_the_password_alone_cannot_add_another(ada: User) -> None:
    owned(ada)
    client = after_password(ada)
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/"
    assert client.post("/sign-in/passkey/options/new/").status_code == 404
    assert client.get("/sign-in/second-factor/picture.svg").status_code == 404
    assert b"otpauth" not in client.get("/sign-in/code/").content


def test_switching_codes_off_keeps_passkeys_and_recovery_codes(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = after_password(ada)
    client.get("/sign-in/second-factor/")
    client.post("/sign-in/second-factor/", {"code": code_of(ada)})
    assert add(client, Authenticator())["Location"] == "/sign-in/ways/", "codes are there already"
    assert b"Switch one-time codes off" in client.get("/sign-in/ways/").content
    change(monkeypatch, {"second_factor_groups": ["careful"]})
    ada.groups.add(Group.objects.create(name="careful"))
    assert client.post("/sign-in/second-factor/remove/").status_code == 302, "a passkey is left"
    assert not SecondFactor.objects.exists() and RecoveryCode.objects.count() == 10 and second_factor.is_on(ada)
    assert actions()[-1] == "one-time codes switched off"
    assert b"recovery-codes" in client.post("/sign-in/second-factor/codes/").content


def test_people_without_a_password_have_no_passkeys(ada: User, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = after_password(ada)
    file = tmp_path / "sign-in.toml"
    file.write_text('passwords = "emergency"\nemergency_accounts = ["rescue"]\n')
    with monkeypatch.context() as changed:
        change(changed, {"sign_in_file": file})
        assert client.get("/sign-in/passkeys/new/").status_code == 302
        assert client.post("/sign-in/passkey/options/new/").status_code == 404
        assert is_in(client) and b"Add a passkey" not in client.get("/sign-in/ways/").content
        rescue = make_person("rescue")
        assert passkeys.may_have(rescue), "the twin: the emergency account"
    ada.set_unusable_password()
    assert not passkeys.may_have(ada) and passkeys.may_have(make_person("olga"))


def test_the_last_sign_in_method_cannot_be_removed(ada: User) -> None:
    owned(ada)
    ada.set_unusable_password()
    ada.save()
    assert not passkeys.may_remove_one(ada)
    owner = make_person("olga")
    owned(owner)
    assert passkeys.may_remove_one(owner), "the twin: with a password"


def test_an_identity_that_may_not_open_the_account_is_no_other_way(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_settings, "outside_issuers", lambda: ["https://id.example"])
    owned(ada)
    ada.set_unusable_password()
    ada.save()
    OutsideIdentity.objects.create(user=ada, issuer="https://id.example", subject="1", provider="id")
    assert passkeys.may_remove_one(ada), "the twin"
    ada.is_superuser = True
    assert not passkeys.may_remove_one(ada), "no provider opens a superuser's account"


def test_an_account_manager_with_a_passkey_can_sign_in(ada: User) -> None:
    owner = make_person("olga", "change_user", staff=True)
    owned(owner)
    owner.set_unusable_password()
    owner.save()
    assert account_managers.is_last(owner)
    Passkey.objects.all().delete()
    assert not account_managers.is_last(owner), "somebody who cannot sign in does not count"


def test_staff_can_remove_all_factors_and_erasure_leaves_nothing(ada: User, bela: User) -> None:
    device = owned(ada)
    owned(bela)
    sam = make_person("sam", "change_user", "view_user", staff=True)
    client = after_password(sam)
    client.post(page_of(ada, "factor"))
    assert list(Passkey.objects.values_list("user__username", flat=True)) == ["bela"]
    assert actions()[-1] == "second factor removed" and not is_in(sign_in(device))
    assert is_in(after_password(ada))
    erase(SHELL, bela)
    assert not Passkey.objects.exists()


def test_no_page_and_no_export_contains_key_material(ada: User) -> None:
    device = owned(ada)
    client = sign_in(device)
    row = Passkey.objects.get()
    for path in ("/sign-in/ways/", "/download/", "/settings/"):
        answer = client.get(path)
        content = b"".join(answer) if answer.streaming else answer.content
        for secret in (bytes(row.public_key), bytes(row.credential_id), row.digest.encode()):
            assert secret not in content


def test_a_stranger_cannot_add_a_passkey(db: None) -> None:
    client = browser()
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/"
    assert client.post("/sign-in/passkeys/new/", {"credential": "{}"})["Location"] == "/sign-in/"
    assert client.post("/sign-in/passkey/options/new/").status_code == 404


def test_a_check_reports_passkeys_of_another_host(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    owned(ada)
    change(monkeypatch, {"origins": ["https://chat.example.org"]})
    assert [message.id for message in passkeys_match_host(None)] == ["chatui.W057"]
    Passkey.objects.update(site="chat.example.org")
    assert passkeys_match_host(None) == []


def _later(person: User) -> Client:
    """A browser in which they signed in too long ago to change how."""
    client = browser()
    client.force_login(person)
    return client


def test_a_passkey_counts_as_recent_authentication(ada: User) -> None:
    device, client = owned(ada), _later(ada)
    assert client.get("/sign-in/passkeys/new/")["Location"] == "/sign-in/confirm/"
    page = client.get("/sign-in/confirm/?next=/sign-in/ways/").content.decode()
    assert "/sign-in/passkey/options/confirm/" in page and 'name="password"' in page
    device.count += 1
    credential = device.use(options(client, "confirm"))
    answer = client.post("/sign-in/confirm/", {"credential": credential, "next": "/sign-in/ways/"})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/ways/")
    assert client.get("/sign-in/passkeys/new/").status_code == 200
    User.objects.filter(pk=ada.pk).update(password="!")
    assert "Use a passkey" in _later(User.objects.get(pk=ada.pk)).get("/sign-in/confirm/").content.decode()


def test_only_ones_own_passkey_for_this_purpose_counts_as_recent_authentication(ada: User, bela: User) -> None:
    device, others_device, client = owned(ada), owned(bela), _later(ada)
    stranger, twice = browser(), _later(ada)
    device.count += 1
    others_device.count += 1
    tries = [
        others_device.use(options(client, "confirm")),
        device.use(options(stranger, "sign-in")),
        device.use(options(twice, "confirm")),
        "none",
        "",
    ]
    for credential in tries:
        answer = client.post("/sign-in/confirm/", {"credential": credential, "password": PASSWORD})
        assert answer["Location"] == "/sign-in/confirm/?passkey-refused="
        assert client.get("/sign-in/passkeys/new/").status_code == 302
    good = device.use(options(client, "confirm"))
    assert client.post("/sign-in/confirm/", {"credential": good})["Location"] == "/sign-in/ways/"
    client.logout()
    assert not is_in(client) and stranger.post("/sign-in/passkey/options/confirm/").status_code == 404
    Passkey.objects.filter(user=bela).delete()
    without = _later(bela)
    assert without.post("/sign-in/confirm/", {"credential": "none"}).status_code == 404
    assert without.post("/sign-in/passkey/options/confirm/").status_code == 404
