"""One streaming HTTP request to a model server, with timeouts, size limits and error codes.

A client alone does not stop a server that sends one byte at a time, so every wait has its own deadline. A busy server is asked again, but
only before any of the answer has arrived.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import cast

import httpx

from chatui.backends.base import Backend, BackendError, SampleEvent, SampleLimits, SampleRequest, Watcher
from chatui.backends.failures import RejectedFields, blame_request, connection_lost, error_of_status, timed_out, unreachable
from chatui.backends.http1 import READING, BodyReading, Transport
from chatui.backends.pace import AnswerPace
from chatui.backends.route import DIRECT, Route, credentials
from chatui.backends.sse import Decoder, ServerSentEvent, TooLongError, decoded, is_object
from chatui.codes import Cause, ProductCode
from chatui.observability import measures
from renderer.errors import Code

_log = logging.getLogger(__name__)

WHOLE = "chatui:whole"
"""The name of the single event that represents an answer in a plain JSON body."""
_json_of = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
# No compression: answers could inflate.
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "keep-alive", "User-Agent": f"python-httpx/{httpx.__version__}"}
_SHOWN = 200
_PAGE = "a page of HTML in the place of an answer"
_NO_STREAM = "something else in the place of an answer"
_NO_OBJECT = "JSON that is cut, or no object"
_MIN_KEY_CHARS = 6
"""Shorter keys, such as "none", are not secrets, and may be words of a message."""


class Upstream:
    """A model server's base address and the shared connection pool to it."""

    def __init__(self, url: str, key: str | None, limits: SampleLimits, route: Route = DIRECT) -> None:
        """``url`` with or without a trailing ``/v1``, or the root of an API by another name.

        Raises:
            ValueError: ``url`` is not an http address.
        """
        address = httpx.URL(url.rstrip("/"))
        if address.scheme not in ("http", "https") or not address.host:
            raise ValueError("the address of a model server begins with http:// or https://")
        self._url = str(address)
        self._route = route
        self.place = f"{address.host}:{address.port}" if address.port else address.host
        self.limits = limits
        self.watcher: Watcher | None = None
        self._rejected = RejectedFields()
        # Read again: httpx leaves the default port out only if the scheme is in lower case, which it makes it.
        self._headers = httpx.Headers({"Host": httpx.URL(self._url).netloc.decode("ascii"), **_HEADERS})
        for headers in (route.key_headers(key), credentials(address)):
            self._headers.update(headers)
        self._stream_headers = httpx.Headers(self._headers)
        self._stream_headers.update({"Accept": "text/event-stream", "Content-Type": "application/json"})
        self._timeouts = httpx.Timeout(None, connect=limits.connect).as_dict()
        self._cookies: httpx.Cookies | None = None
        self._transport = Transport(route)
        self._open_requests = 0
        self._is_closed = False

    async def aclose(self) -> None:
        """Close the connections as soon as no request uses them. A later request opens new ones, and closes them after it."""
        self._is_closed = True
        await self._close_if_idle()

    def _address(self, path: str) -> httpx.URL:
        return httpx.URL(self._route.address(self._url, path), params=self._route.query or None)

    async def _close_if_idle(self) -> None:
        if self._is_closed and not self._open_requests:
            await self._transport.aclose()

    def _request(self, method: str, path: str, headers: httpx.Headers, body: bytes = b"") -> httpx.Request:
        extensions = {"timeout": self._timeouts}
        request = httpx.Request(method, self._address(path), headers=headers, content=body, extensions=extensions)
        if self._cookies is not None:
            self._cookies.set_cookie_header(request)
        return request

    async def get(self, path: str) -> tuple[httpx.Headers, object]:
        """GET a small JSON response within ``limits.discover`` seconds: headers, and the decoded body or None.

        Raises:
            BackendError: the server cannot be reached, fails, or does not answer in time.
        """
        request = self._request("GET", path, self._headers)
        deadline = asyncio.get_running_loop().time() + self.limits.discover
        async with self._opened(request, deadline) as response:
            body = await _read_whole(response, deadline, self.limits)
        return response.headers, decoded(body)

    async def try_get(self, path: str) -> object:
        """Like ``get``, for an endpoint that not every server has: only the decoded body; None on any failure."""
        try:
            return (await self.get(path))[1]
        except BackendError:
            return None

    async def stream(
        self,
        path: str,
        payload: Mapping[str, object],
        on_sent: Callable[[str, bytes], None] | None = None,
        is_hidden: Callable[[], bool] = lambda: False,
    ) -> AsyncGenerator[list[ServerSentEvent], None]:
        """Send ``payload`` and yield the events of the answer in batches, as they were read, until the server closes the stream.

        ``on_sent`` gets the path and the exact bytes of the body before the response; never the headers, which contain the key.
        ``is_hidden``: as for AnswerPace.

        An optional field that the server rejects is left out from then on.

        Raises:
            BackendError: retryable only if no event had arrived yet.
        """
        while True:
            sent = self._rejected.without(payload)
            try:
                async with aclosing(self._stream(path, sent, on_sent, is_hidden)) as read:
                    async for events in read:
                        yield events
                return
            except BackendError as error:
                name = self._rejected.learn(error, sent)
                if name is None:
                    raise
                _log.warning("the model server at %s rejects the field %s: it is not sent there any more", self.place, name)

    async def _stream(
        self, path: str, payload: Mapping[str, object], on_sent: Callable[[str, bytes], None] | None, is_hidden: Callable[[], bool]
    ) -> AsyncGenerator[list[ServerSentEvent], None]:
        clock = _Clock(self.limits)
        body = _json_of(payload).encode()
        request = self._request("POST", path, self._stream_headers, body)
        if traces := measures.trace_headers():
            request.headers.update(traces)
        request.extensions[READING] = BodyReading(clock.deadline, AnswerPace(self.limits.read_interval, is_hidden).rest)
        if on_sent is not None:
            on_sent(path, body)
        async with self._opened(request, clock.deadline()) as response:
            if "json" in response.headers.get("content-type", ""):
                body = await _read_whole(response, clock.deadline(), self.limits)
                yield [ServerSentEvent(WHOLE, _json_object(body))]
                return
            decoder = Decoder(self.limits.max_line_bytes)
            # An answer may end before its body does. httpx's wrappers around the stream would then be left to the event loop, which needs
            # a task and a pass of its own to close each layer.
            is_empty = True
            async with aclosing(aiter(_content(response))) as chunks:  # type: ignore[type-var]  # each has aclose
                while (chunk := await _next(chunks, clock)) is not None:
                    is_empty = False
                    if events := _fed(decoder, chunk):
                        clock.restart()
                        yield events
            if events := decoder.finish():
                clock.restart()
                yield events
            if not clock.response_started:
                _check_is_stream(response, is_empty)

    @asynccontextmanager
    async def _opened(self, request: httpx.Request, deadline: float) -> AsyncIterator[httpx.Response]:
        if self.watcher:
            self.watcher.asked(request)
        self._open_requests += 1
        try:
            response = await self._answered(request, deadline)
            try:
                if self.watcher:
                    self.watcher.answered(response)
                if response.status_code != 200:
                    async with _in_time(deadline):
                        raise await _refusal(response, self.limits, self._route)
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise BackendError(ProductCode.BACKEND, "the server compressed an answer that was asked for as it is").because(
                        Cause.UNREADABLE
                    )
                yield response
            finally:
                await _content(response).aclose()
        finally:
            self._open_requests -= 1
            await self._close_if_idle()

    async def _answered(self, request: httpx.Request, deadline: float) -> httpx.Response:
        """Send a request, and read the head of its response.

        Not through httpx's client: what it adds is not wanted here, such as redirects, proxies and .netrc from the environment, and its
        search of each response for cookies takes as long as building a request. A load balancer's cookie is still sent back to it.
        """
        async with _in_time(deadline):
            response = await self._transport.handle_async_request(request)
        response.request = request
        if "set-cookie" in response.headers:
            self._cookies = self._cookies or httpx.Cookies()
            self._cookies.extract_cookies(response)
        return response


class _Clock:
    """The deadline of the next event: ``first`` seconds for the first, then ``idle``, and ``overall`` in any case."""

    def __init__(self, limits: SampleLimits) -> None:
        self._limits = limits
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + limits.overall
        self._next = self._now() + limits.first
        self.response_started = False

    def restart(self) -> None:
        self.response_started = True
        self._next = self._now() + self._limits.idle

    def deadline(self) -> float:
        return min(self._end, self._next)


def _content(response: httpx.Response) -> httpx.AsyncByteStream:
    return cast(httpx.AsyncByteStream, response.stream)


async def _next(chunks: AsyncIterator[bytes], clock: _Clock) -> bytes | None:
    try:
        return await anext(chunks, None)
    except httpx.ReadTimeout as error:
        raise timed_out() from error
    except httpx.HTTPError as error:
        raise connection_lost(error, response_started=clock.response_started) from error


def _fed(decoder: Decoder, chunk: bytes) -> list[ServerSentEvent]:
    try:
        return decoder.feed(chunk)
    except TooLongError as error:
        raise BackendError(Code.STREAM_TRUNCATED, str(error)) from error


@asynccontextmanager
async def _in_time(deadline: float) -> AsyncIterator[None]:
    """Never use this around a ``yield``: it would time, and cancel, the caller's work. What breaks off counts as no answer."""
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except (TimeoutError, httpx.ReadTimeout) as error:
        raise timed_out() from error
    except httpx.HTTPError as error:
        raise unreachable(error) from error


async def _read_whole(response: httpx.Response, deadline: float, limits: SampleLimits) -> bytes:
    """The body of an answer that is not a stream."""
    async with _in_time(deadline):
        return await _bounded(response, limits.max_line_bytes)


def _json_object(body: bytes) -> str:
    """The text of a body, which must be a JSON object. Any other was cut, or does not come from a model server."""
    text = body.decode("utf-8", "replace")
    if not is_object(text):
        raise BackendError(ProductCode.BACKEND, f"{_NO_OBJECT}: {text[:_SHOWN]}", retryable=True).because(Cause.UNREADABLE, _NO_OBJECT)
    return text


def _check_is_stream(response: httpx.Response, is_empty: bool) -> None:
    """Check that an answer without events was meant as a stream. A proxy's sign-in page has status 200, too. ``is_empty``: nothing came
    behind its head; a connection that was reset looks like this, too."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("text/html", "application/xhtml+xml"):
        raise BackendError(ProductCode.BACKEND_SETUP, _PAGE).because(Cause.WEB_PAGE)
    if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        raise BackendError(ProductCode.BACKEND, f"{_NO_STREAM}: {kind[:_SHOWN]}").because(Cause.UNREADABLE, _NO_STREAM)
    if is_empty:
        raise connection_lost(httpx.RemoteProtocolError("the server sent nothing behind its head"), response_started=False)


async def _bounded(response: httpx.Response, most: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > most:
            break
    return bytes(body[:most])


async def _refusal(response: httpx.Response, limits: SampleLimits, route: Route) -> BackendError:
    """The error for a status other than 200. Its body may quote the model, so it is for staff only."""
    try:
        body = (await _bounded(response, limits.max_error_bytes)).decode("utf-8", "replace")
    except httpx.HTTPError:
        body = ""
    # Servers may quote the key that they refuse, which readers of this text need not know.
    key = response.request.headers.get(route.key_header or "authorization", "").removeprefix("Bearer ")
    proxy = route.through()
    for secret in (key, *(proxy.secrets if proxy else ())):
        body = body.replace(secret, "(the key)") if len(secret) >= _MIN_KEY_CHARS else body
    request, wait = response.request, response.headers.get("retry-after")
    names_model = request.method == "GET" or b'"model":' in request.content
    error = error_of_status(response.status_code, body, wait, datetime.now(UTC))
    return blame_request(error, body, request.url.path, names_model=names_model)


_STATUS = re.compile(r"HTTP (\d{3})\b")

PAUSES = (0.5, 2.0)
"""Seconds before the second and the third attempt, if the server names none."""
MAX_PAUSE_SECONDS = 15.0
"""A longer wait counts as a refusal: the person decides whether to wait."""


async def sample(backend: Backend, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
    """As ``backend.sample``, with at most two more attempts if it failed before its first event and a retry may help.

    ``Retry-After`` is respected. A timeout is not retried: the person has waited long enough.

    Raises:
        BackendError: the last attempt's.
    """
    begun_at = time.monotonic()
    for pause in (*PAUSES, None):
        has_begun = False
        try:
            async with aclosing(backend.sample(request)) as events:
                async for event in events:
                    has_begun = True
                    yield event
            return
        except BackendError as error:
            wait = pause if error.retry_after is None else error.retry_after
            may_help = error.retryable and not has_begun and error.code is not ProductCode.TIMEOUT
            if pause is None or wait is None or wait > MAX_PAUSE_SECONDS or not may_help:
                _note(backend, error, time.monotonic() - begun_at)
                raise
        # A little longer than requested, with random variation, so that requests that were refused together do not return together.
        await asyncio.sleep(wait * (1 + random.random() / 4))  # noqa: S311 - no secret


def status_of(error: BackendError) -> str:
    """The HTTP status that a model server answered with; empty if the failure was not a status."""
    return found[1] if (found := _STATUS.search(error.seen)) else ""


def _note(backend: Backend, error: BackendError, seconds: float) -> None:
    """Write a log line and a metric for the operator. Neither contains the server's message."""
    status = status_of(error)
    measures.MODEL_SERVER_ERRORS.labels(backend.name, error.code.value, status).inc()
    fields = {"backend": backend.name, "code": error.code.value, "status": status, "cause": error.told, "seconds": round(seconds, 3)}
    _log.warning("a model server failed", extra=fields)
