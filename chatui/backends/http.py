"""One streaming HTTP request to a model server, with timeouts, size limits and error codes.

A client alone does not stop a server that sends one byte at a time, so every wait has its own deadline. A busy server is asked again, but
only before any of the answer has arrived.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx
from yarl import URL

from chatui.backends.base import Backend, BackendError, SampleEnded, SampleLimits, SampleRequest, Taker, Watcher
from chatui.backends.failures import RejectedFields, blame_request, error_of_status, lost
from chatui.backends.http1 import FAULTS, ModelServerConnections, UpstreamResponse, in_time, lost_by
from chatui.backends.pace import AnswerPace
from chatui.backends.route import DIRECT, Route, basic_authorization
from chatui.backends.sse import Decoder, EventTooLongError, ServerSentEvent, decoded, is_object
from chatui.codes import Cause, ProductCode
from chatui.observability import measures, request_ids
from chatui.outbound.connections import USER_AGENT
from renderer.errors import Code
from renderer.strict_json import finite, object_of, storable

_log = logging.getLogger(__name__)

WHOLE = "chatui:whole"
"""The name of the single event that represents an answer in a plain JSON body."""
_json_of = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
# No compression: answers could inflate.
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "keep-alive", "User-Agent": USER_AGENT}
_OF_STREAMS = {"Accept": "text/event-stream", "Content-Type": "application/json"}
AFTER_THE_END = 10.0
"""How long, in seconds, each further event is waited for once the server has said that the answer is over: the usage, and the last mark."""
_SHOWN = 200
_PAGE = "a page of HTML in the place of an answer"
_NO_STREAM = "something else in the place of an answer"
_NO_OBJECT = "JSON that is cut, or no object"
_MIN_KEY_CHARS = 6
"""Shorter keys, such as "none", are not secrets, and may be words of a message."""


_NO_REQUEST = SampleRequest(())


@dataclass(frozen=True, slots=True)
class Progress:
    """What the reader of an answer knows of it. ``is_hidden``: as for AnswerPace. ``has_ended``: whether the server has said that the
    answer is over; then the end of the stream is waited for only briefly, and nothing is missing if it does not come. ``unreadable``: how
    many events could not be read so far: these are no sign of life."""

    is_hidden: Callable[[], bool] = lambda: False
    has_ended: Callable[[], bool] = lambda: False
    unreadable: Callable[[], int] = lambda: 0


_NO_PROGRESS = Progress()


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
        self.host = f"{address.host}:{address.port}" if address.port else address.host
        self.limits = limits
        self.watcher: Watcher | None = None
        self._rejected = RejectedFields()
        # Read again: httpx leaves the default port out only if the scheme is in lower case, which it makes it.
        self._headers = httpx.Headers({"Host": httpx.URL(self._url).netloc.decode("ascii"), **_HEADERS})
        self._headers.update(route.key_headers(key))
        if basic := basic_authorization(address):
            self._headers["Authorization"] = basic
        self._sent = {name.decode("ascii"): value.decode("ascii") for name, value in self._headers.raw}
        self._addresses: dict[str, tuple[httpx.URL, URL]] = {}
        """For each path, the address to which its cookies belong, and the address as it is sent."""
        # Of load balancers, which get them back.
        self._cookies = httpx.Cookies()
        self._connections = ModelServerConnections(route, limits.connect)
        self._open_requests = 0
        self._is_closed = False

    async def aclose(self) -> None:
        """Close the connections as soon as no request uses them. A later request opens new ones, and closes them after it."""
        self._is_closed = True
        await self._close_if_idle()

    def _address(self, path: str) -> tuple[httpx.URL, URL]:
        if path not in self._addresses:
            address = httpx.URL(self._route.address(self._url, path), params=self._route.query or None)
            self._addresses[path] = address, URL(str(address.copy_with(userinfo=b"")), encoded=True)
        return self._addresses[path]

    async def _close_if_idle(self) -> None:
        if self._is_closed and not self._open_requests:
            await self._connections.aclose()

    async def get(self, path: str) -> tuple[Mapping[str, str], object]:
        """GET a small JSON response within ``limits.discover`` seconds: headers, and the decoded body or None.

        Raises:
            BackendError: the server cannot be reached, fails, or does not answer in time.
        """
        deadline = asyncio.get_running_loop().time() + self.limits.discover
        async with self._opened(path, deadline) as answer:
            body = await _bounded(answer, self.limits.max_line_bytes, deadline)
        return answer.headers, decoded(body.decode("utf-8", "replace"))

    async def try_get(self, path: str) -> object:
        """Like ``get``, for an endpoint that not every server has: only the decoded body; None on any failure."""
        try:
            return (await self.get(path))[1]
        except BackendError:
            return None

    async def post(self, path: str, payload: Mapping[str, object]) -> dict[str, Any]:
        """The JSON object that answers ``payload``; an empty one if something else comes. Raises as ``stream``."""
        found: list[ServerSentEvent] = []

        def feed(events: list[ServerSentEvent]) -> bool:
            found.extend(events)
            return True

        await self.stream(path, payload, feed)
        return object_of(decoded(found[0].data)) if found and found[0].name == WHOLE else {}

    async def stream(
        self,
        path: str,
        payload: Mapping[str, object],
        feed: Callable[[list[ServerSentEvent]], bool],
        request: SampleRequest = _NO_REQUEST,
        progress: Progress = _NO_PROGRESS,
    ) -> bool:
        """Send ``payload`` and feed the events of the answer in batches, as they were read, until the server closes the stream or ``feed``
        returns True, as this does then.

        ``request``: whose ``on_sent``, ``on_taken`` and ``take_together`` are called.

        An optional field that the server rejects is left out from then on.

        Raises:
            BackendError: retryable only if no event had arrived yet.
        """
        clock = _Clock(self.limits, request.asked_at, progress)
        async with self._opened(path, clock.deadline(), payload, request) as answer:
            request.on_taken(True)
            try:
                if "json" in answer.headers.get("content-type", ""):
                    body = await _bounded(answer, self.limits.max_line_bytes, clock.deadline())
                    if request.facts is not None:
                        request.facts.is_whole = True
                    return feed([ServerSentEvent(WHOLE, _json_object(body))])
                pace = AnswerPace(self.limits.read_interval, progress.is_hidden)
                return await self._read(answer, clock, pace, feed, request.take_together)
            except EventTooLongError as error:
                raise BackendError(Code.STREAM_TRUNCATED, str(error)) from error
            finally:
                request.on_taken(False)

    async def _read(
        self,
        answer: UpstreamResponse,
        clock: _Clock,
        pace: AnswerPace,
        feed: Callable[[list[ServerSentEvent]], bool],
        take_together: Callable[[Callable[[], bool]], bool],
    ) -> bool:
        """Feed the events of a stream. One timer watches over all reads, and looks at the clock when it is over."""
        decoder, is_empty = Decoder(self.limits.max_line_bytes), True
        with answer.limited(clock.deadline, min(self.limits.idle, AFTER_THE_END)):
            while True:
                try:
                    piece = await answer.read(0.0 if answer.is_whole else pace.next_read())
                except FAULTS as error:
                    if clock.has_ended():
                        break
                    raise lost_by(error, has_begun=clock.response_started) from error
                if not piece:
                    break
                is_empty = False
                if events := decoder.feed(piece):
                    clock.begin_events()
                    if take_together(partial(feed, events)):
                        return True
                    clock.restart(len(events))
                    decoder.check()
        return feed(_last_events(decoder, answer, must_have=not clock.response_started, is_empty=is_empty))

    @asynccontextmanager
    async def _opened(
        self, path: str, deadline: float, payload: Mapping[str, object] | None = None, request: SampleRequest = _NO_REQUEST
    ) -> AsyncIterator[UpstreamResponse]:
        """The answer with status 200 to a GET, or to a POST of ``payload``, perhaps without what the server rejects."""
        self._open_requests += 1
        try:
            while True:
                sent = self._rejected.without(payload) if payload and self._rejected.names else payload
                body = b"" if sent is None else _body_of(sent)
                request.on_sent(path, body)
                answer = await self._answer("GET" if sent is None else "POST", path, deadline, body)
                try:
                    if answer.status == 200:
                        _check_is_plain(answer)
                        yield answer
                        return
                    names_model = sent is None or b'"model":' in body
                    error = await self._refusal(answer, deadline, self._address(path)[0].path, names_model=names_model)
                finally:
                    answer.close()
                name = self._rejected.learn(error, sent or {})
                if name is None:
                    raise error
                _log.warning("the model server at %s rejects the field %s: it is not sent there any more", self.host, name)
        finally:
            self._open_requests -= 1
            await self._close_if_idle()

    async def _answer(self, method: str, path: str, deadline: float, body: bytes) -> UpstreamResponse:
        address, url = self._address(path)
        headers = {**self._sent, **_OF_STREAMS, **measures.trace_headers(), **request_ids.headers()} if body else self._sent
        if self._cookies:
            self._cookies.set_cookie_header(request := httpx.Request(method, address))
            if cookies := request.headers.get("cookie"):
                headers = {**headers, "Cookie": cookies}
        watching = self.watcher(method, address.path, body) if self.watcher else None
        async with in_time(deadline):
            answer = await self._connections.answer(method, url, headers, body)
        if answer.cookies:
            request = httpx.Request(method, address)
            self._cookies.extract_cookies(httpx.Response(answer.status, headers=answer.cookies, request=request))
        if watching:
            watching.answered(answer.status, answer.headers)
            answer.on_read = watching.read
        return answer

    async def _refusal(self, answer: UpstreamResponse, deadline: float, path: str, *, names_model: bool) -> BackendError:
        """The error for a status other than 200. Its body may quote the model, so it is for staff only."""
        try:
            body = (await _bounded(answer, self.limits.max_error_bytes, deadline)).decode("utf-8", "replace")
        except BackendError as error:
            if error.code is ProductCode.TIMEOUT:
                raise
            body = ""
        # Servers may quote the key that they refuse, which readers of this text need not know.
        key = self._headers.get(self._route.key_header or "authorization", "").removeprefix("Bearer ")
        proxy = self._route.through()
        for secret in (key, *(proxy.secrets if proxy else ())):
            body = body.replace(secret, "(the key)") if len(secret) >= _MIN_KEY_CHARS else body
        refused = error_of_status(answer.status, body, answer.headers.get("retry-after"), datetime.now(UTC))
        return blame_request(refused, body, path, names_model=names_model)


class _Clock:
    """The deadline of the next event that can be read: ``first`` seconds for the first, then ``idle``, and ``overall`` in any case."""

    def __init__(self, limits: SampleLimits, asked_at: float | None, progress: Progress) -> None:
        self.has_ended, self._unreadable = progress.has_ended, progress.unreadable
        self._limits = limits
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + limits.overall
        self._next = (self._now() if asked_at is None else asked_at) + limits.first
        self._skipped = 0
        self.response_started = False

    def begin_events(self) -> None:
        """Events have come. They restart the clock once they are read."""
        self.response_started = True

    def restart(self, count: int) -> None:
        """So many events were taken, of which one at least could be read: otherwise nothing changes."""
        skipped, self._skipped = self._unreadable() - self._skipped, self._unreadable()
        if skipped < count:
            self._next = self._now() + self._limits.idle

    def deadline(self) -> float:
        less = max(self._limits.idle - AFTER_THE_END, 0.0) if self.response_started and self.has_ended() else 0.0
        return min(self._end, self._next - less)


def _body_of(payload: Mapping[str, object]) -> bytes:
    """The payload as JSON. What a server gave, and gets back, may hold halves of characters, and numbers that JSON does not have."""
    try:
        return _json_of(payload).encode()
    except ValueError:
        return _json_of(finite(storable(payload))).encode()


def _json_object(body: bytes) -> str:
    """The text of a body, which must be a JSON object. Any other was cut, or does not come from a model server."""
    text = body.decode("utf-8", "replace")
    if not is_object(text):
        raise BackendError(ProductCode.BACKEND, f"{_NO_OBJECT}: {text[:_SHOWN]}", retryable=True).with_cause(Cause.UNREADABLE, _NO_OBJECT)
    return text


def _check_is_plain(answer: UpstreamResponse) -> None:
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise BackendError(ProductCode.BACKEND, "the server compressed an answer that was asked for as it is").with_cause(Cause.UNREADABLE)


def _last_events(decoder: Decoder, answer: UpstreamResponse, *, must_have: bool, is_empty: bool) -> list[ServerSentEvent]:
    events = decoder.finish()
    if must_have and not events:
        _check_is_stream(answer, is_empty)
    return events


def _check_is_stream(answer: UpstreamResponse, is_empty: bool) -> None:
    """Check that an answer without events was meant as a stream. A proxy's sign-in page has status 200, too. ``is_empty``: nothing came
    behind its head; a connection that was reset looks like this, too."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("text/html", "application/xhtml+xml"):
        raise BackendError(ProductCode.BACKEND_SETUP, _PAGE).with_cause(Cause.WEB_PAGE)
    if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        raise BackendError(ProductCode.BACKEND, f"{_NO_STREAM}: {kind[:_SHOWN]}").with_cause(Cause.UNREADABLE, _NO_STREAM)
    if is_empty:
        raise lost("RemoteProtocolError", "the server sent nothing behind its head")


async def _bounded(answer: UpstreamResponse, most: int, deadline: float) -> bytes:
    """The body of an answer that is not a stream, or its beginning."""
    body = bytearray()
    async with in_time(deadline):
        while len(body) <= most and (piece := await answer.read()):
            body += piece
    return bytes(body[:most])


PAUSES = (0.5, 2.0)
"""Seconds before the second and the third attempt, if the server names none."""
MAX_PAUSE_SECONDS = 15.0
"""A longer wait counts as a refusal: the person decides whether to wait."""


async def sample(backend: Backend, request: SampleRequest, take: Taker, **changes: Any) -> SampleEnded:
    """As ``backend.sample`` with ``changes`` of the request, and at most two more attempts if it failed before its first event and a retry
    may help.

    ``Retry-After`` is respected. A timeout is not retried: the person has waited long enough.

    Raises:
        BackendError: the last attempt's.
    """
    begun_at = time.monotonic()
    pauses, request = iter(PAUSES), replace(request, asked_at=begun_at, **changes)
    while True:
        try:
            return await backend.sample(request, take)
        except BackendError as error:
            pause = next(pauses, None)
            wait = pause if error.retry_after is None else error.retry_after
            may_help = error.retryable and not take.has_begun and error.code is not ProductCode.TIMEOUT
            if pause is None or wait is None or wait > MAX_PAUSE_SECONDS or not may_help:
                _note(backend, error, time.monotonic() - begun_at)
                raise
        # A little longer than requested, with random variation, so that requests that were refused together do not return together.
        await asyncio.sleep(wait * (1 + random.random() / 4))  # noqa: S311 - no secret


def _note(backend: Backend, error: BackendError, seconds: float) -> None:
    """Write a log line and a metric for the operator. Neither contains the server's message."""
    measures.MODEL_SERVER_ERRORS.labels(backend.name, error.code.value, error.status).inc()
    fields = {
        "backend": backend.name,
        "code": error.code.value,
        "status": error.status,
        "cause": error.log_text,
        "seconds": round(seconds, 3),
    }
    _log.warning("a model server failed", extra=fields)
