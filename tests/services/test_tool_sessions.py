"""Two processes on PostgreSQL and Redis, and a tool server that keeps state: one session over HTTP, one program after the other."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chatui.tools.mcp.server import STATE_IS_GONE
from tests.services.databases import own_database
from tests.support import peer as peers
from tests.support.mcp_sessions import PROGRAM, Sessions, tools_file
from tests.support.peer import PeerRequest, peer
from tests.support.served import Deployment, LiveSocket, Server
from tests.support.stub import DONE, chunk

pytestmark = pytest.mark.services


class Model:
    """A model that calls the tool with the words of each question. ``read``: the replies."""

    def __init__(self) -> None:
        self.read: list[dict[str, Any]] = []

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        if request.method == "GET":
            await peers.send(writer, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            return
        last = request.json["messages"][-1]
        if last["role"] == "tool":
            self.read.append(json.loads(last["content"]))
            body = chunk("stop", content="Done.")
        else:
            call = {"name": "notes_keep", "arguments": json.dumps({"word": last["content"]})}
            body = chunk("tool_calls", tool_calls=[{"index": 0, "id": f"c{uuid4().hex}", "type": "function", "function": call}])
        await peers.send(writer, body + DONE, kind="text/event-stream")


async def asked(model: Model, server: Server, text: str, conversation: str | None = None) -> str:
    """The conversation, after the tool's reply."""
    before, accepted = len(model.read), {"type": ""}
    async with asyncio.timeout(60), LiveSocket(server, server.sign_in("ada")) as socket:
        while accepted["type"] != "chatui:accepted":  # it is refused while the answer before is being stored
            await socket.send("send", client_id=str(uuid4()), conversation=conversation, text=text, effort="low")
            accepted = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
        while len(model.read) == before:
            await asyncio.sleep(0.05)
    return accepted["conversation"]


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_two_processes_use_one_session_or_tell_the_model(transport: str, tmp_path: Path) -> None:
    model, sessions = Model(), Sessions()
    with own_database() as database, peer(model) as backend, peer(sessions) as served:
        where: dict[str, Any] = {"url": served.url} if transport == "http" else {"command": [sys.executable, "-c", PROGRAM]}
        deployment = Deployment(
            tmp_path,
            CHATUI_DATABASE_URL=database,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_BACKEND_URL=backend.url,
            CHATUI_BACKEND_KIND="chat",
            CHATUI_TOOLS_FILE=str(tools_file(tmp_path, **where)),
            CHATUI_TOOLS="notes_keep",
            CHATUI_TOOLS_WITHOUT_APPROVAL="notes_keep",
        )
        try:
            deployment.manage("tools", "notes_keep", "--confirm")
            one, two = await asyncio.to_thread(deployment.start), await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            conversation = await asked(model, one, "a")
            await asked(model, two, "b", conversation)
            await asked(model, two, "c", conversation)
            await asked(model, one, "d", conversation)
            await asyncio.to_thread(deployment.start_again, two)
            await asked(model, deployment.servers[1], "e", conversation)
        finally:
            await asyncio.to_thread(deployment.stop)
    kept = [(reply["content"], reply.get("note", "")) for reply in model.read]
    if transport == "http":
        assert kept == [("a", ""), ("a b", ""), ("a b c", ""), ("a b c d", ""), ("a b c d e", "")] and len(set(sessions.calls)) == 1
    else:
        assert kept == [("a", ""), ("b", STATE_IS_GONE), ("b c", ""), ("d", STATE_IS_GONE), ("e", STATE_IS_GONE)]
