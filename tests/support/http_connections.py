"""The connections of the server in this process: its limits on HTTP requests and open files, and the protocol of its sockets."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.interfaces import ITransport
from twisted.internet.testing import StringTransport

from chatui.live import server
from chatui.live.server import accepted_compression as accepted_compression


def accept(factory: Any, transport: ITransport | None = None, requests: type | None = None) -> tuple[Any, Any]:
    """A connection that the factory's server accepts, with the limits of the product. ``requests``: the class of its requests."""
    server.limit_requests(factory)
    connection = factory.buildProtocol(None)
    if requests:
        connection.requestFactory = requests
    used = transport or StringTransport()
    connection.makeConnection(used)
    return connection, used


def raise_limit() -> None:
    """Let this process open as many files as a server needs."""
    server.raise_limit()


def give_up_slow(connection: object) -> None:
    """Drop the connection if too much waits for its peer."""
    server.give_up_slow(connection)


def socket_protocol(queue: Sequence[Any] = ()) -> Any:
    """The protocol of a socket that has no connection yet."""
    protocol = server.SocketProtocol()
    protocol.send_queue, protocol.peer, protocol.logOctets, protocol.state = list(queue), "", False, None
    return protocol
