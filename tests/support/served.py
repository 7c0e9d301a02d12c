"""Runs the real product: ``manage.py serve`` (Daphne) in separate processes, on loopback, with people to sign in as."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import httpx
import websockets.asyncio.client
import websockets.exceptions

from tests.support.deployments import accounts, prepared, process

START_SECONDS = 180
CONNECT_SECONDS = 30
PASSWORD = "correct horse battery"
MAX_HELD_PORTS = 32
_held_ports: deque[socket.socket] = deque()
_NO_TLS = False
"""Test servers speak plain HTTP. Loading all certificates for each request costs more than most answers."""


class Deployment:
    """One data directory (or database) and the server processes over it. ``start`` more than one only with PostgreSQL and Redis.

    It begins with collected static files and a migrated database, so that it starts quickly; ``NewDeployment`` without a database.
    """

    has_database = True

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")}
        self.environment |= {"CHATUI_DATA_DIR": str(data_dir), "CHATUI_DEMO_TOKENS_PER_SECOND": "0", "PYTHONWARNINGS": "default"}
        self.environment["CHATUI_TITLES"] = "false"  # the tests of titles switch them on
        self.environment["CHATUI_DRAIN_SECONDS"] = "1"  # tests that end a server in mid-answer need not wait longer
        self.environment |= environment
        self.program: tuple[str, ...] = ("manage.py",)
        self.workers = 1
        self.servers: list[Server] = []
        prepared.prepare(data_dir, database=self.has_database and "CHATUI_DATABASE_URL" not in environment)

    def start(self, **environment: str) -> "Server":
        """Start a server process, with these additional variables, and wait until it answers."""
        server = Server(self.environment | environment, self.program, workers=self.workers)
        self.servers.append(server)
        server.wait_until_healthy()
        return server

    def start_again(self, ended: "Server") -> "Server":
        """Replace a process that has ended: on its port, where a proxy expects it."""
        ended.stop()
        server = Server(self.environment, self.program, ended.port)
        self.servers[self.servers.index(ended)] = server
        server.wait_until_healthy()
        return server

    def manage(self, *arguments: str) -> str:
        """Run a management command in the deployment's environment."""
        done = process.run(["manage.py", *arguments], self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make_people(self, **people: tuple[bool, list[str]]) -> None:
        """Create accounts: name=(is staff, permission code names). All have PASSWORD."""
        accounts.create(self.environment, people, PASSWORD)

    def stop(self) -> None:
        """End every server process."""
        for server in self.servers:
            server.stop()
        self.servers.clear()


class NewDeployment(Deployment):
    """A deployment before its first start, but with collected static files: compressing them takes half a minute."""

    has_database = False


@contextlib.contextmanager
def served(deployment: Deployment, *people: str) -> Iterator["Server"]:
    """A process of the deployment, with the accounts of ``people``; of ``ada`` if nobody is named."""
    try:
        server = deployment.start()
        deployment.make_people(**{name: (False, []) for name in people or ("ada",)})
        yield server
    finally:
        deployment.stop()


class Server:
    """One process of ``manage.py serve``, or the parent of its ``workers``. ``url`` is its origin; ``console`` is its output."""

    def __init__(
        self,
        environment: dict[str, str],
        program: tuple[str, ...] = ("manage.py",),
        port: int = 0,
        host: str = "127.0.0.1",
        workers: int = 1,
    ) -> None:
        """``program``: the program that Python runs, with the arguments of ``manage.py``. ``port``: 0 for a free one."""
        self.port = port or free_port()
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self._log = tempfile.TemporaryFile("w+")
        self._printed = ""
        self._clients: list[httpx.Client] = []
        several = ["--workers", str(workers)] if workers > 1 else []
        self.process = process.start([*program, "serve", "--host", host, "--port", str(self.port), *several], environment, self._log)

    @property
    def console(self) -> str:
        """All output so far."""
        if not self._log.closed:
            self._log.seek(0)
            self._printed = self._log.read()
        return self._printed

    @property
    def first_account_code(self) -> str:
        """The one-time code from the console."""
        found = re.search(r"code for the first one: (\S+)", self.console)
        assert found, self.console
        return found[1]

    def wait_until_healthy(self) -> None:
        """Wait until it serves pages. While it starts, it answers as well."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.console
            try:
                if '"starting"' not in httpx.get(f"{self.url}/readyz", trust_env=False, verify=_NO_TLS).text:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"the server did not answer within {START_SECONDS} s:\n{self.console}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process; kill it if it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(15)
        for client in self._clients:
            client.close()
        _ = self.console
        self._log.close()

    def sign_in(self, name: str) -> httpx.Client:
        """An HTTP client with this person's session."""
        client = signed_in(self, name)
        self._clients.append(client)
        return client


class Reachable(Protocol):
    """The address at which people reach the product: a process, or a proxy before several. ``url`` is its origin."""

    @property
    def port(self) -> int: ...

    @property
    def url(self) -> str: ...


def free_port() -> int:
    """A loopback port on which nothing listens. For a while it is given to nobody else: the server that is to listen there may take long to
    start, and the system gives unused ports to connections."""
    held = socket.socket()
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # so that the server can bind it as well
        held.setsockopt(socket.SOL_SOCKET, option, 1)
    held.bind(("127.0.0.1", 0))
    _held_ports.append(held)
    if len(_held_ports) > MAX_HELD_PORTS:
        _held_ports.popleft().close()
    return int(held.getsockname()[1])


def signed_in(place: Reachable, name: str) -> httpx.Client:
    """An HTTP client with this person's session. The caller closes it."""
    client = httpx.Client(
        base_url=place.url, trust_env=False, verify=_NO_TLS, timeout=60, headers={"Origin": place.url, "Referer": place.url + "/"}
    )
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get("/sign-in/").text)
    assert token
    filled_in = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    until = time.monotonic() + 60
    while (answer := client.post("/sign-in/", data=filled_in)).status_code == 503 and time.monotonic() < until:
        time.sleep(1)  # a server whose machine is busy says so, and asks to try again
    assert answer.status_code == 302, answer.text
    return client


class LiveSocket:
    """A real WebSocket of a signed-in client: ``async with LiveSocket(server, client) as socket``."""

    def __init__(self, server: Reachable, client: httpx.Client) -> None:
        self._address = f"ws://127.0.0.1:{server.port}/ws/"
        self._headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items()), "Origin": server.url}
        self._events: list[dict[str, Any]] = []

    async def __aenter__(self) -> "LiveSocket":
        until = time.monotonic() + CONNECT_SECONDS
        while True:
            try:
                self._connection = await websockets.asyncio.client.connect(
                    self._address, origin=None, compression="deflate", additional_headers=self._headers, proxy=None, max_size=None
                )
            except websockets.exceptions.InvalidStatus:
                # The server refuses a socket while its database is busy, as with many tests at once. A page tries again, too.
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.5)
            else:
                return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def send(self, type: str, **fields: Any) -> None:
        await self._connection.send(json.dumps({"type": type, **fields}))

    async def next(self) -> dict[str, Any]:
        while not self._events:
            for event in json.loads(await self._connection.recv()):
                if event["type"] == "chatui:ping":
                    await self.send("pong", number=event["number"])
                else:
                    self._events.append(event)
        return self._events.pop(0)

    async def until(self, *types: str) -> list[dict[str, Any]]:
        """Events up to and including the first of one of these types."""
        seen = [await self.next()]
        while seen[-1]["type"] not in types:
            seen.append(await self.next())
        return seen
