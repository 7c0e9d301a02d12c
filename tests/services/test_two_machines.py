"""Two machines: processes with data directories of their own, one PostgreSQL, one Redis. Each knows at once what the operator confirms."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.services.databases import own_database
from tests.support import peer as peers
from tests.support.deployments import process
from tests.support.deployments.rows import audit_lines
from tests.support.mcp_sessions import Sessions, tools_file
from tests.support.peer import PeerRequest, peer
from tests.support.served import Deployment, LiveSocket, Server, free_port
from tests.support.stub import DONE, chunk

pytestmark = pytest.mark.services

TOOL = "notes_keep"


class Model:
    """A model that calls the tool if it is offered one. ``seen``: for each answer, what the tool has said, or None."""

    def __init__(self) -> None:
        self.seen: list[str | None] = []

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        if request.method == "GET":
            await peers.send(writer, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            return
        last = request.json["messages"][-1]
        if last["role"] != "tool" and request.json.get("tools"):
            call = {"name": TOOL, "arguments": json.dumps({"word": last["content"]})}
            body = chunk("tool_calls", tool_calls=[{"index": 0, "id": f"c{uuid4().hex}", "type": "function", "function": call}])
        else:
            self.seen.append(json.loads(last["content"])["content"] if last["role"] == "tool" else None)
            body = chunk("stop", content="Done.")
        await peers.send(writer, body + DONE, kind="text/event-stream")


async def asked(model: Model, server: Server, text: str) -> str | None:
    before = len(model.seen)
    async with asyncio.timeout(60), LiveSocket(server, server.sign_in("ada")) as socket:
        await socket.send("send", client_id=str(uuid4()), conversation=None, text=text, effort="low")
        await socket.until("chatui:accepted")
        while len(model.seen) == before:
            await asyncio.sleep(0.05)
    return model.seen[-1]


async def test_a_tool_confirmed_on_one_machine_is_callable_on_the_other_at_once(tmp_path: Path) -> None:
    model = Model()
    with own_database() as database, peer(model) as backend, peer(Sessions()) as served:
        first = Deployment(
            tmp_path / "first",
            CHATUI_DATABASE_URL=database,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_SECRET_KEY="x" * 50,
            CHATUI_BACKEND_URL=backend.url,
            CHATUI_BACKEND_KIND="chat",
            CHATUI_TOOLS_FILE=str(tools_file(tmp_path, url=served.url)),
            CHATUI_TOOLS=TOOL,
            CHATUI_TOOLS_WITHOUT_APPROVAL=TOOL,
        )
        second = Deployment(tmp_path / "second", **{name: value for name, value in first.environment.items() if name.startswith("CHATUI_")})
        second.environment["CHATUI_DATA_DIR"] = str(tmp_path / "second")
        try:
            one, two = await asyncio.to_thread(first.start), await asyncio.to_thread(second.start)
            await asyncio.to_thread(first.make_people, ada=(False, []))
            assert [await asked(model, server, "a") for server in (one, two)] == [None, None], "not confirmed"
            await asyncio.to_thread(first.manage, "tools", TOOL, "--confirm")
            assert [await asked(model, server, word) for server, word in ((two, "b"), (one, "c"))] == ["b", "c"]
            await asyncio.to_thread(second.manage, "tools", TOOL, "--withdraw")
            assert [await asked(model, server, "d") for server in (one, two)] == [None, None]
        finally:
            await asyncio.to_thread(first.stop)
            await asyncio.to_thread(second.stop)
        lines = [line[0] for line in audit_lines(first.environment, "tool confirmed", "way")]
        assert lines == ["shell"]


async def test_a_machine_with_other_keys_is_refused(tmp_path: Path) -> None:
    with own_database() as database:
        settings = {"CHATUI_DATABASE_URL": database, "CHATUI_REDIS_URL": os.environ["CHATUI_TEST_REDIS_URL"]}
        first, second = (Deployment(tmp_path / name, **settings) for name in ("first", "second"))
        try:
            await asyncio.to_thread(first.start)
            refused = await asyncio.to_thread(process.run, ["manage.py", "serve", "--port", str(free_port())], second.environment)
            assert refused.returncode == 1 and "Traceback" not in refused.stderr
            assert "CommandError: This machine has another secret_key and sealing_key" in refused.stderr
            key = (tmp_path / "first/secret_key").read_text()
            await asyncio.to_thread(second.start, CHATUI_SECRET_KEY=key)
        finally:
            await asyncio.to_thread(first.stop)
            await asyncio.to_thread(second.stop)


def confirmed_before(deployment: Deployment, data_dir: Path) -> None:
    """Write the file of a release before 0.1.0, with the tool as it is now."""
    deployment.manage("tools", TOOL, "--confirm")
    code = """
import json
from chatui.models.tools import ToolConfirmation
row = ToolConfirmation.objects.get()
entry = {"offer": json.loads(row.offer), "digest": row.digest, "confirmed_at": row.decided_at.isoformat()}
row.delete()
print(json.dumps({"version": 1, "tools": {row.name: entry}}))
"""
    (data_dir / "confirmed_tools.json").write_text(deployment.manage("shell", "--no-imports", "-c", code))


async def test_a_start_takes_over_the_file_of_its_machine_and_a_later_one_nothing(tmp_path: Path) -> None:
    model = Model()
    with peer(model) as backend, peer(Sessions()) as served:
        settings: dict[str, Any] = {"CHATUI_BACKEND_URL": backend.url, "CHATUI_BACKEND_KIND": "chat", "CHATUI_TOOLS": TOOL}
        settings |= {"CHATUI_TOOLS_FILE": str(tools_file(tmp_path, url=served.url)), "CHATUI_TOOLS_WITHOUT_APPROVAL": TOOL}
        deployment = Deployment(tmp_path / "data", **settings)
        await asyncio.to_thread(deployment.make_people, ada=(False, []))
        await asyncio.to_thread(confirmed_before, deployment, tmp_path / "data")
        try:
            server = await asyncio.to_thread(deployment.start)
            assert await asked(model, server, "a") == "a"
            await asyncio.to_thread(deployment.manage, "tools", TOOL, "--withdraw")
            await asyncio.to_thread(deployment.start_again, server)
            assert await asked(model, deployment.servers[0], "b") is None
        finally:
            await asyncio.to_thread(deployment.stop)
        assert len(audit_lines(deployment.environment, "confirmed tools taken over", "detail")) == 1
