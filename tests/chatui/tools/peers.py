"""Web servers on loopback for tests of the fetcher, which is configured to treat loopback as the public internet."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from chatui.outbound.addresses import is_public
from chatui.outbound.public_network import CheckedNetwork
from chatui.tools.fetcher import Fetcher, FetchLimits, Hosts

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


def is_loopback_or_public(address: str) -> bool:
    return address == "127.0.0.1" or is_public(address)


def fetcher(peer: Peer, hosts: Hosts = Hosts(), *, seconds: float = 10.0, most: int = 100_000) -> Fetcher:  # noqa: B008 - a value
    """A fetcher that finds this peer under every name."""
    limits = FetchLimits(seconds=seconds, bytes=most, ports=(80, 443, peer.port))
    return Fetcher(hosts, limits, network=CheckedNetwork(here, is_loopback_or_public))
