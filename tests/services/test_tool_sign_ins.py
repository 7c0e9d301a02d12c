"""A person's sign-in at a tool server, in two processes on PostgreSQL and Redis, and after a restored backup."""

import asyncio
import json
import os
import re
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.services.databases import own_database
from tests.support import peer as peers
from tests.support import published_servers as published
from tests.support.peer import PeerRequest, peer
from tests.support.served import Deployment, LiveSocket, Server
from tests.support.stub import DONE, chunk

pytestmark = pytest.mark.services

FILE = '[[mcp]]\nname = "accounts"\nurl = "http://127.0.0.1:{port}/mcp"\ntools = ["whoami"]\n[mcp.oauth]\n'
TOOL = "accounts_whoami"
ROUNDS, CALLS = 3, 2


class Model:
    """A model that calls the tool for each question. ``read``: the replies."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        if request.method == "GET":
            await peers.send(writer, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            return
        last = request.json["messages"][-1]
        if last["role"] == "tool":
            self.read.append(last["content"])
            body = chunk("stop", content="Done.")
        else:
            call = {"name": TOOL, "arguments": "{}"}
            body = chunk("tool_calls", tool_calls=[{"index": 0, "id": f"c{uuid4().hex}", "type": "function", "function": call}])
        await peers.send(writer, body + DONE, kind="text/event-stream")


def connect(server: Server, name: str) -> None:
    """Sign a person in at the provider, as a browser does."""
    client = server.sign_in(name)
    page = client.get("/settings/accounts/").text
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[0]
    going = client.post("/settings/accounts/accounts/connect/", data={"csrfmiddlewaretoken": token, "next": "/settings/accounts/"})
    address = unescape(going.headers["Refresh"].partition("url=")[2])
    there = httpx.get(address, trust_env=False, follow_redirects=False).headers["Location"]
    answer = httpx.get(f"{there}&as={name}-there", trust_env=False, follow_redirects=False).headers["Location"]
    assert client.get(answer, follow_redirects=True).status_code == 200
    assert "Disconnect" in client.get("/settings/accounts/").text


async def asked(server: Server, model: Model, number: int, replies: int) -> None:
    """Ask in ``number`` new conversations at once, and wait until the model has read so many replies in all."""

    async def ask() -> None:
        async with LiveSocket(server, cookies) as socket:
            await socket.send("send", client_id=str(uuid4()), conversation=None, text="Who am I?", effort="low")
            await socket.until("chatui:accepted")
            while len(model.read) < replies:
                await asyncio.sleep(0.05)

    cookies = await asyncio.to_thread(server.sign_in, "ada")
    async with asyncio.timeout(90):
        await asyncio.gather(*(ask() for _ in range(number)))


def deployment_of(directory: Path, port: int, backend: str, **more: str) -> Deployment:
    file = directory / "tools.toml"
    file.write_text(FILE.format(port=port))
    tools = {"CHATUI_TOOLS_FILE": str(file), "CHATUI_TOOLS": TOOL, "CHATUI_TOOLS_WITHOUT_APPROVAL": TOOL}
    return Deployment(directory, CHATUI_BACKEND_URL=backend, CHATUI_BACKEND_KIND="chat", **tools, **more)


def state(port: int) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"http://127.0.0.1:{port}/state", trust_env=False).json()
    return found


def prepare(deployment: Deployment, server: Server) -> None:
    deployment.make_people(grace=(True, ["view_hidden_channels", "view_any_conversation"]), ada=(False, []))
    connect(server, "grace")
    deployment.manage("tools", TOOL, "--confirm", "--as", "grace")
    connect(server, "ada")


async def test_two_processes_renew_a_token_once_and_lose_no_call(tmp_path: Path) -> None:
    model = Model()
    redis = os.environ["CHATUI_TEST_REDIS_URL"]
    with own_database() as database, published.listening([published.python(), published.ACCOUNTS]) as port, peer(model) as backend:
        deployment = deployment_of(tmp_path, port, backend.url, CHATUI_DATABASE_URL=database, CHATUI_REDIS_URL=redis)
        try:
            one, two = await asyncio.to_thread(deployment.start), await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(prepare, deployment, one)
            for number in range(1, ROUNDS + 1):
                httpx.post(f"http://127.0.0.1:{port}/expire", trust_env=False)
                before, known = state(port), len(model.read)
                await asyncio.gather(asked(one, model, CALLS, known + 2 * CALLS), asked(two, model, CALLS, known + 2 * CALLS))
                after = state(port)
                assert (after["renewed"] - before["renewed"], after["replayed"]) == (1, 0), f"round {number}"
        finally:
            await asyncio.to_thread(deployment.stop)
    assert len(model.read) == ROUNDS * CALLS * 2 and all("You are ada-there." in reply for reply in model.read)


async def test_a_restored_backup_has_no_tokens(tmp_path: Path) -> None:
    model = Model()
    with published.listening([published.python(), published.ACCOUNTS]) as port, peer(model) as backend:
        deployment = deployment_of(tmp_path, port, backend.url)
        try:
            server = await asyncio.to_thread(deployment.start)
            await asyncio.to_thread(prepare, deployment, server)
            await asked(server, model, 1, 1)
            backup = tmp_path / "backup"
            deployment.manage("backup", str(backup))
            await asyncio.to_thread(deployment.stop)
            deployment.manage("restore", str(backup), "--without-erasures")
            server = await asyncio.to_thread(deployment.start)
            assert "Disconnect" not in server.sign_in("ada").get("/settings/accounts/").text
            await asked(server, model, 1, 2)
        finally:
            await asyncio.to_thread(deployment.stop)
    assert "You are ada-there." in model.read[0] and "has not signed in there yet" in json.loads(model.read[1])["error"]["message"]
