"""Temporary chats and ratings on PostgreSQL with two processes: when a chat ends, pages of both are informed, and no row is left."""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from tests.services.databases import own_database
from tests.support.browser_socket import ENDS
from tests.support.served import Deployment, LiveSocket, Server

pytestmark = pytest.mark.services

ROWS = """
from chatui.models import Conversation, Message, SearchEntry, Turn
rows = [model.objects.filter(conversation="{key}").count() for model in (Message, Turn, SearchEntry)]
print("ANSWER", [Conversation.objects.filter(pk="{key}").count(), *rows])
"""
OVER = "from chatui.models import Conversation; Conversation.objects.filter(pk='{key}').update(temporary_until='2026-01-01T00:00Z')"


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Two processes on a new database."""
    with own_database() as address:
        services = {"CHATUI_DATABASE_URL": address, "CHATUI_REDIS_URL": os.environ["CHATUI_TEST_REDIS_URL"]}
        deployment = Deployment(tmp_path_factory.mktemp("data"), **services)
        try:
            deployment.start()
            deployment.start()
            deployment.make_people(ada=(False, []))
            yield deployment
        finally:
            deployment.stop()


def rows(deployment: Deployment, url: str) -> str:
    """The numbers of rows of a conversation: itself, messages, turns and entries of the search index."""
    return deployment.manage("shell", "--no-imports", "-c", ROWS.format(key=url.split("/")[2])).split("ANSWER ", 1)[1].strip()


async def ask(socket: LiveSocket, *, temporary: bool) -> str:
    """Ask in a new conversation; returns its address once the answer has ended."""
    await socket.send("send", client_id=str(uuid4()), conversation=None, text="Hello", effort="low", temporary=temporary)
    accepted = (await socket.until("chatui:accepted"))[-1]
    await socket.until(*ENDS)
    return str(accepted["url"])


def post(server: Server, client: httpx.Client, path: str, **data: str) -> int:
    token = re.search(r'name="csrf-token" content="([^"]+)"', client.get("/").text)
    assert token
    headers = {"X-CSRFToken": token[1], "Origin": server.url, "Referer": server.url}
    return client.post(f"{server.url}{path}", data=data, headers=headers).status_code


async def test_a_chat_that_the_other_process_closes_is_deleted_and_its_page_informed(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(60), LiveSocket(one, client) as socket:
        url = await ask(socket, temporary=True)
        assert rows(deployment, url).endswith(" 1, 0]"), "the premise: it is there, and not one word of it is in the index"
        assert await asyncio.to_thread(post, two, client, f"{url}temporary/close/") == 200
        assert (await socket.until("chatui:unlisted"))[-1]["conversation"] in url
    assert rows(deployment, url) == "[0, 0, 0, 0]"


async def test_an_expired_chat_is_deleted_without_a_request(deployment: Deployment) -> None:
    one, _ = deployment.servers
    async with asyncio.timeout(60), LiveSocket(one, one.sign_in("ada")) as socket:
        url = await ask(socket, temporary=True)
        deployment.manage("shell", "--no-imports", "-c", OVER.format(key=url.split("/")[2]))
        assert (await socket.until("chatui:unlisted"))[-1]["conversation"] in url
        while rows(deployment, url) != "[0, 0, 0, 0]":
            await asyncio.sleep(0.2)


async def test_one_that_is_kept_is_found_and_can_be_rated(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(60), LiveSocket(one, client) as socket:
        url = await ask(socket, temporary=True)
        page = await asyncio.to_thread(client.get, url)
        assert "data-rating" not in page.text.partition("<template")[0]
        assert await asyncio.to_thread(post, two, client, f"{url}temporary/keep/") == 200
        assert (await socket.until("chatui:listed"))[-1]["title"] == "Hello"
    path = re.search(r'data-rating="([^"]+)"', client.get(url).text)
    assert path and post(one, client, path[1], verdict="down", reason="wrong", note="It is five.") == 302
    assert url in client.get("/search/?q=hello").text
    exported = [json.loads(line) for line in deployment.manage("ratings", "--format", "harmony").splitlines()]
    assert [line["note"] for line in exported] == ["It is five."] and exported[0]["harmony"].endswith("<|return|>")
