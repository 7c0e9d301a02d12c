"""Connects only to checked addresses: resolves a name once, checks all of its addresses, and connects to one of them, so that a second DNS
answer cannot change the target."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address

import httpcore

from chatui.fetching.addresses import is_public

Resolver = Callable[[str, int], Awaitable[list[str]]]
MAX_ADDRESSES = 4


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only. Tests, which have no public address, set ``resolver`` and ``permits``."""

    def __init__(self, resolver: Resolver = look_up, permits: Callable[[str], bool] = is_public) -> None:
        self._resolver = resolver
        self._permits = permits
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to one of the host's addresses. A host with any address that is not public is refused as a whole."""
        addresses = await self._addresses(host, port)
        if not addresses or not all(map(self._permits, addresses)):
            raise httpcore.ConnectError
        for address in addresses[:MAX_ADDRESSES]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        raise httpcore.ConnectError

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refused always: a Unix socket is local."""
        raise httpcore.ConnectError

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[str]:
        bare = host.strip("[]")
        try:
            return [str(ip_address(bare))]
        except ValueError:
            pass
        try:
            return await self._resolver(bare, port)
        except (OSError, UnicodeError):
            raise httpcore.ConnectError from None
