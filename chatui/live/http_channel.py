"""The channel of one HTTP connection, with a time limit for the head and a minimum speed for the body.

Twisted alone closes a connection after a minute of silence, so an attacker could keep it open with one byte per minute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.internet.tcp import Connection
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, _GenericHTTPChannelProtocol
from twisted.web.http_headers import Headers

from chatui.live.body_limits import refused

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
        super().connectionMade()  # type: ignore[no-untyped-call]
        self._expect_head()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        if not self._is_over:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def allHeadersReceived(self) -> None:  # noqa: N802 - Twisted's name
        self._stop_expecting()
        super().allHeadersReceived()  # type: ignore[no-untyped-call]
        self._expect_body()

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self._body_bytes += len(data)
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802 - Twisted's name
        self._stop_expecting()
        super().allContentReceived()  # type: ignore[no-untyped-call]

    def writeHeaders(self, version: bytes, code: bytes, reason: bytes, headers: Headers) -> None:  # noqa: N802 - Twisted's name
        """See Twisted, which gives its transport some seventy pieces, to look at each."""
        lines = [b"%b: %b\r\n" % (name, value) for name, values in headers.getAllRawHeaders() for value in values]
        self.writeSequence([b"%b %b %b\r\n" % (version, code, reason), *lines, b"\r\n"])

    def write(self, data: bytes) -> None:
        if rest := written_at_once(self.transport, data):
            super().write(rest)  # type: ignore[no-untyped-call]

    def writeSequence(self, iovec: Iterable[bytes]) -> None:  # noqa: N802 - Twisted's name
        """See Twisted. Chunks of a streamed response arrive here, in pieces."""
        self.write(b"".join(iovec))

    def requestDone(self, request: Any) -> None:  # noqa: N802 - Twisted's name
        self._unread = None
        # Before Twisted reads buffered input, which may be the whole next head.
        self._expect_head()
        super().requestDone(request)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]  # noqa: N802 - Twisted's name
        self._stop_expecting()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:  # noqa: N802 - Twisted's name
        """The time is over. A head or body that is too slow ends the connection; a response that is read fast enough gets more time."""
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
        transport.write(refused(408))
        super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _stop_expecting(self) -> None:
        for timer in (self._head_timer, self._body_timer):
            if timer is not None and timer.active():
                timer.cancel()
        self._head_timer = self._body_timer = None


def written_at_once(transport: Any, data: bytes) -> bytes:
    """Write to a connection directly, if possible, and return the rest, which Twisted writes when the event loop reports that the socket is
    writable. It nearly always is, and that wait costs more than the write."""
    if not is_free(transport):
        return data
    written = transport.writeSomeData(data)
    # If the connection is lost, Twisted notices it in its own write of everything, and reports it.
    return data[written:] if isinstance(written, int) and written > 0 else data


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
