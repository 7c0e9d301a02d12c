"""What every request passes through takes to a thread only what may wait there, and shows a page where a response would be blank."""

from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.test import AsyncClient

from chatui.models.conversation import Conversation
from chatui.models.user import User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("path", "most"), [("/healthz", 3), ("/v1/models", 3), ("/", 4)])
async def test_few_steps_of_a_request_are_taken_to_a_thread(ada: User, monkeypatch: pytest.MonkeyPatch, path: str, most: int) -> None:
    """Each costs more than most steps do."""
    client, taken = AsyncClient(), list[str]()
    await client.aforce_login(ada)
    in_thread = SyncToAsync.__call__

    async def noted(self: SyncToAsync[..., Any], *arguments: Any, **named: Any) -> Any:
        taken.append(str(self.func))
        return await in_thread(self, *arguments, **named)

    await client.get(path)
    monkeypatch.setattr(SyncToAsync, "__call__", noted)
    await client.get(path)
    assert len(taken) <= most, taken


@pytest.mark.parametrize("path", ["/healthz", "/"])
async def test_a_method_that_an_address_does_not_know_gets_a_page(ada: User, path: str) -> None:
    client = AsyncClient()
    await client.aforce_login(ada)
    response = await client.delete(path)
    assert response.status_code == 405 and response.headers["Allow"] and b"<h1" in response.content


async def test_a_form_from_elsewhere_is_refused_and_our_own_is_taken(ada: User, conversation: Conversation) -> None:
    client, address = AsyncClient(enforce_csrf_checks=True), f"/c/{conversation.pk}/rename/"
    await client.aforce_login(ada)
    assert (await client.post(address, {"title": "Taken over"})).status_code == 403
    await client.get("/")
    response = await client.post(address, {"title": "Tides", "csrfmiddlewaretoken": client.cookies["chatui_csrf"].value})
    await conversation.arefresh_from_db()
    assert response.status_code < 400 and conversation.title == "Tides"
