"""One request and its response on a connection. h11 handles the headers; the body is read at frame rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import h11
import httpx

from chatui.backends.http1.body import Body, BrokenBodyError, Chunked, Sized, UntilClosed
from chatui.backends.http1.streams import MOST_AT_ONCE, Stream

READING = "chatui.reading"
"""The name of the httpx extension that holds a Reading."""
TARGET = "chatui.target"
"""The name of the httpx extension that holds what to write in the place of the path of a request: for a proxy, the whole address."""
FOR_PROXY = "chatui.for_proxy"
"""The name of the httpx extension that holds headers for a proxy. They are not among those of the request, which recordings see."""
_MOST_HEAD = 100 * 1024
_MOST_INTERIM = 20
"""Responses with a status below 200 before the one that counts."""
_AT_ONCE_AT_FIRST = 3
"""Reads of a body before the first pause: a server that has waited to send may say its first words in several pieces."""


class GoneError(httpx.RemoteProtocolError):
    """The server closed the connection without a byte of a response."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the body of a response is read. ``deadline``: until when more must have come, in the loop's time, asked whenever nothing has.

    ``pause`` waits between two reads, for what comes meanwhile to be read together.
    """

    deadline: Callable[[], float]
    pause: Callable[[], Awaitable[None]]


class Exchange:
    """``send`` once; then read the ``response`` and iterate over the body of it."""

    def __init__(self, stream: Stream, request: httpx.Request, released: Callable[[Stream | None], None]) -> None:
        """``released`` is called once, at the end, with the connection if it can be used again."""
        self._stream = stream
        self._request = request
        self._released: Callable[[Stream | None], None] | None = released
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)
        self._is_kept_alive = self._has_heard = False

    async def response(self) -> httpx.Response:
        """Send the request, and read the head of the response."""
        try:
            try:
                await self._stream.write(await self._written())
            except OSError:
                # A server may answer before it has read everything, and close.
                self._h11.send_failed()
            head, begun = await self._head()
        except BaseException:
            self.close()
            raise
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Content(self, _body_of(head, self._request), begun, self._request.extensions.get(READING)),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    async def _written(self) -> bytes:
        request = self._request
        try:
            target = request.extensions.get(TARGET, request.url.raw_path)
            headers = [*request.headers.raw, *request.extensions.get(FOR_PROXY, ())]
            head = self._h11.send(h11.Request(method=request.method, target=target, headers=headers))
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        body = await request.aread()
        return b"".join(filter(None, (head, self._h11.send(h11.Data(body)) if body else b"", self._h11.send(h11.EndOfMessage()))))

    async def _head(self) -> tuple[h11.Response, bytes]:
        """The head, and what came of the body together with it."""
        interim = 0
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
                if interim > _MOST_INTERIM:
                    raise httpx.RemoteProtocolError("too many interim responses")
                continue
            self._h11.receive_data(await self._more_of_head())

    async def _more_of_head(self) -> bytes:
        is_first, self._has_heard = not self._has_heard, True
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
        """The response is over; if it is whole, the connection may serve another request."""
        released, self._released = self._released, None
        if released is None:
            return
        is_reusable = is_whole and self._is_kept_alive
        if not is_reusable:
            self._stream.close()
        released(self._stream if is_reusable else None)

    def close(self) -> None:
        """Give the connection up."""
        self.end(is_whole=False)


class _Content(httpx.AsyncByteStream):
    """The body. Each piece is all that came since the one before it.

    No generator: who reads an answer stops at its last event, and the event loop would end what was left of one in a task of its own.
    """

    def __init__(self, exchange: Exchange, body: Body, begun: bytes, reading: Reading | None) -> None:
        self._exchange = exchange
        self._body = body
        self._begun = begun
        self._reading = reading
        self._reads = 0
        self._was_full = self._is_full = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece, self._begun = self._taken(self._begun) if self._begun else b"", b""
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
            # What fills a whole read is followed by more that has come already; what fills two is a flood.
            if self._reading and (self._was_full or not self._is_full):
                await self._reading.pause()
            else:
                await asyncio.sleep(0)  # a read that finds bytes does not wait: without this, a flood would keep everybody else out
        data = await self._exchange.read(self._deadline())
        self._reads += 1
        self._was_full, self._is_full = self._is_full, len(data) >= MOST_AT_ONCE
        return data

    async def aclose(self) -> None:
        self._exchange.end(is_whole=self._body.is_done and not self._body.rest and not self._begun)

    def _deadline(self) -> float | None:
        """Where something always has come, but never what is waited for, no read would notice that the time is over."""
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
    """As RFC 9112 says. h11 has refused heads that contradict themselves."""
    headers = dict(head.headers)
    if request.method == "HEAD" or head.status_code in (204, 304):
        return Sized(0)
    if b"transfer-encoding" in headers:
        return Chunked()
    return Sized(int(headers[b"content-length"])) if b"content-length" in headers else UntilClosed()


def _is_lasting(head: h11.Response) -> bool:
    """Whether the server keeps the connection open behind this response."""
    return all(value.strip().lower() != b"close" for name, values in head.headers if name == b"connection" for value in values.split(b","))
