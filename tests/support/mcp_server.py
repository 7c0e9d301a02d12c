"""A scripted MCP server on loopback, of either protocol version, that can misbehave."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support import peer
from tests.support.mcp_calls import ADD
from tests.support.peer import PeerRequest

Answer = Callable[[PeerRequest, asyncio.StreamWriter], Awaitable[None]]
SESSION = "session-1"


@dataclass
class Mcp:
    """Answers by method. ``on`` overrides the answers of single methods."""

    is_stateless: bool = True
    tools: list[Any] = field(default_factory=lambda: [ADD])
    on: dict[str, Answer] = field(default_factory=dict)
    got: list[Any] = field(default_factory=list)
    sessions: set[str] = field(default_factory=lambda: {SESSION})

    async def __call__(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        message = request.json or {}
        self.got.append(message)
        method = message.get("method", "")
        if method in self.on:
            await self.on[method](request, writer)
        elif not self.is_stateless and method == "server/discover":
            # As a published server answers what it has not read.
            await peer.send(writer, {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "no session"}}, 400)
        elif not self.is_stateless and method != "initialize" and request.headers.get("mcp-session-id") not in self.sessions:
            await peer.send(writer, {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": -32001, "message": "gone"}}, 404)
        elif "id" not in message or "result" in message or "error" in message:
            await peer.send(writer, b"", 202)
        else:
            await self._result(message, method, writer)

    async def _result(self, message: dict[str, Any], method: str, writer: asyncio.StreamWriter) -> None:
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}},
            "tools/list": {"tools": self.tools},
            "ping": {},
            "tools/call": {"content": [{"type": "text", "text": "3"}]},
        }
        extra = f"Mcp-Session-Id: {min(self.sessions)}\r\n" if method == "initialize" and not self.is_stateless else ""
        await peer.send(writer, {"jsonrpc": "2.0", "id": message["id"], "result": results[method]}, extra=extra)


def result(value: object) -> Answer:
    """A result for the request that was received."""

    async def answer(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        await peer.send(writer, {"jsonrpc": "2.0", "id": request.json["id"], "result": value})

    return answer


def events(*before: object, value: object = None) -> Answer:
    """An event stream: these messages, then the answer."""

    async def answer(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        last = {"jsonrpc": "2.0", "id": request.json["id"], "result": value or {"content": [{"type": "text", "text": "streamed"}]}}
        data = "".join(f"event: message\ndata: {json.dumps(each)}\n\n" for each in (*before, last))
        await peer.send(writer, data.encode(), kind="text/event-stream")

    return answer


def called(mcp: Mcp, method: str) -> list[Any]:
    return [message for message in mcp.got if message.get("method") == method]
