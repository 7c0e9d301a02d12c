"""With single sign-on, only emergency accounts have passwords, and the password pages refuse everybody else."""

import pytest
from django.test import Client

from chatui.accounts import password_links
from chatui.audit_log.record import SHELL
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure, sign_in_with_provider
from tests.chatui.accounts.scripted_provider import ScriptedProvider
from tests.chatui.conftest import PASSWORD, make_person, signed_in


@pytest.fixture
def rescue(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> User:
    """The one account that has a password that counts."""
    configure(monkeypatch, provider.table(), passwords="emergency", emergency_accounts=("rescue",))
    return make_person("rescue", staff=True)


def can_sign_in(name: str, password: str = PASSWORD) -> bool:
    return Client().post("/sign-in/", {"username": name, "password": password}).status_code == 302


@pytest.mark.usefixtures("rescue")
def test_only_the_emergency_account_signs_in_with_a_password(ada: User) -> None:
    assert can_sign_in("rescue") and not can_sign_in("ada") and not can_sign_in("rescue", "wrong")
    right = Client().post("/sign-in/", {"username": "ada", "password": PASSWORD}).content.decode()
    wrong = Client().post("/sign-in/", {"username": "ada", "password": "wrong"}).content.decode()
    assert "correct" in right and ("correct" in right) == ("correct" in wrong), "the answer does not reveal whether the password was right"


@pytest.mark.usefixtures("rescue")
def test_the_password_form_is_shown_on_request() -> None:
    assert 'name="password"' not in (page := Client().get("/sign-in/").content.decode()) and "?password" in page
    assert 'name="password"' in Client().get("/sign-in/?password").content.decode()


@pytest.mark.usefixtures("rescue")
def test_password_pages_refuse_everybody_else(ada: User) -> None:
    assert signed_in(ada).get("/password/").status_code == 404
    path = password_links.create(SHELL, ada, voids_password=False)
    assert Client().get(path).status_code == 404


def test_password_pages_work_for_the_emergency_account(rescue: User) -> None:
    assert signed_in(rescue).get("/password/").status_code == 200
    assert Client().get(password_links.create(SHELL, rescue, voids_password=False)).status_code == 200


def test_no_provider_or_directory_can_take_the_name_of_an_emergency_account(rescue: User, provider: ScriptedProvider) -> None:
    rescue.delete()
    provider.person["preferred_username"] = "rescue"
    sign_in_with_provider(provider)
    assert not User.objects.filter(username="rescue").exists() and User.objects.filter(username="rescue-2").exists()


def test_an_emergency_account_cannot_be_linked_to_an_identity(rescue: User, provider: ScriptedProvider) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "rescue", "password": PASSWORD})
    assert sign_in_with_provider(provider, client, connect="yes")[1].status_code == 403
    assert "Connect" not in client.get("/sign-in/ways/").content.decode()


def test_while_the_provider_is_down_the_emergency_account_can_sign_in(rescue: User, provider: ScriptedProvider) -> None:
    provider.fails = "/.well-known/openid-configuration"
    assert Client().post("/sign-in/with/company/").status_code == 503 and can_sign_in("rescue")
