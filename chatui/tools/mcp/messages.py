"""Writes and reads MCP messages (JSON-RPC 2.0)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.tools.remote.offers import ResponseTooLongError, ServerError
from renderer.strict_json import JsonError, TooManyValuesError, loads_bounded

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
SPOKEN = (HANDSHAKE, "2025-06-18", "2025-03-26", "2024-11-05")
"""Supported versions with a handshake. They do not differ in anything that is used here."""
UNSUPPORTED_VERSION = -32022
NOT_FOUND = -32601
"""The code for a method that the server does not have."""
MAX_MARKS = 100_000
"""The most strings, commas and opening brackets of one message."""
_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "chatui", "version": "0.1.0"}


class ServerRefusedError(Exception):
    """The server responded with an error."""

    def __init__(self, code: object, server_message: str, status: int = 200) -> None:
        super().__init__("the server refused")
        self.code = code
        """The error code of JSON-RPC."""
        self.status = status
        """The status of HTTP."""
        self.server_message = server_message
        """The server's own text, which only the model may read."""


@dataclass(eq=False, kw_only=True)
class KeptSession:
    """Where a session is kept: the product's own in memory, others where ``last`` and ``replace`` are overridden. Hold ``lock`` while a new
    one is made."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: str | None = field(default=None, repr=False)

    async def last(self) -> str | None:
        return self.session

    async def replace(self, before: str | None, after: str) -> str:
        self.session = after if self.session == before else self.session
        return self.session or ""


def request(number: int, method: str, params: Mapping[str, Any], *, wants_progress: bool = False) -> dict[str, Any]:
    """A request, which expects a response."""
    asked = {"_meta": {**params.get("_meta", {}), "progressToken": number}} if wants_progress else {}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, **asked}}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}


def cancelled(number: int) -> dict[str, Any]:
    """The notification that the response to the request with that id is not needed any more."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "stopped"}}


def capabilities(*, asks: bool) -> dict[str, Any]:
    """What we offer to a server. ``asks``: it may ask people to fill in forms, but never lead them to an address."""
    return {"elicitation": {"form": {}}} if asks else {}


def stateless(params: Mapping[str, Any], *, asks: bool = False) -> dict[str, Any]:
    """Parameters for servers without sessions: each request names the client. ``asks``: see ``capabilities``."""
    meta = {f"{_META}protocolVersion": STATELESS, f"{_META}clientInfo": _CLIENT, f"{_META}clientCapabilities": capabilities(asks=asks)}
    return {**params, "_meta": meta}


def hello(*, asks: bool = False) -> dict[str, Any]:
    """The parameters of ``initialize``. ``asks``: see ``capabilities``."""
    return {"protocolVersion": HANDSHAKE, "capabilities": capabilities(asks=asks), "clientInfo": _CLIENT}


def agreed(result: Mapping[str, Any]) -> str:
    """The protocol version from a handshake.

    Raises:
        ServerError: the version is not supported.
    """
    version = result.get("protocolVersion")
    if version not in SPOKEN:
        raise ServerError("the server uses a version of MCP that is not supported here")
    return str(version)


def capabilities_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the server says in its introduction that it has, such as ``prompts``; None if it says nothing."""
    found = result.get("capabilities")
    return found if isinstance(found, Mapping) else None


def read(data: str | bytes) -> Mapping[str, Any]:
    """Parse one message.

    Raises:
        ResponseTooLongError: the message has too many values.
        ServerError: the data is not a message.
    """
    try:
        found = loads_bounded(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data, MAX_MARKS)
    except TooManyValuesError:
        raise ResponseTooLongError("the server's answer is too long: it has too many values") from None
    except JsonError:
        raise ServerError("the server's answer is not JSON") from None
    if not isinstance(found, dict):
        raise ServerError("the server's answer is not an MCP message")
    return found


def is_request(message: Mapping[str, Any]) -> bool:
    """Whether this is a request from the server."""
    return "method" in message and "id" in message


def is_notice(message: Mapping[str, Any]) -> bool:
    """Whether this is a notification from the server."""
    return "method" in message and "id" not in message


def is_answer(message: Mapping[str, Any], number: int) -> bool:
    """Whether the message is the response to the request with that id. ``True`` is not 1."""
    return "method" not in message and type(message.get("id")) is int and message["id"] == number


def result_of(message: Mapping[str, Any], status: int = 200) -> dict[str, Any]:
    """The result in a response. ``status``: of HTTP.

    Raises:
        ServerRefusedError: the response has an error instead.
        ServerError: the response has neither.
    """
    error = message.get("error")
    if isinstance(error, Mapping):
        raise ServerRefusedError(error.get("code"), str(error.get("message", "")), status)
    result = message.get("result")
    if not isinstance(result, dict):
        raise ServerError("the server's answer has neither a result nor an error")
    return result


def declined(message: Mapping[str, Any]) -> dict[str, Any]:
    """The response to a server's request: only pings succeed."""
    method = message["method"]
    refused = {"error": {"code": NOT_FOUND, "message": refusal(method)}}
    return answered(message, {"result": {}} if method == "ping" else refused)


def refusal(method: object) -> str:
    """Why a request of a server's is refused."""
    return (_REFUSED.get(method) if isinstance(method, str) else None) or "This client does not support that request."


_REFUSED = {
    "sampling/createMessage": "Sampling is not supported: this client lets no server use its model.",
    "roots/list": "Roots are not supported: this client shows no server any files.",
    "elicitation/create": "Elicitation is not allowed for this server: its operator can allow it to speak to people.",
}


def answered(message: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The response to a server's request. ``outcome``: its result or its error."""
    return {"jsonrpc": "2.0", "id": message["id"] if isinstance(message["id"], int | str) else None, **outcome}
