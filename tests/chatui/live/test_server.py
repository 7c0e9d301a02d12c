"""The server: compression offers, pages of another release, and requests that are refused or cut before they reach a view.

A request refused after its head reaches no view, no header changes which address is read, and no body is parsed on the event loop or kept
beyond what its reader accepts."""

from queue import SimpleQueue
from typing import Any
from uuid import UUID

import pytest
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from daphne.http_protocol import HTTPFactory
from django.conf import settings
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.web import http

from chatui import wire
from chatui.live import server
from chatui.live.server import MAX_FRAME_BYTES, WINDOW_BITS
from chatui.models.user import User
from tests.support import http_connections
from tests.support.browser_socket import BrowserSocket

MIB = 1024 * 1024
PAGE = 2 * MIB
"""What is kept of the body of a page's request."""
FORM = b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\nHello\r\n--x--\r\n'


def test_only_bounded_deflate_is_accepted() -> None:
    accept = http_connections.accepted_compression([PerMessageDeflateOffer()])
    assert isinstance(accept, PerMessageDeflateOfferAccept)
    assert (accept.window_bits, accept.max_message_size) == (WINDOW_BITS, MAX_FRAME_BYTES)
    assert http_connections.accepted_compression([]) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("query", "is_reported"), [("", False), (f"?protocol={wire.PROTOCOL}", False), ("?protocol=0", True), ("?protocol=x", True)]
)
async def test_e_x_other_release_a_page_of_another_release_is_told_to_reload(query: str, is_reported: bool, ada: User) -> None:
    async with BrowserSocket(ada, path=f"/ws/{query}") as socket:
        if is_reported:
            events = await socket.until("closed")
            assert events[-2]["code"] == "E-X-OTHER-RELEASE" and socket.close_code == 4426
        else:
            await socket.send("subscribe", conversation="nobody's")
            assert (await socket.next())["code"] == "E-X-NOT-FOUND"


class Peer(Connection):
    """A connection whose system accepts ``takes`` bytes at a time, or fails."""

    def __init__(self, takes: int | ConnectionLost) -> None:
        self.takes = takes
        self.sent: list[bytes] = []
        self.buffered: list[bytes] = []
        self.connected = True
        self._tempDataBuffer: list[bytes] = []

    def writeSomeData(self, data: bytes) -> int | ConnectionLost:  # noqa: N802
        if not isinstance(self.takes, int):
            return self.takes
        self.sent.append(bytes(data[: self.takes]))
        return len(self.sent[-1])

    def write(self, data: bytes) -> None:
        self.buffered.append(data)


@pytest.mark.parametrize(
    ("takes", "sent", "buffered"),
    [(100, [b"hello"], []), (2, [b"he"], [b"llo"]), (0, [b""], [b"hello"]), (ConnectionLost(), [], [b"hello"])],
)
def test_a_frame_is_written_at_once_as_far_as_the_system_accepts_it(takes: int, sent: list[bytes], buffered: list[bytes]) -> None:
    protocol, peer = http_connections.socket_protocol(), Peer(takes)
    protocol.transport = peer
    protocol.sendData(b"hello")
    assert (peer.sent, peer.buffered) == (sent, buffered)


@pytest.mark.parametrize(
    "held", [{"dataBuffer": b"x"}, {"_tempDataBuffer": [b"x"]}, {"disconnecting": True}, {"TLS": True}, {"connected": False}]
)
def test_a_frame_waits_behind_earlier_ones(held: dict[str, object]) -> None:
    protocol, peer = http_connections.socket_protocol(), Peer(100)
    vars(peer).update(held)
    protocol.transport = peer
    protocol.sendData(b"hello")
    assert (peer.sent, peer.buffered) == ([], [b"hello"])


class Application:
    """Replaces Daphne's server, and records incoming requests."""

    proxy_forwarded_address_header = None
    root_path = server_name = ""
    request_buffer_size = 8192

    def __init__(self) -> None:
        self.scopes: list[dict[str, Any]] = []
        self.messages: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def protocol_connected(self, protocol: object) -> None:
        pass

    protocol_disconnected = protocol_connected

    def create_application(self, protocol: object, scope: dict[str, Any]) -> SimpleQueue[dict[str, Any]]:
        self.scopes.append(scope)
        return self.messages

    @property
    def body(self) -> bytes:
        """Everything that arrived of bodies since this was last read."""
        return b"".join(self.messages.get_nowait().get("body", b"") for _ in range(self.messages.qsize()))


def sent(*pieces: bytes) -> tuple[Application, StringTransport]:
    """The application and the connection after these pieces have arrived and the client has left."""
    application = Application()
    factory: Any = HTTPFactory(application)
    factory.reactor = factory._reactor = Clock()
    connection, transport = http_connections.accept(factory)
    for piece in pieces:
        connection.dataReceived(piece)
    connection.connectionLost(Failure(ConnectionDone()))
    return application, transport


@pytest.mark.parametrize("length", [b"", b"Content-Length: 0\r\n", b"Content-Length: 2\r\n", b"Content-Length: 99999999\r\n"])
@pytest.mark.parametrize("more", [b"", b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n"])
def test_an_early_refusal_reaches_no_view(length: bytes, more: bytes) -> None:
    application, transport = sent(b"POST /v1/responses/x%2Fcancel HTTP/1.1\r\nHost: here\r\n" + length + more + b"\r\n{}")
    assert transport.value().startswith(b"HTTP/1.1 404 ") and b'"type": "not_found"' in transport.value() and transport.disconnecting
    assert application.scopes == []


@pytest.mark.parametrize(
    ("path", "length", "status"),
    [
        (b"/v1/responses", None, 0),  # in chunks: it is cut as it comes
        (b"/v1/responses", 100, 0),
        (b"/v1/responses", 120_000_000, 0),  # refused by its view, when the program has sent it
        (b"/v1/responses", 129 * MIB, 413),
        (b"//v1/responses/", 129 * MIB, 413),
        (b"/%76%31/responses", None, 404),
        (b"/%761/responses", 9_000_000, 404),
        (b"/v1%2fresponses", None, 404),
        (b"/v1/%6dodels/x", 0, 404),
        (b"/v1/models/a%2Fb", 0, 0),
        (b"/search/%2F", 0, 0),
        (b"/files/", None, 411),
        (b"/files/", 160 * MIB, 0),
        (b"/%66iles/", 160 * MIB + 1, 413),
        (b"/import/", 9 * MIB, 0),
        (b"/sign-in/", None, 0),
    ],
)
def test_an_oversized_body_is_refused_unread_however_its_path_is_written(path: bytes, length: int | None, status: int) -> None:
    given = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    application, transport = sent(b"POST %b HTTP/1.1\r\nHost: here\r\n%b\r\n\r\n" % (path, given))
    assert transport.value()[:13] == (b"HTTP/1.1 %d " % status if status else b"")
    assert not (status and application.scopes)


def test_an_accepted_request_keeps_its_whole_address() -> None:
    for name in (b"Daphne-Root-Path", b"daphne-root-path", b"DAPHNE-ROOT-PATH"):
        application, _ = sent(b"GET /static/x/admin/ HTTP/1.1\r\nHost: here\r\n" + name + b": /static/x\r\n\r\n")
        [scope] = application.scopes
        assert (scope["path"], scope["root_path"]) == ("/static/x/admin/", "")
        assert all(b"root-path" not in header for header, _ in scope["headers"])


def posted(path: bytes, body: bytes, *headers: bytes) -> bytes:
    """A request whose length is known."""
    lines = [b"POST %b HTTP/1.1" % path, b"Host: here", b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


def chunked(path: bytes, pieces: list[bytes]) -> list[bytes]:
    """A request whose length is not known before its end."""
    head = b"POST %b HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n" % path
    return [head, *(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces), b"0\r\n\r\n"]


@pytest.mark.parametrize("kind", [b"multipart/form-data; boundary=x", b"multipart/form-data", b"application/x-www-form-urlencoded"])
def test_a_posted_form_is_not_parsed_on_the_event_loop(kind: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("Twisted parsed it")

    for parser in ("_getMultiPartArgs", "parse_qs"):
        monkeypatch.setattr(http, parser, parse)
    application, transport = sent(posted(b"/sign-in/", FORM, b"Content-Type: " + kind))
    assert application.body == FORM
    assert transport.value() == b"", "Django answers malformed forms as well, with a page"


@pytest.mark.parametrize("path", [b"/", b"/sign-in/", b"/import", b"/import/x", b"/%69mport/x", b"/scim/v2/Users"])
def test_a_body_without_end_is_dropped_beyond_the_limit_and_its_real_length_is_passed_on(path: bytes) -> None:
    application, _ = sent(*chunked(path, [b"x" * MIB] * 5))
    assert application.body == b"x" * PAGE
    assert (b"content-length", b"%d" % (5 * MIB)) in application.scopes[0]["headers"], (
        "so Django refuses it, and does not read a part of it"
    )


def test_a_body_of_known_length_is_dropped_beyond_the_limit() -> None:
    application, _ = sent(posted(b"/sign-in/", b"x" * (PAGE + 1)))
    assert len(application.body) == PAGE
    assert [value for name, value in application.scopes[0]["headers"] if name == b"content-length"] == [b"%d" % (PAGE + 1)]


@pytest.mark.parametrize("size", [0, 1, PAGE])
def test_a_body_within_the_limit_is_whole_and_its_head_unchanged(size: int) -> None:
    application, _ = sent(*chunked(b"/sign-in/", [b"x" * size] if size else []))
    assert len(application.body) == size
    assert b"content-length" not in dict(application.scopes[0]["headers"])


@pytest.mark.parametrize(("path", "limit"), [(b"/files/", 20 * MIB), (b"/v1/responses", 16 * MIB), (b"//v1/responses/", 16 * MIB)])
def test_a_refused_body_is_dropped_up_to_eight_times_its_limit_so_that_its_sender_sees_why(path: bytes, limit: int) -> None:
    head = b"POST %b HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n"
    application, transport = sent(head % (path, 3 * limit), *[b"x" * (limit // 4)] * 12)
    assert len(application.body) == limit + MIB and transport.value() == b""
    assert (b"content-length", b"%d" % (3 * limit)) in application.scopes[0]["headers"]
    application, transport = sent(head % (path, 8 * limit + 1))
    assert transport.value().startswith(b"HTTP/1.1 413 ") and application.scopes == []


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        (b"/import/", 33),
        (b"/%69mport/", 33),
        (b"/files/", 21),
        (b"/v1/responses", 17),
        (b"/prompts/import/", 9),
        (b"/assistants/new/", 7),  # a photograph, which its form refuses
        (b"/assistants/%b/" % str(UUID(int=1)).encode(), 7),
    ],
)
def test_more_is_kept_where_files_are_accepted_and_always_more_than_is_accepted(path: bytes, kept: int) -> None:
    application, _ = sent(posted(path, b"x" * MIB * (kept if kept == 7 else kept + 1)))
    assert len(application.body) == kept * MIB
    assert PAGE > settings.DATA_UPLOAD_MAX_MEMORY_SIZE, "elsewhere"


def test_bodies_that_are_being_received_for_programs_have_a_limit_together_but_for_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODIES_AT_ONCE", 0)
    head = b"POST /v1/responses HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n"
    application, transport = sent(head % MIB, b"x" * MIB)
    assert transport.value().startswith(b"HTTP/1.1 503 ") and not application.body
    application, _ = sent(head % 1000, b"x" * 1000)
    assert len(application.body) == 1000


def test_bodies_that_were_received_or_given_up_count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODIES_AT_ONCE", 1)
    length = 10 * MIB  # at most 17 are kept: there is room for one
    head = b"POST /v1/responses HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % length
    for received in (length, length - 1, length):
        application, transport = sent(head, b"x" * received)
        assert b" 503 " not in transport.value()
    assert len(application.body) == length


def test_a_large_file_is_kept() -> None:
    application, _ = sent(*chunked(b"/import/", [b"x" * MIB] * 3))
    assert len(application.body) == 3 * MIB
