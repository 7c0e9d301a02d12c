"""A scripted provider, and a browser that signs in with it."""

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from chatui.accounts import one_time_codes, openid
from tests.chatui.accounts.scripted_provider import ScriptedProvider, running
from tests.chatui.conftest import make_person
from tests.support.new_process import begin_anew
from tests.support.sign_in_file import configure as configure

SignIn = Callable[..., Any]
NOW = time.time()


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the one-time codes stands still: the earliest code that is accepted may expire between two lines of a test."""
    monkeypatch.setattr(one_time_codes, "time", SimpleNamespace(time=lambda: NOW))


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[ScriptedProvider]:
    """A provider, with an operator who lets everybody in whom it knows."""
    forget_providers()
    make_person("first")  # somebody has set the product up
    with running() as scripted:
        configure(monkeypatch, scripted.table())
        yield scripted
    forget_providers()


def forget_providers() -> None:
    """The next sign-in fetches everything of its provider again."""
    begin_anew(openid)


def start_sign_in(client: Client, key: str = "company", **fields: str) -> str:
    """Where the browser is sent."""
    page = client.post(f"/sign-in/with/{key}/", fields)
    assert page.status_code == 200, page.content
    return str(page.headers["Refresh"]).removeprefix("0; url=")


def sign_in_with_provider(provider: ScriptedProvider, client: Client | None = None, **fields: str) -> tuple[Client, Any]:
    """Sign in with the provider: the browser, and the answer that it got when it came back."""
    client = client or Client()
    back = provider.sign_in(start_sign_in(client, **fields))
    return client, client.get(back)
