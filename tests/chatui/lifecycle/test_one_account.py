"""A directory and a sign-in use the same account, whichever comes first, and under whatever name."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission

from chatui.accounts.openid import NotAdmittedError, SingleSignOnError
from chatui.audit_log.record import SHELL
from chatui.lifecycle import closing
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.lifecycle.conftest import TABLE, Directory, person
from tests.chatui.lifecycle.test_scim_groups import groups_of
from tests.chatui.lifecycle.test_scim_people import OKTA_OFF, lines, sign_in, user_of
from tests.support import provider_sign_ins
from tests.support.people import close

ENTRA = TABLE | {"scim_claim": "oid"}
ACCOUNT_MANAGER = Permission.objects.filter(codename="change_user")


def sign_in_as(subject: str, directory_id: str, table: dict[str, Any] = ENTRA, groups: frozenset[str] | None = frozenset()) -> User:
    """A sign-in whose claims contain both."""
    return provider_sign_ins.sign_in(table, subject, groups=groups, directory_id=directory_id)


def is_open(user: User) -> bool:
    return User.objects.get(pk=user.pk).is_active


def test_a_person_who_signed_in_before_provisioning_keeps_their_account(directory: Directory) -> None:
    user = sign_in("00u1", name="countess")
    OutsideIdentity.objects.update(directory_id="")
    key = directory.create_account()
    assert user_of(key) == user and User.objects.count() == 2
    assert directory.ask("DELETE", f"Users/{key}")[0] == 204 and not is_open(user)


def test_another_claim_finds_the_account_with_the_next_sign_in(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    user = sign_in("pairwise")
    configure(monkeypatch, ENTRA)
    key = directory.create_account(number="oid-1")
    directory.group("Chat users", key)
    created = user_of(key)
    assert created != user, "the premise"
    assert sign_in_as("pairwise", "oid-1", groups=None) == user == user_of(key) and not is_open(created)
    assert groups_of(key) == {"people"} and not created.groups.exists(), "what the directory granted has moved with the person"
    browser = signed_in(user)
    directory.patch(f"Users/{key}", OKTA_OFF)
    assert not is_open(user) and browser.get("/").status_code == 302


@pytest.mark.parametrize("ends", ["off", "deleted"])
def test_a_closing_before_the_sign_in_closes_the_account_in_use(ends: str, directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    user = sign_in("pairwise")
    browser = signed_in(user)
    configure(monkeypatch, ENTRA)
    key = directory.create_account(number="oid-1")
    directory.patch(f"Users/{key}", OKTA_OFF) if ends == "off" else directory.ask("DELETE", f"Users/{key}")
    with pytest.raises(SingleSignOnError, match="not active"):
        sign_in_as("pairwise", "oid-1")
    assert not is_open(user) and browser.get("/").status_code == 302


def test_an_id_that_is_corrected_later_leads_to_the_account_in_use(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mapping, Entra ID sends something else as externalId."""
    configure(monkeypatch, ENTRA)
    key = directory.create_account(number="ada.l")
    created, user = user_of(key), sign_in_as("pairwise", "oid-1")
    assert user != created, "the premise"
    status, found = directory.patch(f"Users/{key}", {"op": "replace", "path": "externalId", "value": "oid-1"})
    assert status == 200 and found["externalId"] == "oid-1" and user_of(key) == user and not is_open(created)
    assert directory.patch(f"Users/{key}", OKTA_OFF)[1]["active"] is False and not is_open(user)
    assert directory.patch(f"Users/{key}", {"op": "replace", "value": {"active": True}})[0] == 200 and is_open(user)


def test_an_external_id_is_required(directory: Directory) -> None:
    for number in ("", None):
        assert directory.ask("POST", "Users", person(number=number))[0] == 400  # type: ignore[arg-type]
    assert not ProvisionedAccount.objects.exists() and User.objects.count() == 1


def test_two_accounts_that_were_both_used_are_closed_together(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, ENTRA)
    key = directory.create_account(number="ada.l")
    created, user = user_of(key), sign_in_as("pairwise", "oid-1")
    Conversation.objects.create(owner=created)
    directory.patch(f"Users/{key}", {"op": "replace", "path": "externalId", "value": "oid-1"})
    assert user_of(key) == created and is_open(created) and is_open(user)
    assert "two accounts for one person" in lines(user.username)
    assert directory.ask("DELETE", f"Users/{key}")[0] == 204
    assert not is_open(created) and not is_open(user)


def test_a_person_deleted_by_the_directory_gets_no_new_account(directory: Directory) -> None:
    directory.ask("DELETE", f"Users/{directory.create_account()}")
    with pytest.raises(SingleSignOnError, match="not active"):
        sign_in("00u1")
    assert User.objects.count() == 2


def test_an_identity_cannot_be_connected_with_a_second_account(directory: Directory) -> None:
    ada = make_person("countess")
    key = directory.create_account()
    created = user_of(key)
    directory.patch(f"Users/{key}", OKTA_OFF)
    with pytest.raises(NotAdmittedError):
        provider_sign_ins.connect(ada, TABLE, "00u1", directory_id="00u1")
    directory.patch(f"Users/{key}", {"op": "replace", "value": {"active": True}})
    provider_sign_ins.connect(ada, TABLE, "00u1", directory_id="00u1")
    assert user_of(key) == ada and not is_open(created)
    directory.patch(f"Users/{key}", OKTA_OFF)
    assert not is_open(ada)


@pytest.mark.parametrize("between", ["removed", "group deleted", "nothing"])
def test_a_person_who_is_added_again_has_no_former_permissions(between: str, directory: Directory) -> None:
    key = directory.create_account()
    group = directory.group("Chat admins", key)
    assert user_of(key).is_staff and groups_of(key) == {"people", "debuggers"}, "the premise"
    directory.ask("DELETE", f"Users/{key}")
    if between == "removed":
        directory.patch(f"Groups/{group}", {"op": "remove", "path": f'members[value eq "{key}"]'})
    elif between == "group deleted":
        directory.ask("DELETE", f"Groups/{group}")
    again = directory.create_account()
    assert user_of(again).is_active and not user_of(again).is_staff and groups_of(again) == set()
    if between == "nothing":
        assert directory.ask("GET", f"Groups/{group}")[1]["members"] == []


def test_no_change_of_a_group_removes_the_last_account_manager(directory: Directory) -> None:
    key = directory.create_account()
    admins = directory.group("Chat admins", key)
    user_of(key).user_permissions.set(ACCOUNT_MANAGER)
    User.objects.create(username="left", is_staff=True, password="!").user_permissions.set(ACCOUNT_MANAGER)  # nobody can get into it
    close(User.objects.get(username="keeper"))
    removal = {"op": "remove", "path": "members"}
    assert directory.patch(f"Groups/{admins}", removal)[0] == 403 and directory.ask("DELETE", f"Groups/{admins}")[0] == 403
    assert directory.patch(f"Users/{key}", OKTA_OFF)[0] == 403
    assert user_of(key).is_staff and groups_of(key) == {"people", "debuggers"}
    assert len(directory.ask("GET", f"Groups/{admins}")[1]["members"]) == 1
    assert lines("ada@example.org")[-3:] == ["account not changed", "account not changed", "account not closed"]
    assert sign_in("00u1", name="ada@example.org").is_staff, "nor a sign-in whose claim is empty"
    closing.reopen_account(User.objects.get(username="keeper"), SHELL)
    assert directory.patch(f"Groups/{admins}", removal)[0] == 200 and not user_of(key).is_staff, "the twin"


def test_a_request_that_is_refused_changes_nothing_at_all(directory: Directory) -> None:
    key = directory.create_account()
    User.objects.filter(pk=user_of(key).pk).update(is_staff=True)
    user_of(key).user_permissions.set(ACCOUNT_MANAGER)
    close(User.objects.get(username="keeper"))
    assert directory.ask("PUT", f"Users/{key}", person("renamed@example.org", active=False))[0] == 403
    assert user_of(key).username == "ada@example.org" and directory.ask("GET", f"Users/{key}")[1]["userName"] == "ada@example.org"


def test_members_of_a_directory_may_sign_in_if_the_token_has_no_groups(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {name: value for name, value in TABLE.items() if name != "who_may_enter"} | {"enter_groups": ["Chat users"]}
    configure(monkeypatch, table)
    ada, bela = directory.create_account(), directory.create_account("bela@example.org", "00u2")
    group = directory.group("Chat users", ada)
    assert sign_in_as("00u1", "00u1", table, None) == user_of(ada) and groups_of(ada) == {"people"}
    with pytest.raises(NotAdmittedError):
        sign_in_as("00u2", "00u2", table, None)
    with pytest.raises(NotAdmittedError):
        sign_in_as("00u1", "00u1", table, frozenset())  # a claim that is there decides
    directory.patch(f"Groups/{group}", {"op": "remove", "path": "members"}, {"op": "add", "path": "members", "value": [{"value": bela}]})
    with pytest.raises(NotAdmittedError):
        sign_in_as("00u1", "00u1", table, None)
    assert sign_in_as("00u2", "00u2", table, None) == user_of(bela)
    assert not AuditEvent.objects.filter(action="groups not said").exists()
