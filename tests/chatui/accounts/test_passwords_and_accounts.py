"""What happens to keys when a password changes, and keys for accounts that nobody can sign in to."""

import pytest
import pytest_django
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from chatui.accounts import key_admission
from chatui.models.audit import AuditEvent
from chatui.models.programs import ApiKey
from chatui.models.user import AccountChange, User
from tests.chatui.accounts.test_password_links import link_for, set_password
from tests.chatui.api.asking import key_of
from tests.chatui.conftest import PASSWORD, confirmed, make_person, signed_in
from tests.support.staff_pages import page_of

pytestmark = pytest.mark.django_db

NEW = "quite another password"
FORM = {"name": "Night job", "formats": ["responses"], "lasts": "90", "per_minute": "60"}


@pytest.fixture
def olga() -> User:
    """Looks after accounts."""
    return make_person("olga", "add_user", "change_user", "view_user", staff=True)


@pytest.fixture
def service() -> User:
    account = User.objects.create_user("nightly")
    assert not account.has_usable_password()
    return account


def works(key: str) -> bool:
    try:
        key_admission.admit(key, "192.0.2.9")
    except key_admission.KeyRefusedError:
        return False
    return True


def test_voiding_a_password_revokes_the_keys(olga: User, ada: User) -> None:
    key = key_of(ada)
    link_for(ada, olga)
    assert works(key), "a link that is not used changes nothing"
    link_for(ada, olga, void="yes")
    assert not works(key)
    line = AuditEvent.objects.get(action="revoke API key with the password")
    assert (line.actor_name, line.owner_name, line.detail) == ("olga", "ada", key[:11])


def test_choosing_a_password_with_a_link_revokes_the_keys(olga: User, ada: User) -> None:
    key, path = key_of(ada), link_for(ada, olga)
    assert "API keys" in Client().get(path).content.decode()
    assert set_password(path) == 302 and not works(key)


@pytest.mark.parametrize("also", [True, False])
def test_people_who_change_their_password_are_asked_about_their_keys(also: bool, ada: User) -> None:
    client = signed_in(ada)
    assert "also" not in client.get("/password/").context["form"].fields
    key = key_of(ada)
    assert "also" in client.get("/password/").context["form"].fields
    sent = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW} | ({"also": ["keys"]} if also else {})
    assert client.post("/password/", sent).status_code == 302
    assert works(key) is not also


def test_staff_create_a_key_for_an_account_that_nobody_can_sign_in_to(olga: User, service: User) -> None:
    client = signed_in(olga)
    path = page_of(service, "key")
    assert path in client.get(page_of(service)).content.decode()
    assert "raw reasoning" not in client.get(path).content.decode()
    created = client.post(path, FORM).context["made"]
    row = ApiKey.objects.get()
    assert works(created.text) and (row.owner, row.made_by_name, row.for_chat) == (service, "olga", False)
    line = AuditEvent.objects.get(action="make API key for an account")
    assert (line.actor_name, line.owner_name) == ("olga", "nightly") and AccountChange.objects.get().changed_id == service.pk
    assert created.text not in client.get(path).content.decode()
    assert client.post(path, FORM | {"more": ["hidden"]}).status_code == 400


def test_staff_cannot_create_a_key_for_a_person_even_after_removing_their_password(olga: User, ada: User) -> None:
    path = page_of(ada, "key")
    client = signed_in(olga)
    User.objects.filter(pk=ada.pk).update(last_login=timezone.now())
    link_for(ada, olga, void="yes")
    assert "<form" not in client.get(path).content.decode().partition("<main")[2]
    assert client.post(path, FORM).status_code == 400 and not ApiKey.objects.exists()


def test_staff_who_may_not_change_an_account_cannot_create_a_key_for_it(ada: User, service: User) -> None:
    path = page_of(service, "key")
    watcher = make_person("vera", "view_user", staff=True)
    assert signed_in(watcher).post(path, FORM).status_code == signed_in(ada).post(path, FORM).status_code == 404
    service.user_permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    assert signed_in(make_person("olaf", "view_user", "change_user", staff=True)).post(path, FORM).status_code == 404, (
        "it has more permissions than they"
    )
    assert not ApiKey.objects.exists()


def test_only_people_who_may_see_hidden_channels_are_offered_a_key_that_reads_them(ada: User, settings: pytest_django.Settings) -> None:
    staff = make_person("rosa", "view_hidden_channels", staff=True)
    for person, offered in ((ada, False), (staff, True)):
        client = confirmed(signed_in(person))
        assert ("raw reasoning: each" in client.get("/keys/").content.decode()) is offered
        assert client.post("/keys/", FORM | {"more": ["hidden", "all"]}).status_code == (200 if offered else 400)
    row = ApiKey.objects.get()
    assert (row.owner, row.views_hidden, row.reads_all) == (staff, True, True)
    assert "reads raw reasoning" in AuditEvent.objects.get(action="make API key").detail
    page = signed_in(staff).get("/keys/").content.decode()
    assert "<strong>reads raw reasoning</strong>" in page
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"debug_approval": True})
    assert "raw reasoning: each" not in confirmed(signed_in(staff)).get("/keys/").content.decode()
