"""Groups from a provider or a directory are a state: what it says now is what holds, in whatever order things happened."""

from typing import Any

import pytest
from django.contrib.auth.models import Group

from chatui.accounts import provider_groups
from chatui.accounts.openid import NotListedError
from chatui.models.audit import AuditEvent
from chatui.models.provisioning import GivenGroups
from chatui.models.user import User
from tests.chatui.accounts.conftest import configure
from tests.chatui.lifecycle.conftest import TABLE, Directory
from tests.chatui.lifecycle.test_scim_people import user_of
from tests.support import provider_sign_ins

ELSEWHERE = TABLE | {"key": "another", "issuer": "https://another.example.org", "groups": {"all": "people"}, "staff": []}


def sign_in(*groups: str, has_claim: bool = True, table: dict[str, Any] = TABLE, subject: str = "00u1") -> User:
    return provider_sign_ins.sign_in(table, subject, groups=frozenset(groups) if has_claim else None, directory_id=subject)


def names(person: User) -> set[str]:
    return set(person.group_names())


def add(directory: Directory, group: str, key: str) -> None:
    assert directory.patch(f"Groups/{group}", {"op": "add", "path": "members", "value": [{"value": key}]})[0] == 200


def test_without_the_claim_the_directorys_state_holds(directory: Directory) -> None:
    key = directory.create_account()
    directory.group("Chat users", key)
    person = sign_in("Chat admins")
    assert names(person) == {"people", "debuggers"} and person.is_staff, "the premise"
    person = sign_in(has_claim=False)
    assert names(person) == {"people"} and not person.is_staff, "the directory never said so"
    assert names(sign_in()) == set(), "an empty claim is one"
    assert names(sign_in(has_claim=False)) == {"people"}, "the directory still lists the person"
    assert not AuditEvent.objects.filter(action="groups not said").exists()


def test_whom_the_directory_does_not_know_it_gives_nothing(directory: Directory) -> None:
    directory.group("Chat users", directory.create_account())
    assert names(sign_in("Chat users", subject="00u7")) == {"people"}, "the premise"
    assert names(sign_in(has_claim=False, subject="00u7")) == set()


@pytest.mark.parametrize("how", ["add", "PUT", "replace"])
def test_members_that_are_named_again_are_synchronized(how: str, directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    key = directory.create_account()
    group = directory.group("Later", key)
    assert not names(user_of(key)), "the premise: the table has no such line"
    changed = TABLE | {"groups": TABLE["groups"] | {"Later": "others"}}  # type: ignore[operator]
    configure(monkeypatch, changed)
    match how:
        case "add":
            add(directory, group, key)
        case "PUT":
            assert directory.ask("PUT", f"Groups/{group}", {"displayName": "Later", "members": [{"value": key}]})[0] == 200
        case "replace":
            directory.patch(f"Groups/{group}", {"op": "replace", "path": "members", "value": [{"value": key}]})
    assert names(user_of(key)) == {"others"}


def test_a_changed_table_is_applied_at_the_start(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    person = sign_in("Chat admins")
    by_directory = user_of(directory.create_account("bela@example.org", "00u2"))
    directory.group("Later", str(by_directory.provisioned_accounts.get().pk))
    changed = TABLE | {"groups": {"Chat users": "people", "Chat admins": "people", "Later": "others"}, "staff": []}
    configure(monkeypatch, changed)
    assert provider_groups.apply_tables() == 2 and provider_groups.apply_tables() == 0
    assert names(person) == {"people"} and names(by_directory) == {"others"}, "a line that is gone, and one that came"
    assert not User.objects.get(pk=person.pk).is_staff, "it was staff by a line that is gone"
    assert AuditEvent.objects.filter(owner_name=person.username, detail="left group debuggers, says company").exists()


def test_a_provider_that_is_gone_gives_nothing_and_mistakes_change_nothing(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    person = sign_in("Chat admins")
    configure(monkeypatch, problems=("the file is not TOML",))
    assert provider_groups.apply_tables() == 0 and names(person) == {"people", "debuggers"}
    configure(monkeypatch)
    assert provider_groups.apply_tables() == 1 and names(person) == set()
    configure(monkeypatch, TABLE)
    assert provider_groups.apply_tables() == 1 and names(person) == {"people", "debuggers"}, "a mistake can be undone"


def test_groups_that_staff_gave_stay(directory: Directory) -> None:
    key = directory.create_account()
    for name in ("people", "others"):
        user_of(key).groups.add(Group.objects.get(name=name))
    group = directory.group("Chat admins", key)
    assert names(user_of(key)) == {"people", "debuggers", "others"}
    directory.ask("DELETE", f"Groups/{group}")
    assert names(user_of(key)) == {"people", "others"}
    assert names(sign_in()) == {"people", "others"}


def test_what_another_provider_gives_stays(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, TABLE, ELSEWHERE)
    person = sign_in("Chat users")
    provider_sign_ins.connect(person, ELSEWHERE, "x", groups=frozenset({"all"}))
    provider_sign_ins.sign_in(ELSEWHERE, "x", groups=frozenset({"all"}))
    assert names(sign_in()) == {"people"}, "the other one still gives it"
    assert names(provider_sign_ins.sign_in(ELSEWHERE, "x")) == set()


def test_groups_from_before_this_was_noted_were_given_by_the_provider(directory: Directory) -> None:
    person = sign_in("Chat admins")
    GivenGroups.objects.all().delete()
    assert names(sign_in()) == set() and not User.objects.get(pk=person.pk).is_staff


def test_whoever_may_not_enter_is_given_nothing_until_they_may(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    person = sign_in("Chat users")
    with pytest.raises(NotListedError):
        sign_in("Chat users", table=TABLE | {"who_may_enter": "listed", "enter_groups": ["Chat admins"]})
    configure(monkeypatch, TABLE | {"groups": {"Chat users": ["people", "others"]}})
    provider_groups.apply_tables()
    directory.group("Chat users", directory.create_account())
    assert names(person) == set()
    assert names(sign_in(has_claim=False, table=TABLE)) == {"people"}, "as it was said last"
