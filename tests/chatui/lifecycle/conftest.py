"""Fixtures: a directory with a token, and a sign-in file that configures its provider."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts.sign_in_settings import provider_of
from chatui.audit_log.record import SHELL
from chatui.lifecycle import scim_tokens
from tests.chatui.accounts.conftest import configure
from tests.chatui.conftest import make_person

TABLE = {
    "key": "company",
    "name": "Example Ltd",
    "issuer": "https://login.example.org",
    "client_id": "chatui",
    "who_may_enter": "everybody",
    "groups": {"Chat users": "people", "7f3c": "people", "Chat admins": ["people", "debuggers"]},
    "staff": ["Chat admins"],
}


class Directory:
    """What Okta or Entra ID sends, with its token."""

    def __init__(self, key: str = "company") -> None:
        provider = provider_of(key)
        assert provider is not None
        self.token = scim_tokens.create(SHELL, provider)
        self.client = Client(headers={"authorization": f"Bearer {self.token}"})

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        sent = "" if body is None else json.dumps(body)
        answer = self.client.generic(method, f"/scim/v2/{path}", sent, "application/scim+json", query_params=query or None)
        return answer.status_code, json.loads(answer.content) if answer.content else None

    def create_account(self, name: str = "ada@example.org", number: str = "00u1", **more: Any) -> str:
        """Create an account and return its id."""
        status, found = self.ask("POST", "Users", person(name, number, **more))
        assert status == 201, found
        return str(found["id"])

    def group(self, name: str, *members: str) -> str:
        """Create a group and return its id."""
        status, found = self.ask("POST", "Groups", {"displayName": name, "members": [{"value": each} for each in members]})
        assert status == 201, found
        return str(found["id"])

    def patch(self, path: str, *operations: dict[str, Any]) -> tuple[int, Any]:
        """A PATCH."""
        schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
        return self.ask("PATCH", path, {"schemas": schemas, "Operations": list(operations)})


def person(name: str = "ada@example.org", number: str = "00u1", **more: Any) -> dict[str, Any]:
    """As Okta creates somebody."""
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": name,
        "name": {"givenName": "Ada", "familyName": "Lovelace"},
        "emails": [{"primary": True, "value": name, "type": "work"}],
        "displayName": "Ada Lovelace",
        "locale": "en-US",
        "externalId": number,
        "groups": [],
        "active": True,
    } | more


@pytest.fixture
def directory(db: None, monkeypatch: pytest.MonkeyPatch) -> Directory:
    """With people who look after accounts, so that closing does not fail for want of them."""
    make_person("keeper", "change_user", staff=True)
    for name in ("people", "debuggers", "others"):
        Group.objects.create(name=name)
    another = TABLE | {"key": "another", "issuer": "https://another.example.org", "groups": {}, "staff": []}
    configure(monkeypatch, TABLE, another)
    return Directory()
