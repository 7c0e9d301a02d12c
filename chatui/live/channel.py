"""Twisted's HTTP connection, with protection against slow clients and against bodies that are too long.

An API request or upload is refused before its body is read, if it gives no length, is far too long, or has escapes in its address. How much
is kept of any body is limited; the rest is dropped as it arrives, so that the sender has sent everything, and sees why it is refused.

A connection whose request head or body arrives too slowly is closed. Twisted alone closes a connection after a minute of silence, so an
attacker could keep it open with one byte per minute.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from twisted.internet.tcp import Connection
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, _GenericHTTPChannelProtocol

from chatui.env import environment
from chatui.transfer.upload import MAX_EXPORT_BYTES

PROGRAMS = b"/v1/"
"""The path prefix of the API."""

FILES = b"/files/"
"""The path prefix for uploads."""

IMPORT = b"/import/"
"""The only page with a form that may have a large file."""

SERVER_ERRORS = 500
"""Statuses from this one on are server errors."""

MAX_DROPPED = 8
"""How many times its limit the body of an API request or upload may have, and is still taken in and dropped: a client that is still sending
when the connection is closed sees that it was lost, and not the refusal."""

_MODELS = b"/v1/models/"
"""A model id follows, which may contain any characters."""

_REASONS = {
    404: ("Not Found", "not_found", "There is no such address."),
    408: ("Request Timeout", "request_timeout", "The request came too slowly."),
    411: ("Length Required", "length_required", "The request has to say its length."),
    413: ("Content Too Large", "body_too_large", ""),
}


def refusal_of(path: bytes, length: int | None) -> bytes:
    """The complete reply, after which the connection is closed; empty if the request is allowed. ``length``: None if not given."""
    # Decoded as Django will decode it, so that an escape in the path cannot bypass this check.
    decoded = unquote_to_bytes(path)
    max_bytes = _max_bytes(decoded)
    if decoded.startswith(PROGRAMS) and b"%" in path and not path.startswith(_MODELS):
        # An id with an escaped slash would be routed to another address: /v1/responses/ID%2Fcancel.
        return _refused(404)
    if max_bytes is None or (length is not None and length <= MAX_DROPPED * max_bytes):
        return b""
    return _refused(411) if length is None else _refused(413, f"The body may have {max_bytes} bytes.")


def max_bytes_read(path: bytes) -> int:
    """How much of a body at this address is read; the rest is dropped as it arrives. Always more than its reader accepts, so that it is
    refused there with a page that says why: a browser would not show a reply that comes before it has sent everything.
    """
    decoded = unquote_to_bytes(path)
    allowed = MAX_EXPORT_BYTES if decoded == IMPORT else _max_bytes(decoded) or settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return allowed + settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def too_slow() -> bytes:
    """The complete reply to a request whose body arrived too slowly, after which the connection is closed."""
    return _refused(408)


def error_object(status: int, sentence: str, code: str) -> bytes:
    """The body of an error in the format that programs expect."""
    kind = "not_found" if status == 404 else "invalid_request" if status < SERVER_ERRORS else "server_error"
    return json.dumps({"error": {"message": sentence, "type": kind, "param": None, "code": code}}).encode()


def _refused(status: int, message: str = "") -> bytes:
    reason, code, sentence = _REASONS[status]
    body = error_object(status, message or sentence, code)
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _max_bytes(path: bytes) -> int | None:
    """The largest body allowed at an address, in bytes; None if Django checks the size itself."""
    if path.startswith(PROGRAMS):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return environment().file_mb * 1024 * 1024 if path.startswith(FILES) else None


HEAD_SECONDS = 60
"""The time from the start of the connection, or the previous response, to the end of the next request head."""

MIN_BYTES = 30_000
"""How many bytes must be transferred in each HEAD_SECONDS, about the speed of the slowest modem: of an incomplete request body, and of a
response that the client is still reading."""


class HttpChannel(HTTPChannel):
    """Twisted's channel, with a time limit for the head and a minimum speed for the body. It stays open while the client reads a response
    slowly, although the response may have been written long before."""

    _head_timer: Any = None  # Twisted's delayed call, while it is scheduled
    _body_timer: Any = None  # likewise
    _body_bytes = 0  # received since the last check
    _is_over = False  # further input is ignored
    _unread: int | None = None  # how many bytes of the response were unsent at the last timeout

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        super().connectionMade()  # type: ignore[no-untyped-call]
        self._expect_head()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        if not self._is_over:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def allHeadersReceived(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().allHeadersReceived()  # type: ignore[no-untyped-call]
        self._expect_body()

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._body_bytes += len(data)
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().allContentReceived()  # type: ignore[no-untyped-call]

    def write(self, data: bytes) -> None:
        """See Twisted."""
        write_unbuffered(self.transport, data)

    def writeSequence(self, iovec: Iterable[bytes]) -> None:  # noqa: N802 - Twisted's name
        """See Twisted. Chunks of a streamed response arrive here, in pieces."""
        write_unbuffered(self.transport, b"".join(iovec))

    def requestDone(self, request: Any) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._unread = None
        # Before Twisted reads buffered input, which may be the whole next head.
        self._expect_head()
        super().requestDone(request)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        if self._body_timer is not None:
            self._refuse_body()
            return
        expects_head, before = self._head_timer is not None, self._unread
        self._stop_expecting()
        self._unread = unsent(self.transport)
        if self._unread and (before is None or self._unread <= before - MIN_BYTES):
            self.setTimeout(HEAD_SECONDS)  # type: ignore[no-untyped-call]
            if expects_head:
                self._expect_head()
            return
        self.setTimeout(None)  # type: ignore[no-untyped-call]
        super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _expect_head(self) -> None:
        self._stop_expecting()
        self._head_timer = self.callLater(HEAD_SECONDS, self.timeoutConnection)  # type: ignore[no-untyped-call]

    def _expect_body(self) -> None:
        self._body_bytes = 0
        self._body_timer = self.callLater(HEAD_SECONDS, self._check_body)  # type: ignore[no-untyped-call]

    def _check_body(self) -> None:
        if self._body_bytes >= MIN_BYTES:
            self._expect_body()
        else:
            self._refuse_body()

    def _refuse_body(self) -> None:
        self._stop_expecting()
        self.setTimeout(None)  # type: ignore[no-untyped-call]
        # The client is told that the request was refused, so it must not be carried out.
        self._is_over = True
        transport: Any = self.transport
        transport.write(too_slow())
        super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _stop_expecting(self) -> None:
        for timer in (self._head_timer, self._body_timer):
            if timer is not None and timer.active():
                timer.cancel()
        self._head_timer = self._body_timer = None


def write_unbuffered(transport: Any, data: bytes) -> None:
    """Write to a connection, directly if possible. Twisted would wait for the event loop to report that the socket is writable, which it
    nearly always is; that wait costs more than the write."""
    if is_free(transport):
        written = transport.writeSomeData(data)
        # If the connection is lost, Twisted notices it in its own write below, and reports it.
        data = data[written:] if isinstance(written, int) and written > 0 else data
    if data:
        transport.write(data)


def is_free(transport: object) -> bool:
    """Whether a write may bypass Twisted's buffers: they are empty, and the connection is not encrypted."""
    if not isinstance(transport, Connection) or transport.TLS or transport.dataBuffer or transport._tempDataBuffer:
        return False
    return bool(transport.connected and not transport.disconnecting)


def unsent(transport: object) -> int:
    """How many bytes are still unsent because the client has not read them; 0 if unknown."""
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen if isinstance(transport, Connection) else 0


def protocol() -> _GenericHTTPChannelProtocol:
    """Twisted's protocol for one connection, with this channel in it."""
    return _GenericHTTPChannelProtocol(HttpChannel())  # type: ignore[no-untyped-call]
