"""Ways to sign in change only after a confirmation with the strongest factor, are told, and take their sessions with them."""

import time
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.test import Client

from chatui.accounts import sign_in_notices
from chatui.models.passkeys import Passkey
from chatui.models.programs import ApiKey
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure, sign_in_with_provider, start_sign_in
from tests.chatui.accounts.people import is_in, owned, sign_in
from tests.chatui.accounts.scripted_provider import ScriptedProvider
from tests.chatui.conftest import PASSWORD, confirmed, signed_in

KEY = {"name": "A script", "formats": ["responses"], "per_minute": "60", "lasts": "never"}
PASSWORDS = {"old_password": PASSWORD, "new_password1": "an entirely new one", "new_password2": "an entirely new one"}


def news(person: User) -> list[str]:
    return [line.split(" ")[0] for line in User.objects.get(pk=person.pk).sign_in_news.splitlines()]


def confirm_with_provider(provider: ScriptedProvider, client: Client) -> Any:
    address = start_sign_in(client, confirm="yes", next="/keys/")
    assert "max_age=0" in address
    return client.get(provider.sign_in(address))


def test_an_open_session_makes_no_key_until_it_is_confirmed(ada: User) -> None:
    client = signed_in(ada)
    assert client.post("/keys/", KEY)["Location"] == "/sign-in/confirm/?next=/keys/" and not ApiKey.objects.exists()
    assert 'name="lasts"' not in client.get("/keys/").content.decode()
    assert client.post("/sign-in/confirm/", {"password": PASSWORD, "next": "/keys/"})["Location"] == "/keys/"
    assert client.post("/keys/", KEY).status_code == 200 and ApiKey.objects.count() == 1
    client.post(f"/keys/{ApiKey.objects.get().pk}/revoke/")
    assert news(ada) == ["key-made", "key-revoked"]
    assert "An API key was created for your account." in client.get("/settings/").content.decode()


def test_a_factor_is_needed_for_every_change_and_a_password_alone_is_not_enough(ada: User) -> None:
    owned(ada)
    client = signed_in(ada)
    session = client.session
    session["shown_at"] = time.time()
    session.save()
    for path, fields in (("/keys/", KEY), ("/password/", PASSWORDS), ("/sign-in/second-factor/codes/", {})):
        assert client.post(path, fields)["Location"].startswith("/sign-in/confirm/"), path
    page = client.post("/sign-in/confirm/", {"password": PASSWORD})
    assert page.status_code == 200 and 'name="code"' in page.content.decode()
    assert confirmed(client).post("/keys/", KEY).status_code == 200, "the twin"


def test_a_new_password_and_a_new_identity_are_told(ada: User, provider: ScriptedProvider, settings: Any) -> None:
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    client = signed_in(ada)
    assert client.post("/password/", PASSWORDS).status_code == 302
    assert news(ada) == ["password-changed"]
    client.get(provider.sign_in(start_sign_in(client, connect="yes")))
    assert news(ada) == ["password-changed", "identity-connected"] and OutsideIdentity.objects.filter(user=ada).exists()
    assert mail.outbox is not None and set(sign_in_notices.SENTENCES) >= {"password-changed", "identity-connected", "identity-removed"}


def test_people_who_only_have_a_provider_are_asked_there_again(provider: ScriptedProvider) -> None:
    client, _ = sign_in_with_provider(provider)
    assert client.post("/keys/", KEY)["Location"] == "/sign-in/confirm/?next=/keys/", "a sign-in that asked for nothing confirms nothing"
    page = client.get("/sign-in/confirm/?next=/keys/").content.decode()
    assert "Continue with Example Ltd" in page and 'name="confirm"' in page
    assert confirm_with_provider(provider, client)["Location"] == "/keys/"
    assert client.post("/keys/", KEY).status_code == 200


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"auth_time": None}, 400),
        ({"auth_time": 1}, 400),
        ({"auth_time": True}, 400),
        ({"auth_time": "now"}, 400),
        ({"auth_time": 1_700_000_000_000}, 400),
        ({"auth_time": float("inf")}, 400),
        ({"sub": "another"}, 400),
        ({}, 302),
    ],
)
def test_only_the_same_person_and_only_anew(claims: dict[str, Any], status: int, provider: ScriptedProvider) -> None:
    client, _ = sign_in_with_provider(provider)
    provider.token = claims
    provider.user_info = {"sub": claims["sub"]} if "sub" in claims else {}
    assert confirm_with_provider(provider, client).status_code == status
    assert (client.post("/keys/", KEY).status_code == 200) == (status == 302)
    assert is_in(client)


def test_whoever_is_not_admitted_any_more_confirms_nothing(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    client, _ = sign_in_with_provider(provider)
    configure(monkeypatch, provider.table(who_may_enter="listed", enter_groups=["/chat"]))
    assert confirm_with_provider(provider, client).status_code == 403 and not is_in(client)


@pytest.mark.parametrize("cause", ["the ten minutes are over", "a second factor was added meanwhile", ""])
def test_what_a_confirmation_began_at_the_provider_ends_with_it(cause: str, ada: User, provider: ScriptedProvider) -> None:
    client = confirmed(signed_in(ada))
    address = start_sign_in(client, connect="yes")
    if cause.startswith("the ten"):
        session = client.session
        session["shown_at"] -= 601
        session.save()
    elif cause:
        owned(ada)
        session = client.session
        session["shown_with_factor"] = False
        session.save()
    answer = client.get(provider.sign_in(address))
    assert answer["Location"] == ("/sign-in/confirm/" if cause else "/sign-in/ways/")
    assert OutsideIdentity.objects.exists() == (not cause)


def test_removing_an_identity_ends_the_sessions_that_it_began(ada: User, provider: ScriptedProvider) -> None:
    client = confirmed(signed_in(ada))
    client.get(provider.sign_in(start_sign_in(client, connect="yes")))
    by_provider, _ = sign_in_with_provider(provider)
    assert is_in(by_provider), "the premise"
    client.post(f"/sign-in/ways/{OutsideIdentity.objects.get().pk}/remove/")
    assert not is_in(by_provider) and is_in(client), "the twin: this session was confirmed"
    assert news(ada) == ["identity-connected", "identity-removed"]


def test_removing_a_passkey_ends_the_sessions_that_it_began_and_no_others(ada: User) -> None:
    first, second = owned(ada), owned(ada, name="Another")
    by_first, by_second, client = sign_in(first), sign_in(second), confirmed(signed_in(ada))
    assert is_in(by_first) and is_in(by_second), "the premise"
    client.post(f"/sign-in/passkeys/{Passkey.objects.get(name='Another').pk}/remove/")
    assert (is_in(by_first), is_in(by_second), is_in(client)) == (True, False, True)
    by_first.post(f"/sign-in/passkeys/{Passkey.objects.get().pk}/remove/")
    assert not Passkey.objects.exists() and is_in(by_first), "the session in which it was just confirmed goes on"


def test_removing_an_identity_takes_back_the_groups_of_its_provider(
    ada: User, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("people", "by hand"):
        Group.objects.create(name=name)
    ada.groups.add(Group.objects.get(name="by hand"))
    configure(monkeypatch, provider.table(groups={"/chat": "people"}))
    provider.person |= {"groups": ["/chat"]}
    client = confirmed(signed_in(ada))
    client.get(provider.sign_in(start_sign_in(client, connect="yes")))
    sign_in_with_provider(provider)
    assert ada.group_names() == {"people", "by hand"}, "the premise"
    client.post(f"/sign-in/ways/{OutsideIdentity.objects.get().pk}/remove/")
    assert ada.group_names() == {"by hand"} and not OutsideIdentity.objects.exists()
