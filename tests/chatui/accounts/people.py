"""Browsers of people with passkeys, at an address that supports passkeys."""

import time
from typing import Any

from django.test import Client

from chatui.models.passkeys import Passkey
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD
from tests.support.authenticator import Authenticator


def browser(host: str = "localhost", **options: Any) -> Client:
    return Client(headers={"host": host}, **options)


def after_password(person: User, client: Client | None = None) -> Client:
    """A browser in which the person has just written their password."""
    client = client or browser()
    assert client.post("/sign-in/", {"username": person.username, "password": PASSWORD}).status_code == 302
    return client


def options(client: Client, what: str) -> dict[str, Any]:
    answer = client.post(f"/sign-in/passkey/options/{what}/")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def add(client: Client, device: Authenticator, name: str = "A key", **more: str) -> Any:
    credential = device.make(options(client, "new"))
    return client.post("/sign-in/passkeys/new/", {"credential": credential, "name": name} | more)


def owned(person: User, device: Authenticator | None = None, name: str = "A key") -> Authenticator:
    """A passkey of that person, added on the page."""
    device = device or Authenticator()
    client = browser()
    client.force_login(person)
    session = client.session
    session["shown_at"], session["shown_with_factor"] = time.time(), True
    session.save()
    before = Passkey.objects.count()
    add(client, device, name)
    assert Passkey.objects.count() == before + 1, "the premise: it was added"
    return device


def enter(client: Client, credential: str, **more: str) -> Any:
    return client.post("/sign-in/passkey/", {"credential": credential} | more)


def sign_in(device: Authenticator, client: Client | None = None) -> Client:
    client = client or browser()
    device.count += 1
    enter(client, device.use(options(client, "sign-in")))
    return client


def is_in(client: Client) -> bool:
    return client.get("/").status_code == 200
