"""A recording proxy between the product and a model server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

_POST = re.compile(rb"POST (?P<path>[^ ]+) HTTP/1\.1\r\n(?P<head>(?:[^\r\n]+\r\n)+)\r\n")
_LENGTH = re.compile(rb"(?i)content-length: *([0-9]+)")


class RecordingProxy:
    """Records both directions of every connection. ``url``: the address that the product connects to."""

    def __init__(self) -> None:
        self.url = ""
        self._talks: list[tuple[bytearray, bytearray]] = []

    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all streaming requests, in the order of their connections."""
        found: list[dict[str, Any]] = []
        for sent, _ in self._talks:
            for match in _POST.finditer(sent):
                length = _LENGTH.search(match["head"])
                assert length is not None, "requests have a Content-Length"
                body = json.loads(sent[match.end() : match.end() + int(length[1])])
                found += [body] if body.get("stream") else []
        return found

    def cached(self) -> list[int]:
        """How many tokens of each prompt the server reports as cached, in the same order."""
        counts = [re.findall(rb'"(?:cached_tokens|cache_n)":(\d+)', answered) for _, answered in self._talks]
        return [int(found[-1]) for found in counts if found]

    def forget(self) -> None:
        """Discard all records."""
        self._talks.clear()

    async def talk(self, server: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward and record one connection of the product."""
        sent, answered = bytearray(), bytearray()
        self._talks.append((sent, answered))
        upstream_reader, upstream_writer = await asyncio.open_connection(*server)
        await asyncio.gather(_passed(reader, upstream_writer, sent), _passed(upstream_reader, writer, answered))


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, recorded: bytearray) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            recorded += data
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def recording_proxy(url: str) -> AsyncIterator[RecordingProxy]:
    """A running recording proxy before the server at ``url``."""
    proxy, parts = RecordingProxy(), urlsplit(url)
    upstream = (str(parts.hostname), int(parts.port or 0))
    server = await asyncio.start_server(lambda reader, writer: proxy.talk(upstream, reader, writer), "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
