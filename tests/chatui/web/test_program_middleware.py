"""Middleware for API requests: everything Django's middleware does is done on the event loop, and cookies are ignored."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.test import AsyncClient

from chatui.models.user import User
from chatui.web.middleware import LanguageMiddleware
from tests.chatui.api.asking import key_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

ALWAYS = ("Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cache-Control")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The thread in which the middleware handled each path."""
    seen: dict[str, int] = {}
    process = LanguageMiddleware.process_request

    def recorded(middleware: Any, request: Any) -> Any:
        seen[request.path] = threading.get_ident()
        return process(middleware, request)

    monkeypatch.setattr(LanguageMiddleware, "process_request", recorded)
    return seen


@pytest.fixture
def key(ada: User) -> str:
    return key_of(ada)


async def test_an_api_request_needs_no_thread_and_gets_all_headers(key: str, threads: dict[str, int]) -> None:
    client = AsyncClient()
    answer = await client.get("/v1/models", headers={"authorization": f"Bearer {key}"})
    page = await client.get("/sign-in/")
    assert (answer.status_code, page.status_code) == (200, 200)
    assert threads["/v1/models"] == threading.get_ident() != threads["/sign-in/"], "pages may ask the database"
    assert all(name in answer.headers for name in ALWAYS) and "Content-Language" not in answer.headers and not answer.cookies


async def test_a_session_cookie_is_ignored_and_the_key_decides(key: str, bela: User) -> None:
    client = AsyncClient()
    await client.aforce_login(bela)
    assert (await client.get("/v1/models", headers={"authorization": f"Bearer {key}"})).status_code == 200
    refused = await client.get("/v1/models")
    assert refused.status_code == 401 and not refused.cookies
    client.cookies["sessionid"] = "forged"
    assert (await client.get("/v1/models", headers={"authorization": f"Bearer {key}"})).status_code == 200


async def test_a_foreign_host_is_refused(key: str) -> None:
    client = AsyncClient(raise_request_exception=False)
    answer = await client.get("/v1/models", headers={"authorization": f"Bearer {key}", "host": "elsewhere.example.org"})
    assert answer.status_code == 400
