"""Django's middleware on the event loop: few steps run in a thread, and those that may block still do."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import AsyncClient
from django.utils.module_loading import import_string

from chatui.models.user import User
from chatui.web.middleware import InlineMiddleware
from tests.chatui.api.asking import Program, new_key
from tests.support.browser_socket import cookie_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

OWN_THREADS = {"close", "send"}
"""The steps that Django itself runs in a thread: the end of a response, and the receivers of its signals."""


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that ran in threads of requests."""
    found: list[str] = []
    call = SyncToAsync.__call__

    async def recorded(work: SyncToAsync[Any, Any], *args: object, **named: object) -> object:
        found.append(getattr(work.func, "__qualname__", getattr(work.func, "__class__", type(work)).__name__))
        return await call(work, *args, **named)

    monkeypatch.setattr(SyncToAsync, "__call__", recorded)
    return found


async def test_an_api_request_runs_no_middleware_in_a_thread(ada: User, threads: list[str]) -> None:
    program = Program(await new_key(ada))
    threads.clear()
    assert (await program.get("/v1/models")).status_code == 200
    assert not [name for name in threads if "Middleware" in name], threads


async def test_a_page_runs_only_database_reads_in_a_thread(ada: User, threads: list[str]) -> None:
    name, _, value = (await cookie_of(ada)).partition("=")
    client = AsyncClient()
    client.cookies[name] = value
    threads.clear()
    assert (await client.get("/")).status_code == 200
    assert {name for name in threads if "Middleware" in name} == {"LanguageMiddleware.process_request"}


async def test_a_form_needs_its_csrf_token_and_the_session_is_stored(ada: User) -> None:
    await database_sync_to_async(_with_password)(ada)
    form = {"username": ada.username, "password": PASSWORD}
    client = AsyncClient(enforce_csrf_checks=True)
    assert (await client.post("/sign-in/", form)).status_code == 403
    assert not await Session.objects.aexists()
    await client.get("/sign-in/")
    token = client.cookies[settings.CSRF_COOKIE_NAME].value
    assert (await client.post("/sign-in/", form | {"csrfmiddlewaretoken": token})).status_code == 302
    assert settings.SESSION_COOKIE_NAME in client.cookies and await Session.objects.aexists()


PASSWORD = "an unlikely horse battery"


def _with_password(person: User) -> None:
    person.set_password(PASSWORD)
    person.save()


async def test_no_middleware_runs_each_step_in_a_thread() -> None:
    classes = [import_string(path) for path in settings.MIDDLEWARE]
    mixins = [each for each in classes if hasattr(each, "process_request") or hasattr(each, "process_response")]
    assert mixins and all(issubclass(each, InlineMiddleware) for each in mixins)
