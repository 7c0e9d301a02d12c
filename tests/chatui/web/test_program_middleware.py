"""Middleware for API requests: they get every header, and cookies are ignored."""

import pytest
from django.test import AsyncClient

from chatui.models.user import User
from tests.chatui.api.asking import key_of

pytestmark = pytest.mark.django_db(transaction=True)

ALWAYS = ("Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cache-Control")


@pytest.fixture
def key(ada: User) -> str:
    return key_of(ada)


async def test_an_api_request_gets_all_headers(key: str) -> None:
    answer = await AsyncClient().get("/v1/models", headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 200
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
