"""Accounts that Okta and Entra ID create, change and close."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chatui.accounts.api_keys import is_service_account
from chatui.lifecycle import closing
from chatui.models.audit import AuditEvent
from chatui.models.provisioning import ProvisionedAccount, ProvisioningToken
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import ClosingCause, User
from tests.chatui.accounts.conftest import configure
from tests.chatui.conftest import PASSWORD, signed_in
from tests.chatui.lifecycle.conftest import TABLE, Directory, person
from tests.support import provider_sign_ins
from tests.support.people import close

OKTA_OFF = {"op": "replace", "value": {"active": False}}
ENTRA_OFF = {"op": "Replace", "path": "active", "value": "False"}
WAYS_OFF = [OKTA_OFF, ENTRA_OFF, {"op": "add", "path": "urn:ietf:params:scim:schemas:core:2.0:User:active", "value": False}]


def user_of(key: str) -> User:
    return ProvisionedAccount.objects.select_related("user").get(pk=key).user


def lines(name: str) -> list[str]:
    return list(AuditEvent.objects.filter(owner_name=name).order_by("number").values_list("action", flat=True))


def sign_in(subject: str, name: str = "ada", **more: Any) -> User:
    """With the provider, after or before its directory has sent the account."""
    return provider_sign_ins.sign_in(TABLE, subject, name, directory_id=subject, **more)


def test_the_first_calls_of_okta(directory: Directory) -> None:
    """It asks whether there is such a person, makes one, and asks again."""
    status, found = directory.ask("GET", "Users", filter='userName eq "ada@example.org"', startIndex="1", count="100")
    assert (status, found["totalResults"], found["Resources"]) == (200, 0, [])
    status, created = directory.ask("POST", "Users", person())
    assert status == 201 and created["active"] is True and created["userName"] == "ada@example.org" and created["externalId"] == "00u1"
    assert created["meta"]["location"] == f"http://testserver/scim/v2/Users/{created['id']}"
    status, found = directory.ask("GET", "Users", filter='userName eq "ADA@example.org"')
    assert found["totalResults"] == 1 and found["Resources"][0] == created
    assert directory.ask("GET", f"Users/{created['id']}") == (200, created)
    user = user_of(created["id"])
    assert (user.username, user.email, user.first_name) == ("ada@example.org", "ada@example.org", "Ada")
    assert not user.has_usable_password() and not user.is_staff and not user.is_superuser
    assert lines(user.username) == ["account created"]


def test_a_create_that_is_repeated_is_a_conflict_and_changes_nothing(directory: Directory) -> None:
    key = directory.create_account()
    for body in (person(), person(number="other"), person("other@example.org")):
        status, found = directory.ask("POST", "Users", body)
        assert (status, found["scimType"], found["status"]) == (409, "uniqueness", "409")
    row = ProvisionedAccount.objects.get()
    assert (str(row.pk), row.external_id) == (key, "00u1") and User.objects.exclude(username="keeper").count() == 1


@pytest.mark.parametrize("operation", WAYS_OFF)
def test_a_deactivated_person_loses_access_at_once_and_can_be_reactivated(operation: dict[str, Any], directory: Directory) -> None:
    key = directory.create_account()
    browser = signed_in(user_of(key))
    assert browser.get("/").status_code == 200, "the premise"
    status, found = directory.patch(f"Users/{key}", operation)
    assert status == 200 and found["active"] is False and browser.get("/").status_code == 302
    assert closing.closed_by(user_of(key)) == (ClosingCause.PROVISIONING, "company")
    assert directory.patch(f"Users/{key}", operation)[0] == 200, "again is harmless"
    status, found = directory.patch(f"Users/{key}", {"op": "replace", "path": "active", "value": "True"})
    assert status == 200 and found["active"] is True and user_of(key).is_active
    assert lines("ada@example.org") == ["account created", "account closed", "account reopened"]


def test_an_account_closed_by_staff_stays_closed(directory: Directory) -> None:
    key = directory.create_account()
    close(user_of(key))
    status, found = directory.patch(f"Users/{key}", {"op": "replace", "value": {"active": True}})
    assert status == 200 and found["active"] is False and not user_of(key).is_active


def test_the_changes_that_entra_sends(directory: Directory) -> None:
    key = directory.create_account()
    status, found = directory.patch(
        f"Users/{key}",
        {"op": "Add", "path": "name.familyName", "value": "King"},
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "king@example.org"},
        {"op": "Replace", "path": "userName", "value": "king@example.org"},
        {"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "Engines"},
        {"op": "Replace", "value": {"name.givenName": "Augusta", "title": "Countess"}},
    )
    assert status == 200 and found["name"] == {"givenName": "Augusta", "familyName": "King"}
    user = user_of(key)
    assert (user.username, user.email) == ("king@example.org", "king@example.org")
    assert lines("king@example.org") == ["account changed", "account changed"]


def test_a_change_selects_one_of_several_values(directory: Directory) -> None:
    key = directory.create_account()
    for operation in (
        {"op": "replace", "path": 'emails[type eq "home"].value', "value": "home@example.org"},
        {"op": "remove", "path": 'emails[type eq "other"]'},
    ):
        assert directory.patch(f"Users/{key}", operation)[1]["emails"][0]["value"] == "ada@example.org"
    status, found = directory.patch(
        f"Users/{key}",
        {"op": "replace", "path": "name", "value": {"givenName": "Augusta"}},
        {"op": "add", "path": "emails", "value": {"value": "king@example.org", "type": "work"}},
    )
    assert (status, found["name"]["givenName"], found["emails"][0]["value"]) == (200, "Augusta", "king@example.org")
    assert "emails" not in directory.patch(f"Users/{key}", {"op": "remove", "path": 'emails[type eq "work"]'})[1], "the twin"


def test_a_put_keeps_attributes_that_it_does_not_have(directory: Directory) -> None:
    key = directory.create_account()
    status, found = directory.ask("PUT", f"Users/{key}", {"userName": "ada@example.org", "name": {"familyName": "King"}})
    assert status == 200 and found["externalId"] == "00u1" and found["name"] == {"givenName": "Ada", "familyName": "King"}
    assert found["active"] is True
    assert directory.ask("PUT", f"Users/{key}", person(active=False))[1]["active"] is False


def test_a_deleted_persons_account_is_closed_and_can_be_created_again(directory: Directory) -> None:
    key = directory.create_account()
    user = user_of(key)
    assert directory.ask("DELETE", f"Users/{key}") == (204, None)
    assert not User.objects.get(pk=user.pk).is_active and User.objects.filter(pk=user.pk).exists(), "closed, not erased"
    for method in ("GET", "DELETE", "PUT"):
        assert directory.ask(method, f"Users/{key}", person() if method == "PUT" else None)[0] == 404
    assert directory.ask("GET", "Users")[1]["totalResults"] == 0
    again = directory.create_account(name="renamed@example.org")
    assert user_of(again) == user and User.objects.get(pk=user.pk).is_active
    other = directory.create_account(name="ada@example.org", number="00u2")
    assert user_of(other) != user, "a name moves to another person, but no account does"


def test_only_the_provisioned_person_signs_in_to_their_account(directory: Directory) -> None:
    key = directory.create_account()
    stranger = sign_in("00u9", name="ada@example.org")
    assert stranger != user_of(key), "a name proves nothing"
    assert sign_in("00u1", name="ada@example.org") == user_of(key)
    assert OutsideIdentity.objects.get(user=user_of(key)).subject == "00u1"
    assert sign_in("00u1") == user_of(key)


def test_a_person_who_signed_in_before_is_adopted_with_their_account(directory: Directory) -> None:
    user = sign_in("00u1", name="countess")
    key = directory.create_account()
    assert user_of(key) == user and User.objects.get(pk=user.pk).username == "countess", "their name is not the directory's to choose"
    directory.patch(f"Users/{key}", OKTA_OFF)
    assert not User.objects.get(pk=user.pk).is_active


def test_staff_create_no_key_for_an_account_that_nobody_has_used(directory: Directory) -> None:
    """They would read with it what the person writes later."""
    assert not is_service_account(user_of(directory.create_account()))
    assert is_service_account(User.objects.create_user("service")), "the twin"


def test_a_directory_cannot_change_superusers_and_emergency_accounts(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    key, rescue = directory.create_account(), directory.create_account("rescue", "00u7")
    user_of(rescue)
    User.objects.filter(pk=user_of(key).pk).update(is_superuser=True)
    configure(monkeypatch, TABLE, emergency_accounts=("rescue",))
    for each in (key, rescue):
        assert directory.ask("GET", f"Users/{each}")[0] == 404
        assert directory.patch(f"Users/{each}", OKTA_OFF)[0] == 404 and directory.ask("DELETE", f"Users/{each}")[0] == 404
        assert user_of(each).is_active
    assert directory.ask("GET", "Users")[1]["totalResults"] == 0
    OutsideIdentity.objects.create(
        user=User.objects.create_superuser("root", password=PASSWORD),
        issuer=str(TABLE["issuer"]),
        subject="00u3",
        provider="company",
        directory_id="00u3",
    )
    assert directory.ask("POST", "Users", person("root", "00u3"))[0] == 403
    assert not ProvisionedAccount.objects.filter(user__username="root").exists()
    assert directory.ask("POST", "Users", person("keeper", "00u4"))[1]["userName"] == "keeper"
    assert User.objects.get(username="keeper").provisioned_accounts.count() == 0, "an existing account with that name is not taken over"


def test_one_directory_does_not_know_the_people_of_another(directory: Directory) -> None:
    key, another = directory.create_account(), Directory("another")
    assert another.ask("GET", f"Users/{key}")[0] == 404 and another.patch(f"Users/{key}", OKTA_OFF)[0] == 404
    assert another.ask("GET", "Users", filter='userName eq "ada@example.org"')[1]["totalResults"] == 0
    assert user_of(another.create_account()) != user_of(key) and user_of(key).is_active


def test_a_list_is_paginated(directory: Directory) -> None:
    keys = sorted(directory.create_account(f"person-{number}", f"00u{number}") for number in range(5))
    found = [directory.ask("GET", "Users", startIndex=str(start), count="2")[1] for start in (1, 3, 5, 7)]
    assert [[each["id"] for each in page["Resources"]] for page in found] == [keys[:2], keys[2:4], keys[4:], []]
    assert {page["totalResults"] for page in found} == {5} and [page["startIndex"] for page in found] == [1, 3, 5, 7]
    assert directory.ask("GET", "Users", count="0")[1]["totalResults"] == 5
    assert len(directory.ask("GET", "Users", count="999999", startIndex="-3")[1]["Resources"]) == 5


def test_the_token_is_created_by_the_operator_shown_once_and_revoked(directory: Directory) -> None:
    output = StringIO()
    call_command("scim_token", "company", stdout=output)
    token = output.getvalue().strip()
    assert token not in str(list(ProvisioningToken.objects.values())) and token not in str(list(AuditEvent.objects.values()))
    assert directory.ask("GET", "Users")[0] == 401, "the previous one becomes invalid"
    assert Client(headers={"authorization": f"bearer {token}"}).get("/scim/v2/Users").status_code == 200
    call_command("scim_token", "company", "--revoke", stdout=StringIO())
    assert Client(headers={"authorization": f"Bearer {token}"}).get("/scim/v2/Users").status_code == 401
    for arguments in (["nobody"], ["company", "--revoke"]):
        with pytest.raises(CommandError):
            call_command("scim_token", *arguments)


@pytest.mark.parametrize(
    ("operation", "status", "address"),
    [
        ({"op": "remove", "path": 'emails[value eq "old-home@example.org"]'}, 200, "ada@example.org"),
        ({"op": "remove", "path": 'emails[value eq "ADA@example.org"]'}, 200, None),
        ({"op": "replace", "path": 'emails[value eq "other@example.org"].value', "value": "new@example.org"}, 400, "ada@example.org"),
        ({"op": "replace", "path": "emails[primary eq true].value", "value": "new@example.org"}, 200, "new@example.org"),
        ({"op": "replace", "path": 'emails[value eq "ada@example.org"].value', "value": "new@example.org"}, 200, "new@example.org"),
        ({"op": "add", "path": "emails", "value": [{"type": "home", "value": "home@example.org"}]}, 200, "ada@example.org"),
        ({"op": "add", "path": "emails", "value": [{"type": "work", "value": "new@example.org"}]}, 200, "new@example.org"),
    ],
)
def test_a_selector_that_matches_nothing_changes_nothing(
    operation: dict[str, Any], status: int, address: str | None, directory: Directory
) -> None:
    key = directory.create_account()
    found = directory.patch(f"Users/{key}", operation)
    assert found[0] == status and (status == 200 or found[1]["scimType"] == "noTarget")
    emails = directory.ask("GET", f"Users/{key}")[1].get("emails")
    assert (emails and emails[0]["value"]) == address
