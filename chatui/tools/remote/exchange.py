"""Sends one HTTP request to a tool server and reads its response, limited in bytes. The caller limits the time by cancelling.

It uses a transport without httpx's client on purpose: there are no cookies that one person's call could leave for another's, no redirects,
no proxies and no compression. A server that is down several times in a row gets no calls for a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import httpx

from chatui.outbound.connections import USER_AGENT, tls
from chatui.outbound.requests import transport_to
from chatui.tools.remote.offers import Moment, ServerError, sent

MAX_BYTES = 2_000_000
CONNECT_SECONDS = 10.0
_REDIRECTS = range(300, 400)
_REFUSALS = range(400, 500)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request. Its headers contain credentials, so it is never shown."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)


FORBIDDEN = (401, 403)
_GATEWAYS = (502, 503, 504)
"""What a proxy answers whose server does not."""


_REMEDIES = {
    401: ": it wants a sign-in, which the tools file gives it by headers or oauth",
    405: ": nothing can be posted to this address. If it speaks the older transport (HTTP+SSE), the tools file needs its other one",
}


class StatusError(ServerError):
    """``challenge``: what the server says about authorization (``WWW-Authenticate``). It is untrusted, and in no text.
    ``server_words``: see ``ServerError``."""

    def __init__(self, status: int, challenge: str = "", server_words: str = "") -> None:
        # A server that says 202 or 204 to a call has accepted it, though it gave no result.
        moment = Moment.NOT_RUN if status in _REFUSALS else Moment.LOST if status in _GATEWAYS else Moment.ANSWERED
        super().__init__(f"the server answered with status {status}{_REMEDIES.get(status, '')}", moment, server_words)
        self.status = status
        self.challenge = challenge

    @classmethod
    def of(cls, response: httpx.Response) -> StatusError:
        return cls(response.status_code, challenge=response.headers.get("www-authenticate", ""))


class ToolServerConnections:
    """The connections to one server, usable from any event loop. A request is never retried, because the call may have been executed."""

    def __init__(self, public: str = "") -> None:
        """``public``: an address that staff entered, for which the rules of such addresses hold (``outbound.staff_addresses``)."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._public = public
        self._transport = _transport(public)

    @asynccontextmanager
    async def opened(self, ask: HttpRequest) -> AsyncIterator[httpx.Response]:
        """The response, whose body is read with ``pieces`` or ``whole``.

        Raises:
            ServerError: the server could not be reached, or responded with a redirect or a compressed body.
        """
        if self._loop is not asyncio.get_running_loop():
            self._loop, self._transport = asyncio.get_running_loop(), _transport(self._public)
        headers = {"Accept-Encoding": "identity", "User-Agent": USER_AGENT, **ask.headers}
        try:
            timeout = {"timeout": {"connect": CONNECT_SECONDS}}
            request = httpx.Request(ask.method, ask.url, headers=headers, content=ask.body or None, extensions=timeout)
            response = await self._transport.handle_async_request(request)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            moment = Moment.LOST if isinstance(error, httpx.TransportError) else Moment.NOT_RUN
            if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                moment = Moment.DOWN
            elif isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
                moment = Moment.NOT_RUN  # a request that cannot even be written down
            raise ServerError(f"the request to the server failed ({type(error).__name__})", moment) from None
        try:
            with sent():
                if response.status_code in _REDIRECTS:
                    raise ServerError("the server redirected the request, and redirects are not followed")
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise ServerError("the server compressed its answer against the request")
                yield response
        finally:
            await response.aclose()

    async def close(self) -> None:
        await self._transport.aclose()


def _transport(public: str) -> httpx.AsyncBaseTransport:
    if public:
        return transport_to(public)
    return httpx.AsyncHTTPTransport(verify=tls(), trust_env=False, limits=httpx.Limits(max_connections=None))


async def pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The body as it arrives.

    Raises:
        ServerError: the connection broke before its end.
    """
    try:
        async for piece in cast(httpx.AsyncByteStream, response.stream):
            yield piece
    except httpx.HTTPError as error:
        raise ServerError(f"the answer broke off ({type(error).__name__})", Moment.LOST) from None


async def whole(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """The body up to ``most`` bytes, and whether there was more. Raises as ``pieces``."""
    body = bytearray()
    async with aclosing(pieces(response)) as read:
        async for piece in read:
            body += piece
            if len(body) > most:
                break
    return bytes(body[:most]), len(body) > most


def kind_of(response: httpx.Response) -> str:
    """The type of the body, without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


MAX_FAILURES = 3
FIRST_SECONDS = 30.0
MAX_SECONDS = 600.0


class Breaker:
    """The circuit breaker of one server. Use it on one event loop. Calls after the pause decide whether it closes again.

    It counts only that the server is down, never the failure of a call; and what fails at the same time has one cause, and counts once.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._failed_at = float("-inf")
        self._open_until = 0.0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """A context manager around a call.

        Raises:
            ServerError: the breaker is open.
        """
        began = time.monotonic()
        if began < self._open_until:
            raise ServerError("the server was down several times, and is not called for a while")
        try:
            yield
        except ServerError as error:
            # A call that began before the last failure that counted failed at the same time.
            if error.moment is Moment.DOWN and began >= self._failed_at:
                self._failures, self._failed_at = self._failures + 1, time.monotonic()
                if self._failures >= MAX_FAILURES:
                    pause = FIRST_SECONDS * 2 ** min(self._failures - MAX_FAILURES, 10)
                    self._open_until = self._failed_at + min(MAX_SECONDS, pause)
            elif error.moment is Moment.ANSWERED:
                self._failures = 0
            raise
        except Exception:
            self._failures = 0
            raise
        else:
            self._failures = 0
