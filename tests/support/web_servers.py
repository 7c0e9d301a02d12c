"""Web servers on loopback for tests of the fetcher, which is configured to treat loopback as the public internet."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from chatui.outbound.addresses import is_public
from chatui.outbound.public_network import CheckedNetwork
from chatui.tools.fetcher import FetchedPage, Fetcher, FetchError, FetchLimits, Hosts

Answer = Callable[[asyncio.StreamWriter, str], Awaitable[None]]


@dataclass
class Peer:
    """A server: its port, and what it was asked."""

    port: int = 0
    requested: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Peer]:
    """A server that answers every request so. The second argument is the path."""
    peer = Peer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            peer.heads.append(head)
            peer.requested.append(head.split(" ")[1])
            await answer(writer, peer.requested[-1])
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    async with server:
        yield peer


def page(body: bytes, kind: str = "text/html", status: str = "200 OK", *more: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more])
    return f"{head}\r\n\r\n".encode() + body


def answers(whole: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(whole)

    return answer


async def here(host: str, port: int) -> list[str]:
    """A resolver for which every name is this machine."""
    return ["127.0.0.1"]


class NotFetchedError(Exception):
    """What the model is told of a page that could not be fetched."""


@dataclass(frozen=True)
class Fetching:
    """The product's fetcher, for which every name is this machine unless ``resolver`` knows better.

    Whoever changes how a fetcher is made or asked changes it here, and in no test.
    """

    ports: tuple[int, ...]
    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    seconds: float = 10.0
    bytes: int = 100_000
    resolver: Callable[[str, int], Awaitable[list[str]]] | None = here
    """None: the system's."""
    may_be_loopback: bool = True

    async def fetch(self, url: str) -> FetchedPage:
        """Raises NotFetchedError."""
        limits = FetchLimits(seconds=self.seconds, bytes=self.bytes, ports=(80, 443, *self.ports))
        permits = is_loopback_or_public if self.may_be_loopback else is_public
        network = CheckedNetwork(permits=permits) if self.resolver is None else CheckedNetwork(self.resolver, permits)
        try:
            return await Fetcher(Hosts(self.allowed, self.denied), limits, network=network).fetch(url)
        except FetchError as error:
            raise NotFetchedError(str(error)) from None


def is_loopback_or_public(address: str) -> bool:
    return address == "127.0.0.1" or is_public(address)


def fetcher(peer: Peer, **values: Any) -> Fetching:
    """A fetcher that may ask this peer, with ``values`` of Fetching."""
    return Fetching((peer.port,), **values)
