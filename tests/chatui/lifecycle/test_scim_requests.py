"""Which requests the SCIM endpoints accept, and how they refuse all others."""

import json
import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client

from chatui.env import BASE_DIR
from chatui.models.audit import AuditEvent
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.chatui.lifecycle.conftest import Directory, person

PATHS = ["ServiceProviderConfig", "ResourceTypes", "ResourceTypes/User", "Schemas", "Users", "Users/x", "Groups", "Groups/x"]


@pytest.mark.parametrize("authorization", ["", "Basic {}", "Bearer {}x", "{}"])
def test_without_the_token_everything_is_refused(authorization: str, directory: Directory) -> None:
    client = Client(headers={"authorization": authorization.format(directory.token)})
    for path in PATHS[:3]:
        answer = client.get(f"/scim/v2/{path}")
        assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    assert client.post("/scim/v2/Users", person(), content_type="application/json").status_code == 401
    assert not ProvisionedAccount.objects.exists()


def test_a_session_is_no_token_and_a_token_is_no_session(directory: Directory) -> None:
    root = User.objects.create_superuser("root", password="correct horse battery")
    assert signed_in(root).get("/scim/v2/Users").status_code == 401
    for path in ("/", "/usage/", "/audit/", "/search/?q=a", "/keys/"):
        assert directory.client.get(path).status_code == 302, path
    assert directory.client.get("/v1/models").status_code == 401
    assert directory.client.get("/metrics").status_code in (401, 404)


def test_wrong_tokens_are_counted_recorded_and_a_right_one_is_never_refused_for_them(directory: Directory) -> None:
    wrong = Client(headers={"authorization": f"Bearer scim_{'x' * 43}"})
    found = [wrong.get("/scim/v2/Users").status_code for _ in range(30)]
    assert found[0] == 401 and found[-1] == 429
    assert 0 < AuditEvent.objects.filter(action="directory token refused").count() <= 6
    assert directory.ask("GET", "Users")[0] == 200


def test_the_service_description(directory: Directory) -> None:
    status, found = directory.ask("GET", "ServiceProviderConfig")
    assert status == 200 and found["patch"] == {"supported": True} and found["bulk"]["supported"] is False
    assert [each["id"] for each in directory.ask("GET", "ResourceTypes")[1]["Resources"]] == ["User", "Group"]
    listed = directory.ask("GET", "Schemas")[1]["Resources"]
    for schema in listed:
        assert directory.ask("GET", f"Schemas/{schema['id']}") == (200, schema)
    assert directory.ask("GET", "Schemas/x")[0] == 404 and directory.ask("DELETE", "Users")[0] == 405
    answer = directory.client.get("/scim/v2/Users")
    assert answer.headers["Content-Type"] == "application/scim+json" and answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "text",
    [
        'userName eq "a" or userName pr',
        'userName co "a"',
        'userName eq "a" and active eq true or active eq false',
        'emails[type eq "home"].value eq "a"',
        'password eq "a"',
        'userName eq "\\x"',
        "x" * 2000,
    ],
)
def test_unsupported_filters_are_refused(text: str, directory: Directory) -> None:
    directory.create_account()
    status, found = directory.ask("GET", "Users", filter=text)
    assert (status, found["scimType"]) == (400, "invalidFilter")


def test_a_filter_finds_the_value_and_nothing_that_looks_like_a_pattern(directory: Directory) -> None:
    directory.create_account()
    for value in ("%", "*", "a%", '" or ""="', "ada@example.org' or '1'='1", ""):
        assert directory.ask("GET", "Users", filter=f"userName eq {json.dumps(value)}")[1]["totalResults"] == 0, value
    assert directory.ask("GET", "Users", filter='id eq "x"')[1]["totalResults"] == 0
    assert directory.ask("GET", "Users", filter='externalId eq "00u1"')[1]["totalResults"] == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"userName": "a", "userName": "b"}', b"[" * 100_000])
def test_bodies_that_are_not_objects_are_refused(body: bytes, directory: Directory) -> None:
    for method, path in (("POST", "Users"), ("POST", "Groups")):
        answer = directory.client.generic(method, f"/scim/v2/{path}", body, content_type="application/scim+json")
        assert answer.status_code == 400, answer.content
    assert not ProvisionedAccount.objects.exists()


def test_huge_bodies_are_refused(directory: Directory) -> None:
    body = json.dumps({"userName": "a", "more": "x" * 1_100_000})
    answer = directory.client.post("/scim/v2/Users", body, content_type="application/scim+json")
    assert answer.status_code == 413 and not ProvisionedAccount.objects.exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"userName": "x" * 300},
        {"userName": "a\x00b"},
        {"externalId": {}},
        {"active": "perhaps"},
        {"name": {"givenName": ["x"]}},
    ],
)
def test_fields_of_wrong_types_are_refused(changed: dict[str, Any], directory: Directory) -> None:
    assert directory.ask("POST", "Users", person() | changed)[0] == 400
    assert not ProvisionedAccount.objects.exists()


def test_unknown_fields_grant_nothing(directory: Directory) -> None:
    key = directory.create_account(
        is_superuser=True, isStaff=True, roles=[{"value": "admin"}], password="correct horse", id="x", user_id="y"
    )
    user = ProvisionedAccount.objects.get(pk=key).user
    assert not user.is_superuser and not user.is_staff and not user.has_usable_password()
    assert directory.patch(f"Users/{key}", {"op": "replace", "path": "password", "value": "correct horse"})[0] == 200
    user.refresh_from_db()
    assert not user.has_usable_password()


@pytest.mark.django_db(transaction=True)
def test_of_two_creates_at_once_one_makes_the_account(directory: Directory) -> None:
    found: list[int] = []

    def create() -> None:
        try:
            client = Client(headers={"authorization": f"Bearer {directory.token}"})
            found.append(client.post("/scim/v2/Users", json.dumps(person()), content_type="application/scim+json").status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [201, 409, 409, 409, 409, 409]
    assert ProvisionedAccount.objects.count() == 1 and User.objects.exclude(username="keeper").count() == 1


@pytest.mark.parametrize("path", ["Bulk", "Users/x/y"])
def test_missing_resources_are_reported_in_json(path: str, directory: Directory) -> None:
    for method in ("GET", "POST"):
        status, found = directory.ask(method, path, {} if method == "POST" else None)
        assert (status, found["status"]) == (404, "404")
    assert Client().get(f"/scim/v2/{path}").status_code == 401


@pytest.mark.parametrize("text", ["a\\u0000", "\\ud800", "\\udc00a"])
def test_characters_that_no_database_stores_are_refused(text: str, directory: Directory) -> None:
    for path, name in (("Users", "userName"), ("Users", "externalId"), ("Groups", "displayName")):
        assert directory.ask("GET", path, filter=f'{name} eq "{text}"')[0] == 400
    body = json.dumps(person(emails=[{"value": "@@@"}])).replace("@@@", f"{text}@example.org")
    assert directory.client.post("/scim/v2/Users", body, content_type="application/scim+json").status_code in (201, 400)


def test_filters_of_the_dialects(directory: Directory) -> None:
    ada = directory.create_account()
    for text, total in FILTERS.items():
        assert directory.ask("GET", "Users", filter=text)[1]["totalResults"] == total, text
    group = directory.group("Chat Users", ada)
    for text, total in GROUP_FILTERS.items():
        text = text.replace("ADA", ada).replace("GROUP", group)
        assert directory.ask("GET", "Groups", filter=text)[1]["totalResults"] == total, text


FILTERS = {
    'userName eq "ADA@example.org" and externalId eq "00u1"': 1,
    'userName eq "ada@example.org" and externalId eq "00u2"': 0,
    "active eq true": 1,
    "active eq False": 0,
    'emails eq "ada@example.org"': 1,
    'emails[type eq "work"].value eq "ADA@example.org"': 1,
    'emails[value eq "x@example.org"]': 0,
    'emails.value eq ""': 0,
    'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada@example.org"': 1,
    'userName eq "a and b"': 0,
}
GROUP_FILTERS = {
    'displayName eq "chat users"': 1,
    'displayName eq "chat"': 0,
    'members[value eq "ADA"]': 1,
    'id eq "GROUP" and members eq "ADA"': 1,
    'id eq "GROUP" and members eq "GROUP"': 0,
}


ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
UNKNOWN_FILTERS = [
    *(f'userName {operator} "ada"' for operator in ("ne", "co", "sw", "ew", "gt", "ge", "lt", "le")),
    *("userName pr", 'userName eq "ada" or id eq "x"', 'not (userName eq "ada")', '(userName eq "ada")', 'displayName eq "Ada"'),
    *('name.familyName eq "L"', 'meta.lastModified eq "2026-01-01"', 'manager eq "x"'),
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "x"',
]


def test_a_filter_that_is_not_known_is_refused_in_the_form_of_scim_and_the_docs_name_it(directory: Directory) -> None:
    docs = (BASE_DIR / "docs" / "accounts.md").read_text(encoding="utf-8")
    for text in UNKNOWN_FILTERS:
        status, found = directory.ask("GET", "Users", filter=text)
        assert (status, found["scimType"], found["schemas"]) == (400, "invalidFilter", [ERROR]), text
    for word in ("ne", "co", "sw", "ew", "pr", "gt", "ge", "lt", "le", "or", "not", "displayName", "name.familyName", "meta.lastModified"):
        assert f"`{word}`" in docs, word


def test_what_is_read_only_is_refused(directory: Directory) -> None:
    key = directory.create_account()
    group = directory.group("Chat users", key)
    for path in (f"Users/{key}", f"Groups/{group}"):
        for operation in (
            {"op": "replace", "path": "id", "value": str(uuid4())},
            {"op": "add", "path": "ID", "value": key + "x"},
            {"op": "remove", "path": "id"},
            {"op": "replace", "value": {"id": "another", "externalId": "changed"}},
            {"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:id", "value": None},
            {"op": "replace", "path": "meta.created", "value": "2020-01-01T00:00:00Z"},
            {"op": "replace", "value": {"meta": {"resourceType": "Other"}, "externalId": "changed"}},
            {"op": "remove", "path": "meta"},
            {"op": "add", "path": "groups", "value": [{"value": group}]},
            {"op": "remove", "path": f'groups[value eq "{group}"]'},
        ):
            status, found = directory.patch(path, {"op": "replace", "path": "externalId", "value": "changed"}, operation)
            assert (status, found["scimType"], found["schemas"]) == (400, "mutability", [ERROR]), operation
        assert directory.ask("GET", path)[1].get("externalId") != "changed", "all of it or nothing"
    # As Okta renames a group, and as whoever sends a whole resource back.
    status, found = directory.patch(f"Groups/{group}", {"op": "replace", "value": {"id": group.upper(), "displayName": "Others"}})
    assert (status, found["displayName"], found["id"]) == (200, "Others", group)
    whole = person() | {"id": str(uuid4()), "meta": {"resourceType": "Other"}, "groups": [{"value": "x"}]}
    status, found = directory.ask("PUT", f"Users/{key}", whole)
    assert (status, found["id"], found["meta"]["resourceType"]) == (200, key, "User"), "RFC 7644, section 3.5.1: ignored"


def test_schemas_of_another_kind_are_refused(directory: Directory) -> None:
    user, group = "urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:core:2.0:Group"
    wrongs: tuple[Any, ...] = ([], [group], ["x"], user, None, [None], {})
    for wrong in wrongs:
        status, found = directory.ask("POST", "Users", person() | {"schemas": wrong})
        assert (status, found["scimType"], found["schemas"]) == (400, "invalidSyntax", [ERROR]), wrong
    assert directory.ask("GET", "Users")[1]["totalResults"] == 0
    assert directory.ask("POST", "Groups", {"schemas": [user], "displayName": "x"})[0] == 400
    key = directory.create_account(schemas=["urn:ietf:params:scim:schemas:extension:enterprise:2.0:User", user.upper()])
    assert directory.ask("PUT", f"Users/{key}", person() | {"schemas": [group]})[0] == 400
    operations = [{"op": "replace", "path": "active", "value": False}]
    assert directory.ask("PATCH", f"Users/{key}", {"schemas": [user], "Operations": operations})[0] == 400
    assert directory.ask("PATCH", f"Users/{key}", {"Operations": operations})[0] == 200


def test_names_of_groups_that_differ_in_case_are_one(directory: Directory) -> None:
    directory.group("Chat Users")
    assert directory.ask("POST", "Groups", {"displayName": "chat users"})[0] == 409
    other = directory.group("Other")
    assert directory.patch(f"Groups/{other}", {"op": "replace", "path": "displayName", "value": "CHAT USERS"})[0] == 409
    assert directory.patch(f"Groups/{other}", {"op": "replace", "path": "displayName", "value": "OTHER"})[0] == 200, "its own"


def test_a_name_is_removed_whole_and_active_is_read_in_its_old_form(directory: Directory) -> None:
    key = directory.create_account()
    assert "name" in directory.ask("GET", f"Users/{key}")[1], "the premise"
    assert "name" not in directory.patch(f"Users/{key}", {"op": "remove", "path": "name"})[1]
    assert directory.patch(f"Users/{key}", {"op": "replace", "path": "active", "value": [{"value": "False"}]})[1]["active"] is False


def test_attributes_are_chosen_and_left_out(directory: Directory) -> None:
    key = directory.create_account()
    directory.group("Chat users", key)
    assert set(directory.ask("GET", f"Users/{key}", attributes="userName,name.givenName")[1]) == {"schemas", "id", "userName", "name"}
    left = directory.ask("GET", "Users", excludedAttributes="name,emails,id")[1]["Resources"][0]
    assert {"id", "userName", "active"} <= set(left) and not {"name", "emails"} & set(left)
    assert set(directory.ask("GET", "Groups", attributes="displayName")[1]["Resources"][0]) == {"schemas", "id", "displayName"}


def test_a_slash_at_the_end_makes_no_other_address(directory: Directory) -> None:
    key = directory.create_account()
    assert directory.ask("GET", f"Users/{key}/") == directory.ask("GET", f"Users/{key}")
    assert directory.ask("GET", "Users/")[1]["totalResults"] == 1
    assert (
        directory.ask("GET", "Bulk/")[0] == 404
        and directory.client.get("/scim/v2/Users/", headers={"authorization": "x"}).status_code == 401
    )
