"""MCP servers that keep words: over HTTP in the session, over stdio in the program's memory; and how they are offered."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chatui.tools import confirmations
from chatui.tools.confirmations import Confirmation
from tests.support import environment
from tests.support import peer as peers
from tests.support.mcp_calls import listing
from tests.support.mcp_server import Mcp
from tests.support.peer import PeerRequest, peer
from tests.support.tool_servers import close_servers

KEEP = {
    "name": "keep",
    "description": "Keeps a word, and returns all words that were kept.",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
PROGRAM = f"""
import json, os, sys
words = []
def say(number, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": number, "result": result}}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say(number, {{"protocolVersion": "2025-11-25", "capabilities": {{}}}})
    elif method == "tools/list":
        say(number, {{"tools": [{KEEP!r}]}})
    elif method == "tools/call":
        word = message["params"]["arguments"]["word"]
        if word == "die":
            os._exit(1)
        if word == "fail":
            say(number, {{"isError": True, "content": [{{"type": "text", "text": "no"}}]}})
            continue
        words.append(word)
        say(number, {{"content": [{{"type": "text", "text": " ".join(words)}}]}})
"""

IN_A_FILE = PROGRAM.replace("words.append(word)", "open(os.environ['WORDS'], 'a').write(word + ' ')").replace(
    '" ".join(words)', "open(os.environ['WORDS']).read().strip()"
)
"""The same, with the words in a file, as some published servers have it."""


_NUMBERS = count()


@dataclass
class Sessions(Mcp):
    """A server with a handshake, and the words of each session. ``unknown``: its status for sessions that it does not know."""

    is_stateless: bool = False
    tools: list[Any] = field(default_factory=lambda: [KEEP])
    words: dict[str, list[str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """The session of each call that was carried out."""
    ended: list[str] = field(default_factory=list)
    unknown: int = 404
    begun: int = 0

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        message, session = request.json or {}, request.headers.get("mcp-session-id", "")
        method = message.get("method", "")
        if request.method == "DELETE":
            self.ended.append(session)
            self.words.pop(session, None)
            await peers.send(writer, b"", 204)
        elif method == "initialize":
            self.begun += 1
            session = f"secret-{self.begun}"
            self.words[session] = []
            found = {"protocolVersion": "2025-06-18", "capabilities": {}}
            extra = f"Mcp-Session-Id: {session}\r\n"
            await peers.send(writer, {"jsonrpc": "2.0", "id": message["id"], "result": found}, extra=extra)
        elif method != "server/discover" and session not in self.words:
            error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
            await peers.send(writer, {"jsonrpc": "2.0", "id": message.get("id"), "error": error}, self.unknown)
        elif method == "ping":
            await peers.send(writer, {"jsonrpc": "2.0", "id": message["id"], "result": {}})
        elif method == "tools/call" and method not in self.on:
            self.calls.append(session)
            self.words[session].append(message["params"]["arguments"]["word"])
            content = [{"type": "text", "text": " ".join(self.words[session])}]
            await peers.send(writer, {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})
        else:
            self.sessions = set(self.words)
            await super().__call__(request, writer)


def tools_file(directory: Path, **values: Any) -> Path:
    """An operator's file that names the tool ``notes_keep`` of one server."""
    lines = [f"{name} = {_toml(value)}" for name, value in {"name": "notes", "tools": ["keep"], **values}.items()]
    path = directory / "tools.toml"
    path.write_text("\n".join(["[[mcp]]", *lines]))
    return path


class Offered:
    """The tool of ``tools_file``, offered by one or more processes with one database."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path, **values: Any) -> None:
        self._monkeypatch, self._directory, self._values = monkeypatch, directory, values
        offer = listing("notes", ["keep"], [KEEP]).offers["keep"]
        confirmed = Confirmation(offer=offer, digest=offer.digest(), confirmed_at=datetime.now(UTC))
        monkeypatch.setattr(confirmations, "stamp", lambda: frozenset({(offer.name, confirmed.digest)}))
        monkeypatch.setattr(confirmations, "stored", lambda: {offer.name: confirmed})
        monkeypatch.setattr(confirmations, "is_current", lambda *_: True)
        named = {"data_dir": directory, "tools": {offer.name: ()}, "tools_without_approval": [offer.name]}
        environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", "tool_combinations": "any", **named})
        self._files: dict[int, Path] = {}
        """Of each process, which has what it knows of the servers of its own file."""
        self._number = 0
        self.in_process(0)

    def in_process(self, number: int) -> None:
        """From now on, calls are made by this process; a new one has only what is stored."""
        self._number = number
        if number not in self._files:
            place = self._directory / f"process-{next(_NUMBERS)}"
            place.mkdir()
            self._files[number] = tools_file(place, **self._values)
        environment.change(self._monkeypatch, {"tools_file": self._files[number]})

    def end_process(self) -> None:
        """End the current process with its programs, and go on in a new one."""
        self._close()
        del self._files[self._number]
        self.in_process(self._number)

    def close(self) -> None:
        for number in list(self._files):
            self.in_process(number)
            self._close()

    @staticmethod
    def _close() -> None:
        close_servers()


def programs() -> set[int]:
    """The running programs of such servers that this process has started."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"words = []" in (place / "cmdline").read_bytes() and f"\nPPid:\t{os.getpid()}\n" in (place / "status").read_text():
                found.add(int(place.name))
    return found


@contextmanager
def offered(transport: str, monkeypatch: pytest.MonkeyPatch, directory: Path, **values: Any) -> Iterator[tuple[Offered, Sessions]]:
    """The server over ``http`` or ``stdio``. The second value is for HTTP."""
    sessions = Sessions()
    with peer(sessions) as served:
        where: dict[str, Any] = {"url": served.url} if transport == "http" else {"command": [sys.executable, "-c", PROGRAM]}
        found = Offered(monkeypatch, directory, **{**where, **values})
        try:
            yield found, sessions
        finally:
            found.close()


def _toml(value: Any) -> str:
    return (
        "{" + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + "}" if isinstance(value, dict) else json.dumps(value)
    )
