"""Connections to public addresses only. An IPv4 address that is embedded in an IPv6 one is judged as well. A name is resolved once, all of
its addresses are checked, and one of them is connected to, so that a second DNS answer cannot change the target.

It loads ``httpcore``, which only the web and addresses that others name need: 1 MB.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address

import httpcore
import httpx

from chatui.outbound.addresses import is_public
from chatui.outbound.connections import tls

Resolver = Callable[[str, int], Awaitable[list[str]]]
MAX_ADDRESSES = 4


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


@dataclass(frozen=True, slots=True)
class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only. Tests, which have no public address, set ``resolver`` and ``permits``."""

    resolver: Resolver = look_up
    permits: Callable[[str], bool] = is_public

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
        if not addresses or not all(map(self.permits, addresses)):
            raise httpcore.ConnectError
        network = httpcore.AnyIOBackend()
        for address in addresses[:MAX_ADDRESSES]:
            try:
                return await network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        raise httpcore.ConnectError

    async def _addresses(self, host: str, port: int) -> list[str]:
        bare = host.strip("[]")
        try:
            return [str(ip_address(bare))]
        except ValueError:
            pass
        try:
            return await self.resolver(bare, port)
        except (OSError, UnicodeError):
            raise httpcore.ConnectError from None


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Connects to public addresses only, see ``CheckedNetwork``. No proxies, no redirects."""

    def __init__(self, network: CheckedNetwork) -> None:
        super().__init__(verify=tls(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=tls(), max_connections=None, network_backend=network)
