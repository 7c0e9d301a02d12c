"""What a tool's server says to the person: for the owner of the conversation alone, where the operator allows it."""

import asyncio
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
from chatui.turns import running
from chatui.turns.calls.person import MAX_FORMS, MAX_NOTICES, NOTICE_CHARS
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from tests.chatui.turns.calls.calling import World, call, calls, replies
from tests.chatui.turns.calls.test_approval import audit_lines, decide, start_turn
from tests.support import environment
from tests.support.browser_socket import BrowserSocket
from tests.support.mcp_calls import served_tool
from tests.support.mcp_server import Mcp, result
from tests.support.offering import install
from tests.support.peer import Peer, PeerRequest, peer
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
    tool = served_tool(url=server.url, **spec)
    install(monkeypatch, tool)
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
        turn, found = await world.answered(*(call("demo_add", f"c{number}", a=number) for number in range(MAX_NOTICES + 2)))
    rows = [row async for row in ToolApproval.objects.filter(turn=turn)]
    assert len(rows) == MAX_NOTICES and all(len(row.arguments) < NOTICE_CHARS + 100 for row in rows)
    assert sum("left out" in each["content"] for each in found.values()) == 2, "the model knows what nobody was shown"
    await forget(turn.pk)
    assert not await ToolApproval.objects.exclude(arguments="").aexists()


@database_sync_to_async
def forget(turn_id: UUID) -> None:
    with pytest.MonkeyPatch.context() as patched:
        environment.change(patched, {"hidden_days": 0})
        hidden_text.forget_old(timezone.now() + timedelta(days=5))


ORDER = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}, "required": ["size"]}


class Asking(Mcp):
    """A server of either protocol version whose tool asks the person, and returns what they answered. ``forms``: how often."""

    def __init__(self, *, is_stateless: bool = False, schema: Any = ORDER, forms: int = 1) -> None:
        super().__init__(is_stateless, on={"tools/call": self._asks})
        self.answers: list[Any] = []
        self._params = {"message": "Which size? <b>\u202e", "requestedSchema": schema}
        self._forms = forms
        self._came = asyncio.Event()

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        if "result" in (request.json or {}) or "error" in (request.json or {}):
            self.answers.append(request.json.get("result") or request.json["error"])
            self._came.set()
        await super().__call__(request, writer)

    async def _asks(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        if self.is_stateless:
            await self._asks_by_result(request, writer)
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for number in range(self._forms):
            asked = {"jsonrpc": "2.0", "id": f"ask{number}", "method": "elicitation/create", "params": self._params}
            writer.write(f"data: {json.dumps(asked)}\n\n".encode())
        await writer.drain()
        while len(self.answers) < self._forms:
            self._came.clear()
            await self._came.wait()
        value = {"content": [{"type": "text", "text": json.dumps(self.answers)}]}
        writer.write(f"data: {json.dumps({'jsonrpc': '2.0', 'id': request.json['id'], 'result': value})}\n\n".encode())
        await writer.drain()

    async def _asks_by_result(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        params = request.json["params"]
        if "inputResponses" in params:
            self.answers.append(params["inputResponses"]["first"])
            value: Any = {"content": [{"type": "text", "text": f"{json.dumps(self.answers)} {params['requestState']}"}]}
        else:
            wanted = {"first": {"method": "elicitation/create", "params": self._params}}
            value = {"resultType": "input_required", "inputRequests": wanted, "requestState": "state-7"}
        await result(value)(request, writer)


async def waiting_form(turn_id: UUID) -> ToolApproval:
    async with asyncio.timeout(20):
        while (row := await ToolApproval.objects.filter(turn=turn_id, kind="form", decision="waiting").afirst()) is None:
            await asyncio.sleep(0.02)
    return row


@database_sync_to_async
def sent(person: User, row: ToolApproval, decision: str, size: str) -> tuple[int, dict[str, Any]]:
    client = Client()
    client.force_login(person)
    at = f"/c/{Turn.objects.get(pk=row.turn_id).conversation_id}/calls/{row.pk}/"
    found = client.post(at, {"decision": decision, "field-0": size}, headers={"accept": "application/json"})
    return found.status_code, json.loads(found.content)


@pytest.mark.parametrize("is_stateless", [True, False])
async def test_the_owner_fills_in_a_form_and_the_answer_goes_to_that_server_alone(is_stateless: bool, world: World, bela: User) -> None:
    asking = Asking(is_stateless=is_stateless)
    with peer(asking) as server:
        offer(world.monkeypatch, server, speaks_to_person=True)
        turn_id = await start_turn(world, call("demo_add", "c1", a=1))
        row = await waiting_form(turn_id)
        turn = await Turn.objects.aget(pk=turn_id)
        cards = f"/c/{turn.conversation_id}/turns/{turn_id}/calls/"
        for path in (cards, f"/c/{turn.conversation_id}/"):
            shown = (await page(world.ada, path))[1]
            assert (
                "“demo” asks you" in html.unescape(shown) and "Which size? &lt;b&gt;\\u202e" in shown and "Never write a password" in shown
            )
        assert (await page(bela, cards))[0] == 404 and await decide(bela, row, "send") == 404
        status, problem = await sent(world.ada, row, "send", "0")
        assert (status, problem["ok"]) == (200, False) and "field 1" in problem["message"], "what does not fit is said, and nothing is sent"
        assert (await sent(world.ada, row, "once", "3"))[0] == 409, "a word for calls decides about no form"
        assert (await sent(world.ada, row, "send", "3"))[1] == {"ok": True}
        assert (await sent(world.ada, row, "send", "4"))[0] == 409, "only the first answer counts"
        await running.settle()
    assert asking.answers == [{"action": "accept", "content": {"size": 3}}]
    turn = await Turn.objects.aget(pk=turn_id)
    assert turn.state == "completed" and '"size": 3' in (await replies(turn))["c1"]["content"]
    assert "You sent your answer" in (await page(world.ada, cards))[1]
    assert await audit_lines() == [("ada", "demo: answered")]
    assert "Which size" not in await elsewhere(world.ada, turn)


@pytest.mark.parametrize(("decision", "action"), [("decline", "decline"), ("cancel", "cancel"), ("", "cancel")])
async def test_a_form_may_be_declined_closed_or_left_alone(decision: str, action: str, world: World) -> None:
    asking = Asking()
    with peer(asking) as server:
        offer(world.monkeypatch, server, speaks_to_person=True, seconds=5)
        environment.change(world.monkeypatch, {"tool_approval_seconds": 600 if decision else 1})
        turn_id = await start_turn(world, call("demo_add", "c1", a=1))
        row = await waiting_form(turn_id)
        if decision:
            assert (await sent(world.ada, row, decision, "3"))[0] == 200
        await running.settle()
    assert asking.answers == [{"action": action}]
    assert not await ToolApproval.objects.exclude(answer="").aexists()


async def test_a_stopped_answer_sends_nothing_and_its_form_is_over(world: World) -> None:
    asking = Asking()
    with peer(asking) as server:
        offer(world.monkeypatch, server, speaks_to_person=True)
        turn_id = await start_turn(world, call("demo_add", "c1", a=1))
        row = await waiting_form(turn_id)
        await running.stop(TurnPlace(turn_id, PROCESS))
        await running.settle()
    assert (await sent(world.ada, row, "send", "3"))[0] == 409 and asking.answers == []
    assert (await ToolApproval.objects.aget(pk=row.pk)).decision == "lapsed"


NOT_ALLOWED = "Elicitation is not allowed for this server: its operator can allow it to speak to people."
SECRET = {"type": "object", "properties": {"api_key": {"type": "string"}}}


@pytest.mark.parametrize(
    ("spec", "asking", "expected"),
    [
        ({"speaks_to_person": True}, Asking(schema=SECRET), [{"action": "decline"}]),
        ({}, Asking(), [{"code": -32601, "message": NOT_ALLOWED}]),
    ],
    ids=["a secret", "a server that may not speak to people"],
)  # fmt: skip
async def test_nobody_is_shown_a_form_that_is_not_allowed(spec: dict[str, Any], asking: Asking, expected: Any, world: World) -> None:
    with peer(asking) as server:
        offer(world.monkeypatch, server, **spec)
        turn, _ = await world.answered(call("demo_add", "c1", a=1))
    assert turn.state == "completed" and asking.answers == expected and not await ToolApproval.objects.aexists()


async def test_a_storm_of_forms_is_bounded(world: World) -> None:
    asking = Asking(forms=MAX_FORMS + 3)
    with peer(asking) as server:
        offer(world.monkeypatch, server, speaks_to_person=True)
        turn_id = await start_turn(world, call("demo_add", "c1", a=1))
        for _ in range(MAX_FORMS):
            await sent(world.ada, await waiting_form(turn_id), "decline", "")
        await running.settle()
    assert [each["action"] for each in asking.answers].count("decline") == MAX_FORMS
    assert await ToolApproval.objects.filter(kind="form").acount() == MAX_FORMS, "one at a time, and no more than these"
