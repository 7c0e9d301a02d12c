"""The web in one server on loopback: every name under ``.example`` has a public address, which leads there."""

import socket
from typing import Any

import httpcore
import pytest

ADDRESS = "93.184.215.14"
"""A public address. No packet is sent to it."""


def lead_to(patch: pytest.MonkeyPatch, port: int) -> None:
    """From now on, every name under ``.example`` is ``ADDRESS``, and whoever connects to that, at any port, reaches this port of ours."""
    look_up, connect = socket.getaddrinfo, httpcore.AnyIOBackend.connect_tcp

    def looked_up(host: Any, named: Any, *given: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        return look_up(ADDRESS if name.endswith(".example") else host, named, *given, **more)

    async def connected(network: httpcore.AnyIOBackend, host: str, named: int, *given: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        host, named = ("127.0.0.1", port) if host == ADDRESS else (host, named)
        return await connect(network, host, named, *given, **more)

    patch.setattr(socket, "getaddrinfo", looked_up)
    patch.setattr(httpcore.AnyIOBackend, "connect_tcp", connected)
