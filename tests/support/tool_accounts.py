"""People with accounts of their own at a real MCP server with a real authorization server: the official package's."""

import asyncio
import io
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import httpx
import pytest
from django.core.management import call_command
from django.test import Client

from chatui.models.user import User
from chatui.tools import confirmations, server_registry
from chatui.tools.server_registry import ServerConnection
from chatui.tools.tool import CallingTurn, CallNeedsSignInError, ToolError
from tests.support import environment, published_servers
from tests.support.mcp_calls import Remembered
from tests.support.tool_calls import RefusedError
from tests.support.tool_servers import close_servers, forget_servers, on_tools_loop

NAME = "accounts"
TOOLS = {"accounts_whoami": (), "accounts_echo_token": ()}


class NeedsSignInError(Exception):
    """The person has to connect their account at ``server`` first."""

    def __init__(self, text: str, server: str) -> None:
        super().__init__(text)
        self.server = server


@dataclass
class Place:
    """The server."""

    url: str

    def state(self) -> dict[str, Any]:
        """What happened there, in numbers, and the ``secret`` texts."""
        found: dict[str, Any] = httpx.get(f"{self.url}/state").json()
        return found

    def expire(self) -> None:
        """Make every access token invalid."""
        httpx.post(f"{self.url}/expire")

    def end(self) -> None:
        """End every sign-in."""
        httpx.post(f"{self.url}/end")

    def wait_for_revocation(self, before: int) -> None:
        """Until more sign-ins were revoked than ``before``."""
        until = time.monotonic() + 60
        while self.state()["revoked"] <= before:
            assert time.monotonic() < until, "it was not revoked"
            time.sleep(0.05)


@contextmanager
def provider() -> Iterator[str]:
    """Run the server. Returns its address."""
    with published_servers.listening([published_servers.python(), published_servers.ACCOUNTS]) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def installed(url: str, directory: Path, **settings: Any) -> Iterator[Place]:
    """An installation whose tools file names the server, unless ``settings`` say otherwise."""
    file = directory / "tools.toml"
    file.write_text(f'[[mcp]]\nname = "{NAME}"\nurl = "{url}/mcp"\ntools = ["whoami", "echo_token"]\n[mcp.oauth]\n')
    values = {"tools_file": file, "tools": TOOLS, "tools_without_approval": list(TOOLS), **settings}
    with pytest.MonkeyPatch.context() as patch:
        environment.change(patch, {"backend_url": "http://127.0.0.1:9", "data_dir": directory, **values})
        forget_servers()
        try:
            yield Place(url)
        finally:
            close_servers()
            forget_servers()


def browser(of: User) -> Client:
    client = Client()
    client.force_login(of)
    return client


def begun(client: Client) -> str:
    """Where the page sends the browser."""
    response = client.post("/settings/accounts/accounts/connect/", {"next": "/usage/"})
    assert response.status_code == 200, response.content
    return str(response.headers["Refresh"]).partition("url=")[2]


def answered(address: str, name: str) -> str:
    """The person signs in there, under that name. Returns the path to which they are sent back."""
    login = httpx.get(address).headers["location"]
    back = urlsplit(httpx.get(f"{login}&as={name}").headers["location"])
    assert back.netloc == "testserver"
    return f"{back.path}?{back.query}"


def connect(of: User, name: str) -> Client:
    """Connect their account there, which has this name."""
    client = browser(of)
    response = client.get(answered(begun(client), name))
    assert (response.status_code, response.headers["Location"]) == (302, "/usage/")
    return client


def confirm(by: User) -> str:
    """What the command says that confirms the tools, listed with this person's account."""
    out = io.StringIO()
    call_command("tools", *TOOLS, "--confirm", "--as", by.username, stdout=out, stderr=out)
    return out.getvalue()


def call(of: User, tool: str = "accounts_whoami") -> Any:
    """What a call in a turn of this person returns. Raises NeedsSignInError and RefusedError."""
    run = server_registry.tools()[tool].for_turn(_turn(of.pk)).run

    async def body() -> Any:
        return await run({})

    return _result(on_tools_loop(_caught(body())))


def calls_at_once(people: Sequence[UUID], tool: str = "accounts_whoami", processes: int = 1, **changed: str) -> list[Any]:
    """What calls of these people return that are made at once, in turn in so many processes that know nothing of each other. ``changed``:
    what was confirmed of the tool otherwise. Raises as ``call``."""
    [spec] = server_registry.specs()
    connections = [ServerConnection(spec, server_registry.server_of(spec)) for _ in range(processes)]
    offer = confirmations.stored()[tool].offer.model_copy(update=changed)

    async def all_at_once() -> list[Any]:
        asked = (connections[index % processes].call(offer, _turn(each), {}) for index, each in enumerate(people))
        found = await asyncio.gather(*map(_caught, asked))
        for each in connections:
            await each.close()
        return found

    return [_result(each) for each in on_tools_loop(all_at_once())]


def _turn(person: UUID) -> CallingTurn:
    return CallingTurn(uuid4(), uuid4(), person, sessions=Remembered())


async def _caught(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except ToolError as error:
        return error


def _result(found: Any) -> Any:
    if isinstance(found, CallNeedsSignInError):
        raise NeedsSignInError(str(found), found.server)
    if isinstance(found, ToolError):
        raise RefusedError(str(found))
    return found
