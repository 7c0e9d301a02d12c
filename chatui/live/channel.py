"""A connection over which requests come: one that sends the head of a request too slowly is ended, however often it sends a byte.

Twisted ends a connection on which nothing comes for a minute, which costs a peer that means to hold it one byte a minute.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.tcp import Connection
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, _GenericHTTPChannelProtocol

HEAD_SECONDS = 60
"""From the connection, or from the answer before, to the end of the head of the next request."""

LEAST_BYTES = 30_000
"""Of an answer that was written and not read yet: so many have to go in each of these minutes, as over the slowest line of a telephone."""


class Channel(HTTPChannel):
    """Twisted's, with a limit to the head, and with patience while an answer is read slowly: all of it may be written long before."""

    _head_due: Any = None  # a call of Twisted's, once it is made
    _unread: int | None = None  # how much waited when a minute was over last

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        super().connectionMade()  # type: ignore[no-untyped-call]
        self._expect_head()

    def allHeadersReceived(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().allHeadersReceived()  # type: ignore[no-untyped-call]

    def requestDone(self, request: Any) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._unread = None
        # Before it reads what came meanwhile, which may be the whole of the next head.
        self._expect_head()
        super().requestDone(request)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]  # noqa: N802 - Twisted's name
        """See Twisted."""
        self._stop_expecting()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:  # noqa: N802 - Twisted's name
        """See Twisted."""
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

    def _stop_expecting(self) -> None:
        due, self._head_due = self._head_due, None
        if due is not None and due.active():
            due.cancel()


def unsent(transport: object) -> int:
    """How many bytes wait for whoever reads at the other end; 0 where that is not known."""
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen if isinstance(transport, Connection) else 0


def protocol() -> _GenericHTTPChannelProtocol:
    """What Twisted makes for a connection, with this channel in it."""
    return _GenericHTTPChannelProtocol(Channel())  # type: ignore[no-untyped-call]
