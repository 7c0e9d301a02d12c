"""Groups of a directory: which of our groups their members join and leave, and what they never grant."""

from typing import Any

import pytest
from django.contrib.auth.models import Group

from chatui.models.audit import AuditEvent
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.user import User
from tests.chatui.lifecycle.conftest import Directory
from tests.chatui.lifecycle.test_scim_people import user_of

REMOVALS: list[Any] = [
    lambda key: {"op": "remove", "path": f'members[value eq "{key}"]'},
    lambda key: {"op": "Remove", "path": "members", "value": [{"value": key}]},
    lambda key: {"op": "remove", "path": "members"},
    lambda key: {"op": "replace", "path": "members", "value": []},
    lambda key: {"op": "replace", "value": {"members": []}},
]


def groups_of(key: str) -> set[str]:
    return set(user_of(key).groups.values_list("name", flat=True))


@pytest.mark.parametrize("removal", REMOVALS)
def test_members_join_and_leave_in_every_form(removal: Any, directory: Directory) -> None:
    ada = directory.create_account()
    user_of(ada).groups.add(Group.objects.get(name="others"))
    key = directory.group("Chat users", ada)
    assert groups_of(ada) == {"people", "others"}
    status, found = directory.patch(f"Groups/{key}", removal(ada))
    assert status == 200 and found["members"] == [] and groups_of(ada) == {"others"}, "groups that are not in the table stay"
    assert directory.patch(f"Groups/{key}", {"op": "add", "path": "members", "value": [{"value": ada}]})[0] == 200
    assert groups_of(ada) == {"people", "others"}
    details = list(AuditEvent.objects.filter(action="account changed").order_by("number").values_list("detail", flat=True))
    assert details == ["joined group people, says company", "left group people, says company", "joined group people, says company"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": 'members[display eq "ada@example.org"]'},
        {"op": "remove", "path": 'members[value eq "x" or value pr]'},
        {"op": "remove"},
        {"op": "replace", "path": 'members[value eq "x"]', "value": []},
        {"op": "add", "path": "members", "value": ["x"]},
        {"op": "add", "path": "members", "value": [{"value": 7}]},
        {"op": "remove", "path": "members", "value": "x"},
        {"op": "move", "path": "members"},
        {"op": "replace", "path": "displayName", "value": ""},
        {"op": "replace", "path": ["members"], "value": []},
        None,
    ],
)
def test_an_unsupported_change_is_refused_completely(operation: Any, directory: Directory) -> None:
    """A removal that is passed over would leave access."""
    ada = directory.create_account()
    key = directory.group("Chat users", ada)
    status, found = directory.patch(f"Groups/{key}", {"op": "remove", "path": "members"}, operation)
    assert status == 400 and found["status"] == "400" and groups_of(ada) == {"people"}


def test_only_the_operators_table_maps_groups(directory: Directory) -> None:
    ada = directory.create_account()
    key = directory.group("others", ada)
    assert groups_of(ada) == set(), "a group of the product with the same name is unaffected"
    directory.patch(f"Groups/{key}", {"op": "replace", "value": {"id": key, "displayName": "Chat admins"}})
    assert groups_of(ada) == {"people", "debuggers"} and user_of(ada).is_staff and not user_of(ada).is_superuser
    assert directory.ask("PUT", f"Groups/{key}", {"displayName": "Elsewhere"})[0] == 200
    assert groups_of(ada) == set() and not user_of(ada).is_staff
    directory.patch(f"Groups/{key}", {"op": "add", "path": "externalId", "value": "7f3c"})
    assert groups_of(ada) == {"people"}, "the table may name what the directory's id is"


def test_deleting_one_of_two_groups(directory: Directory) -> None:
    ada = directory.create_account()
    users, admins = directory.group("Chat users", ada), directory.group("Chat admins", ada)
    assert directory.ask("DELETE", f"Groups/{admins}") == (204, None)
    assert groups_of(ada) == {"people"} and not user_of(ada).is_staff
    assert directory.ask("GET", f"Groups/{admins}")[0] == 404
    assert directory.ask("POST", "Groups", {"displayName": "Chat users"})[0] == 409
    assert directory.ask("GET", f"Groups/{users}", excludedAttributes="members")[1].get("members") is None
    found = directory.ask("GET", "Groups", filter='displayName eq "Chat users"', excludedAttributes="members")[1]
    assert [each["id"] for each in found["Resources"]] == [users]


def test_only_accounts_of_the_directory_can_join(directory: Directory) -> None:
    another = Directory("another").create_account("bela@example.org", "00u5")
    root = directory.create_account("root@example.org", "00u6")
    User.objects.filter(pk=user_of(root).pk).update(is_superuser=True)
    members = [another, root, str(User.objects.get(username="keeper").pk), "x", "0" * 400]
    key = directory.group("Chat admins", *members)
    assert directory.ask("GET", f"Groups/{key}")[1]["members"] == []
    assert not any(groups_of(each) for each in (another, root)) and not User.objects.get(username="keeper").groups.exists()
    assert Directory("another").ask("GET", f"Groups/{key}")[0] == 404


def test_too_many_ids_are_refused(directory: Directory) -> None:
    key = directory.group("Chat users")
    many = [{"value": "0190a0a0-0000-7000-8000-000000000000"}] * 10_001
    assert directory.patch(f"Groups/{key}", {"op": "add", "path": "members", "value": many})[0] == 400
    assert directory.patch(f"Groups/{key}", *[{"op": "add", "path": "members", "value": []}] * 1001)[0] == 400
    assert ProvisionedAccount.objects.count() == 0
