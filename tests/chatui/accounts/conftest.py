"""A scripted provider, and a browser that signs in with it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from chatui.accounts import one_time_codes, openid, sign_in_settings
from chatui.accounts.sign_in_settings import Provider, SignInFile
from tests.chatui.accounts.scripted_provider import ScriptedProvider, running
from tests.chatui.conftest import make_person
from tests.support.environment import change
from tests.support.new_process import begin_anew

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


def configure(monkeypatch: pytest.MonkeyPatch, *tables: dict[str, Any], **fields: Any) -> None:
    """What the operator's file says from now on."""
    file = SignInFile(tuple(Provider.model_validate(table) for table in tables), **fields)
    change(monkeypatch, {"sign_in_file": Path("/no/such/file")})
    monkeypatch.setattr(sign_in_settings, "read_file", lambda path: file)


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
