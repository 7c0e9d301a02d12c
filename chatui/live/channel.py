"""Twisted's HTTP connection with protection against slow clients: it closes one that sends a request too slowly, head or body.

Twisted ends a connection on which nothing comes for a minute, which costs a peer that means to hold it one byte a minute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.internet.tcp import Connection
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, _GenericHTTPChannelProtocol

from chatui.live.early_refusals import too_slow

HEAD_SECONDS = 60
"""From the connection, or from the answer before, to the end of the head of the next request."""

LEAST_BYTES = 30_000
"""So many have to move in each of these minutes, as over the slowest line of a telephone: of a body that is not whole yet, and of an answer
that was written and not read yet."""


class Channel(HTTPChannel):
    """Twisted's, with a limit to the head, a least speed of the body, and patience while an answer is read slowly: the answer may have been
    written long before."""

    _head_due: Any = None  # a call of Twisted's, once it is made
    _body_due: Any = None  # as well
    _came = 0  # bytes of the body since it was looked at last
    _is_over = False  # nothing that comes is read any more
    _unread: int | None = None  # how much waited when a minute was over last

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
        self._came += len(data)
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().allContentReceived()  # type: ignore[no-untyped-call]

    def write(self, data: bytes) -> None:
        """See Twisted."""
        write_unbuffered(self.transport, data)

    def writeSequence(self, iovec: Iterable[bytes]) -> None:  # noqa: N802 - Twisted's name
        """See Twisted: a chunk of an answer that is streamed comes so, in pieces."""
        write_unbuffered(self.transport, b"".join(iovec))

    def requestDone(self, request: Any) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._unread = None
        # Before it reads what has arrived, which may be the whole next head.
        self._expect_head()
        super().requestDone(request)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        if self._body_due is not None:
            self._refuse_body()
            return
        expects_head, before = self._head_due is not None, self._unread
        self._stop_expecting()
        self._unread = unsent(self.transport)
        if self._unread and (before is None or self._unread <= before - LEAST_BYTES):
            self.setTimeout(HEAD_SECONDS)  # type: ignore[no-untyped-call]
            if expects_head:
                self._expect_head()
            return
        self.setTimeout(None)  # type: ignore[no-untyped-call]
        super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _expect_head(self) -> None:
        self._stop_expecting()
        self._head_due = self.callLater(HEAD_SECONDS, self.timeoutConnection)  # type: ignore[no-untyped-call]

    def _expect_body(self) -> None:
        self._came = 0
        self._body_due = self.callLater(HEAD_SECONDS, self._look_at_body)  # type: ignore[no-untyped-call]

    def _look_at_body(self) -> None:
        if self._came >= LEAST_BYTES:
            self._expect_body()
        else:
            self._refuse_body()

    def _refuse_body(self) -> None:
        self._stop_expecting()
        self.setTimeout(None)  # type: ignore[no-untyped-call]
        # A request that was refused to the peer must not be carried out.
        self._is_over = True
        transport: Any = self.transport
        transport.write(too_slow())
        super().timeoutConnection()  # type: ignore[no-untyped-call]

    def _stop_expecting(self) -> None:
        for due in (self._head_due, self._body_due):
            if due is not None and due.active():
                due.cancel()
        self._head_due = self._body_due = None


def write_unbuffered(transport: Any, data: bytes) -> None:
    """Write to a connection, at once where it can be. Twisted would wait until the event loop says that the socket can be written to, which
    it nearly always can: that costs more than the writing."""
    if is_free(transport):
        written = transport.writeSomeData(data)
        # Where the connection is lost, Twisted notices it when it writes, and says so to everybody.
        data = data[written:] if isinstance(written, int) and written > 0 else data
    if data:
        transport.write(data)


def is_free(transport: object) -> bool:
    """Whether a connection can be written to past Twisted's buffers: they are empty, and nothing is encrypted."""
    if not isinstance(transport, Connection) or transport.TLS or transport.dataBuffer or transport._tempDataBuffer:
        return False
    return bool(transport.connected and not transport.disconnecting)


def unsent(transport: object) -> int:
    """How many bytes wait for the peer to read them; 0 if that is not known."""
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen if isinstance(transport, Connection) else 0


def protocol() -> _GenericHTTPChannelProtocol:
    """What Twisted makes for a connection, with this channel in it."""
    return _GenericHTTPChannelProtocol(Channel())  # type: ignore[no-untyped-call]
