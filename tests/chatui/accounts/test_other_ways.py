"""A second factor that a group requires, with a provider and a proxy that also sign people in: no password gets around it."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts import one_time_codes
from chatui.models.sign_in import OutsideIdentity, RequiredFactor, SecondFactor
from chatui.models.user import User
from tests.chatui.accounts.conftest import provider as provider
from tests.chatui.accounts.conftest import sign_in_with_provider, start_sign_in
from tests.chatui.accounts.scripted_provider import ScriptedProvider
from tests.chatui.accounts.test_second_factor import code_of, secret_in_app
from tests.chatui.conftest import PASSWORD, make_person
from tests.support import sign_in_file

PROXY = "192.0.2.1"


@pytest.fixture
def ada(db: None) -> User:
    """Has a password, and is in a group that demands a second factor, which she has not set up."""
    group = Group.objects.create(name="careful")
    RequiredFactor.objects.create(group=group)
    person = make_person("ada")
    person.groups.add(group)
    return person


def after_password() -> Client:
    """A browser of somebody who knows her password alone."""
    client = Client()
    assert client.post("/sign-in/", {"username": "ada", "password": PASSWORD})["Location"] == "/sign-in/code/"
    return client


def who(client: Client) -> str | None:
    key = client.session.get("_auth_user_id")
    return None if key is None else User.objects.get(pk=key).get_username()


def test_knowing_the_password_is_not_enough_to_connect_an_identity(ada: User, provider: ScriptedProvider) -> None:
    client = after_password()
    assert client.post("/sign-in/with/company/", {"connect": "yes"})["Location"] == "/"
    assert not client.session.get("single_sign_on") and who(client) is None
    # Nor by beginning without, and changing one's mind on the way.
    client.get(provider.sign_in(start_sign_in(client)))
    assert who(client) == "ada.l" and OutsideIdentity.objects.get().user != ada, "a separate account, and not hers"
    assert "second_step" not in client.session, "and her step is over"
    assert client.get("/sign-in/code/")["Location"] == "/sign-in/"
    client.get("/sign-in/second-factor/")
    assert not SecondFactor.objects.filter(user=ada).exists()


def test_a_person_who_signs_in_with_a_provider_needs_no_second_factor_here(ada: User, provider: ScriptedProvider) -> None:
    """As ``docs/accounts.md`` says; and her password is no second way in for somebody who signs in with the provider."""
    client, _ = sign_in_with_provider(provider)
    arrived = User.objects.get(username="ada.l")
    arrived.groups.add(Group.objects.get(name="careful"))
    assert sign_in_with_provider(provider)[1].status_code == 302 and not arrived.has_usable_password()
    assert Client().post("/sign-in/", {"username": "ada.l", "password": PASSWORD}).status_code == 200
    # A factor that is set up on the page there stays with that account, and opens none.
    client.get("/sign-in/second-factor/")
    row = SecondFactor.objects.filter(user=arrived).first()
    assert row is None or row.confirmed_at is None


def test_the_proxys_header_ends_another_persons_second_step_and_completes_none(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in_file.configure(monkeypatch, header={"name": "X-Remote-User", "proxies": [PROXY], "secret": "hush"})
    client = after_password()
    headers = {"X-Remote-User": "ada", "X-Proxy-Secret": "hush"}
    # An account is found by the identity that the proxy sent before, never by its name.
    answer = client.get("/", REMOTE_ADDR=PROXY, headers=headers)
    assert answer.status_code == 200 and who(client) not in (None, "ada")
    assert "second_step" not in client.session
    forged = after_password()
    for sent, peer in (({**headers, "X-Proxy-Secret": "guess"}, PROXY), (headers, "198.51.100.9")):
        assert forged.get("/", REMOTE_ADDR=peer, headers=sent).status_code in (302, 400, 403)
        assert who(forged) is None


def test_a_code_is_required_after_the_factor_was_set_up_in_another_browser(ada: User) -> None:
    """Two browsers after the password: what one has set up, the other must show, and its own secret is void."""
    one, other = after_password(), after_password()
    one.get("/sign-in/code/")
    other.get("/sign-in/code/")
    code = code_of(ada)
    assert one.post("/sign-in/code/", {"code": code}).status_code == 200 and who(one) == "ada"
    assert other.post("/sign-in/code/", {"code": code}).status_code == 200 and who(other) is None, "each code is valid once"
    assert one_time_codes.encoded_secret(secret_in_app(ada)) not in other.get("/sign-in/code/").content.decode()
