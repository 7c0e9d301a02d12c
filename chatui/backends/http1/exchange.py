"""One request and its response on a connection. h11 reads the head of the response; the body is read at frame rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import h11
import httpx

from chatui.backends.http1.body import Body, BrokenBodyError, Chunked, Sized, UntilClosed
from chatui.backends.http1.requests import RequestWriter
from chatui.backends.http1.streams import MAX_AT_ONCE, Stream

READING = "chatui.reading"
"""The name of the httpx extension that holds a Reading."""
_MAX_HEAD = 100 * 1024
_MAX_INTERIM = 20
"""How many responses with a status below 200 may precede the final one."""
_ANY_REQUEST = h11.Request(method="GET", target="/", headers=[("Host", "any")])
"""What h11 is told of the request, which ``RequestWriter`` writes: it reads the heads of all responses alike, but only after a request."""
_AT_ONCE_AT_FIRST = 3
"""Reads of a body before the first pause: a server may send its first words in several pieces."""


class GoneError(httpx.RemoteProtocolError):
    """The server closed the connection without a byte of a response."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the body of a response is read.

    ``deadline``: returns until when more must arrive, in the loop's time; called whenever nothing has. ``pause``: waits between two reads,
    so that bytes are read in batches.
    """

    deadline: Callable[[], float]
    pause: Callable[[], Awaitable[None]]


class Exchange:
    """Call ``response`` once, then iterate over its body."""

    def __init__(self, stream: Stream, request: httpx.Request, released: Callable[[Stream | None], None]) -> None:
        """``released`` is called once, at the end, with the connection if it is reusable."""
        self._stream = stream
        self._request = request
        self._released: Callable[[Stream | None], None] | None = released
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._h11.send(_ANY_REQUEST)
        self._is_kept_alive = self._has_received = False

    async def response(self, writer: RequestWriter) -> httpx.Response:
        """Send the request, and read the head of the response."""
        try:
            written = writer.written(self._request, await self._request.aread())
            try:
                await self._stream.write(written)
            except OSError:
                # A server may answer and close before it has read everything.
                self._h11.send_failed()
            head, first_bytes = await self._head()
        except BaseException:
            self.close()
            raise
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Content(self, _body_of(head, self._request), first_bytes, self._request.extensions.get(READING)),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    async def _head(self) -> tuple[h11.Response, bytes]:
        """The head, and the part of the body that arrived with it."""
        interim = 0
        self._h11.receive_data(await self._more_of_head())
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if isinstance(event, h11.Response):
                self._is_kept_alive = event.http_version == b"1.1" and _is_lasting(event)
                return event, self._h11.trailing_data[0]
            if isinstance(event, h11.InformationalResponse):
                interim += 1
                if interim > _MAX_INTERIM:
                    raise httpx.RemoteProtocolError("too many interim responses")
                continue
            self._h11.receive_data(await self._more_of_head())

    async def _more_of_head(self) -> bytes:
        is_first, self._has_received = not self._has_received, True
        try:
            data = await self.read(None)
        except httpx.ReadError as error:
            if is_first:
                raise GoneError(str(error)) from error
            raise
        if not data:
            raise (GoneError if is_first else httpx.RemoteProtocolError)("Server disconnected without sending a response.")
        return data

    async def read(self, deadline: float | None) -> bytes:
        """More bytes, as ``Stream.read``; failures are httpx's."""
        try:
            return await self._stream.read(deadline)
        except TimeoutError as error:
            raise httpx.ReadTimeout("nothing came for too long") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

    def end(self, *, is_whole: bool) -> None:
        """The response is over; if it is complete, the connection may serve another request."""
        released, self._released = self._released, None
        if released is None:
            return
        is_reusable = is_whole and self._is_kept_alive
        if not is_reusable:
            self._stream.close()
        released(self._stream if is_reusable else None)

    def close(self) -> None:
        """Close the connection."""
        self.end(is_whole=False)


class _Content(httpx.AsyncByteStream):
    """The body.

    Each piece is everything that arrived since the previous one. Not a generator: readers stop at the last event of an answer, and the
    event loop would close an unfinished generator in a task of its own.
    """

    def __init__(self, exchange: Exchange, body: Body, first_bytes: bytes, reading: Reading | None) -> None:
        self._exchange = exchange
        self._body = body
        self._first_bytes = first_bytes
        self._reading = reading
        self._reads = 0
        self._was_full = self._is_full = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece, self._first_bytes = self._taken(self._first_bytes) if self._first_bytes else b"", b""
            while not piece and not self._body.is_done:
                piece = self._taken(await self._more())
        except BaseException:
            await self.aclose()
            raise
        if not piece:
            await self.aclose()
            raise StopAsyncIteration
        return piece

    async def _more(self) -> bytes:
        if self._reads >= _AT_ONCE_AT_FIRST:
            # If a read is full, more bytes are waiting already; if two are, it is a flood.
            if self._reading and (self._was_full or not self._is_full):
                await self._reading.pause()
            else:
                await asyncio.sleep(0)  # a read that finds bytes does not yield: without this, a flood would block the event loop
        data = await self._exchange.read(self._deadline())
        self._reads += 1
        self._was_full, self._is_full = self._is_full, len(data) >= MAX_AT_ONCE
        return data

    async def aclose(self) -> None:
        self._exchange.end(is_whole=self._body.is_done and not self._body.rest and not self._first_bytes)

    def _deadline(self) -> float | None:
        """While bytes keep arriving, but never an event, no read would notice the timeout."""
        deadline = self._reading.deadline() if self._reading else None
        if deadline is not None and asyncio.get_running_loop().time() > deadline:
            raise httpx.ReadTimeout("what was waited for did not come")
        return deadline

    def _taken(self, data: bytes) -> bytes:
        try:
            return self._body.feed(data)
        except BrokenBodyError as error:
            raise httpx.RemoteProtocolError(str(error)) from error


def _body_of(head: h11.Response, request: httpx.Request) -> Body:
    """The reader for a response's body (RFC 9112). h11 has refused contradictory heads."""
    headers = dict(head.headers)
    if request.method == "HEAD" or head.status_code in (204, 304):
        return Sized(0)
    if b"transfer-encoding" in headers:
        return Chunked()
    return Sized(int(headers[b"content-length"])) if b"content-length" in headers else UntilClosed()


def _is_lasting(head: h11.Response) -> bool:
    """Whether the server keeps the connection open after this response."""
    return all(value.strip().lower() != b"close" for name, values in head.headers if name == b"connection" for value in values.split(b","))
