"""What a tool's server says to the person: for the owner of the conversation alone, where the operator allows it."""

import html
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import timezone

from chatui.models.message import Message
from chatui.models.shares import ShareLink
from chatui.models.tools import ToolApproval
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import hidden_text
from chatui.tools import catalogue
from chatui.tools.mcp.server import McpServer
from chatui.tools.server_registry import ServerConnection, tool_of
from chatui.turns import running
from chatui.turns.calls.person import MAX_TOLD, TOLD_CHARS
from tests.chatui.tools.mcp.calls import offer_of, spec_of
from tests.chatui.tools.mcp.scripted import Mcp, result
from tests.chatui.tools.peer import Peer, peer
from tests.chatui.turns.calls.calling import World, call, calls, replies
from tests.support import environment
from tests.support.browser_socket import BrowserSocket
from tests.support.scripted import answer

pytestmark = pytest.mark.django_db(transaction=True)

SAID = "Your code is KOALA.\n<b>not bold</b> https://evil.example \u202e"


def for_person(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "annotations": {"audience": ["user"]}}


def telling(*texts: str) -> Mcp:
    """A server whose tool says these texts to the person, and one to the model."""
    parts = [for_person(text) for text in texts]
    return Mcp(on={"tools/call": result({"content": [*parts, {"type": "text", "text": "for the model"}]})})


def offer(monkeypatch: pytest.MonkeyPatch, server: Peer, **spec: Any) -> None:
    values = spec_of(url=server.url, **spec)
    tool = tool_of(offer_of(), ServerConnection(values, McpServer(values)))
    monkeypatch.setattr(catalogue, "tools", lambda: {tool.name: tool})
    settings = {"backend_url": "http://127.0.0.1:9", "tools": {tool.name: ()}, "tools_without_approval": [tool.name]}
    environment.change(monkeypatch, settings)


@database_sync_to_async
def page(person: User, path: str) -> tuple[int, str]:
    client = Client()
    client.force_login(person)
    found = client.get(path)
    return found.status_code, found.content.decode()


@database_sync_to_async
def elsewhere(person: User, turn: Turn) -> str:
    """What others get of the conversation, and what the owner takes along: a link, downloads, copies, the list, a search."""
    client = Client()
    client.force_login(person)
    at = f"/c/{turn.conversation_id}/"
    leaf = Message.objects.filter(turn=turn, is_visible=True).order_by("position").last()
    assert leaf is not None
    client.post(f"{at}share/", {"leaf": str(leaf.pk), "days": "7"})
    shared = Client().get(f"/s/{ShareLink.objects.get().token}/").content.decode()
    assert "Done." in shared, "the premise"
    ways = ["download/", "download/?format=markdown", "download/?format=json", f"messages/{leaf.pk}/text/", "share/"]
    found = [client.get(at + way) for way in ways] + [client.get("/")]
    assert all(each.status_code == 200 for each in found)
    return shared + "".join(each.content.decode() for each in found) + client.get("/search/?q=code").content.decode()


async def test_the_owner_reads_it_as_plain_text_and_nobody_else_gets_it(world: World, bela: User) -> None:
    with peer(telling(SAID)) as server:
        offer(world.monkeypatch, server, speaks_to_person=True)
        world.backend.script, world.backend.following = calls(call("demo_add", "c1", a=1)), [answer("Done.")]
        async with BrowserSocket(world.ada) as socket:
            await socket.send_message("Hello")
            events = await socket.until("response.completed")
            assert [event["told"] for event in events if event["type"] == "chatui:calls_wait"] == [1], "the page fetches it"
            assert "KOALA" not in json.dumps(socket.raw), "no event has anything of it"
    await running.settle()
    turn = await Turn.objects.aget()
    assert (await replies(turn))["c1"]["content"] == f"[{len(SAID):,} characters, which the person alone is shown]\nfor the model"
    cards = f"/c/{turn.conversation_id}/turns/{turn.pk}/calls/"
    for path in (cards, f"/c/{turn.conversation_id}/"):
        status, shown = await page(world.ada, path)
        assert status == 200 and "“demo” says to you" in html.unescape(shown), path
        assert (
            "&lt;b&gt;not bold&lt;/b&gt; https://evil.example \\u202e" in shown
            and "<b>not" not in shown
            and 'href="https://evil' not in shown
        )
    assert (await page(bela, cards))[0] == 404
    assert "KOALA" not in await elsewhere(world.ada, turn)
    asked = world.backend.requests[-1]
    assert "KOALA" not in repr([frame.body for frame in asked.frames])


async def test_a_server_that_may_not_speak_to_people_is_not_heard(world: World) -> None:
    with peer(telling(SAID)) as server:
        offer(world.monkeypatch, server)
        turn, found = await world.answered(call("demo_add", "c1", a=1))
    assert found["c1"]["content"].startswith(f"[left out: {len(SAID):,} characters, for the person alone]")
    assert not await ToolApproval.objects.aexists() and "KOALA" not in (await page(world.ada, f"/c/{turn.conversation_id}/"))[1]


async def test_it_is_bounded_and_removed_with_hidden_text(world: World) -> None:
    with peer(telling("A" * 1_000_000)) as server:
        offer(world.monkeypatch, server, speaks_to_person=True)
        turn, found = await world.answered(*(call("demo_add", f"c{number}", a=number) for number in range(MAX_TOLD + 2)))
    rows = [row async for row in ToolApproval.objects.filter(turn=turn)]
    assert len(rows) == MAX_TOLD and all(len(row.arguments) < TOLD_CHARS + 100 for row in rows)
    assert sum("left out" in each["content"] for each in found.values()) == 2, "the model knows what nobody was shown"
    await forget(turn.pk)
    assert not await ToolApproval.objects.exclude(arguments="").aexists()


@database_sync_to_async
def forget(turn_id: UUID) -> None:
    with pytest.MonkeyPatch.context() as patched:
        environment.change(patched, {"hidden_days": 0})
        hidden_text.forget_old(timezone.now() + timedelta(days=5))
