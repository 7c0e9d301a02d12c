"""Runs Daphne with WebSocket compression, and with protection against slow clients (``http_channel``) and bodies that are too long
(``body_limits``), and drains connections on SIGTERM before the process ends.

The process's limit on open files is raised: many systems allow only 1,024, which idle connections alone can use up.

While it drains, the process finishes running answers for up to CHATUI_DRAIN_SECONDS. If there are other processes, it accepts no new
connections from the start, and tells its sockets to reconnect elsewhere (close code 1012): their pages follow the answers through another
process. A process that is alone does so at the end: nobody else could show the answers, and every page would stand still meanwhile. New
questions are queued, and answered after the restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import signal
import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar
from urllib.parse import unquote_to_bytes

import daphne.server
from autobahn.websocket import ConnectionDeny
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from daphne.http_protocol import WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.tcp import Connection
from twisted.python.failure import Failure

from chatui import workers
from chatui.env import environment
from chatui.live.body_limits import (
    SERVER_ERRORS,
    error_object,
    is_of_programs,
    max_bytes_read,
    plain_path,
    refusal_of,
)
from chatui.live.http_channel import protocol, unsent, written_at_once
from chatui.model_servers import connected
from chatui.observability import tracing
from chatui.proxies import setup_faults
from chatui.turns import reaping, running
from chatui.wire import relay
from chatui.wire.bus import bus

MAX_OPEN_FILES = 65_536


def raise_limit() -> None:
    """Raise the limit to MAX_OPEN_FILES, or as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


WINDOW_BITS = 12
MEMORY_LEVEL = 5
"""With these, a socket's compressor takes 32 KB of memory, and compresses text in small pieces nearly as well as a larger one."""
MAX_FRAME_BYTES = 1024 * 1024
SHORT_BODY = 64 * 1024
BODIES_AT_ONCE = 8
"""As many bodies of the greatest length may be received for programs at the same time, or more that are shorter."""
MAX_MESSAGE_BYTES = 4 * MAX_FRAME_BYTES
"""The longest message of a socket that is read at all."""
CLOSE_NORMAL, CLOSE_OWN = 1000, 3000
"""Between them are the registered codes."""
CLOSE_NO_KEY = 4401
"""With this code a program's connection is refused, not closed."""
MAX_UNSENT = 8 * 1024 * 1024
"""How many bytes may be buffered for a program that reads slowly; larger than any response."""
LAST_MESSAGES_SECONDS = 0.3
"""How long the last events of turns get to reach their sockets and Redis."""
MAX_TRACES_SECONDS = 3.0
"""The most time to send the remaining spans, if that much is left."""
GARBAGE_OBJECTS = 10_000
"""How many net new objects trigger a collection of the youngest generation."""
BODY_PIECE = 256 * 1024
"""How many bytes of a request's body are passed on at a time. Daphne's 8 KB make thousands of steps of a large file."""
_ROOT_PATH = b"Daphne-Root-Path"
_ACCEPT: Any = PerMessageDeflateOfferAccept  # which is not typed


class Server(daphne.server.Server):  # type: ignore[misc]
    endpoints: list[str]
    _ports: list[Any]
    _draining: asyncio.Task[None] | None = None
    _sigterms = 0

    def __init__(self, on_listening: Callable[[], None], listener: socket.socket | None, **options: Any) -> None:
        """``on_listening``: called once the server listens, before it accepts connections; not if it cannot. ``listener``: a socket that
        listens already, instead of the address in ``options``, for which see Daphne."""
        super().__init__(**options)
        self._on_listening = on_listening
        self._listener = listener
        if listener:
            self.endpoints = []

    def run(self) -> None:
        self._ports = []
        self.request_buffer_size = BODY_PIECE
        raise_limit()
        # Called after the factories are created and the server listens, and before the reactor runs.
        self.ready_callable = self._prepare
        super().run()

    def listen_success(self, port: Any) -> None:
        self._ports.append(port)
        super().listen_success(port)

    def _prepare(self) -> None:
        if self._listener:  # Daphne itself takes over none of IPv6
            self.listen_success(reactor.adoptStreamPort(self._listener.fileno(), self._listener.family, self.http_factory))
            self._listener.close()  # the port has its own descriptor
        self._on_listening()
        self.ws_factory.protocol = SocketProtocol
        limit_requests(self.http_factory)
        # Without ``failByDrop``, who sends too much is told so (1009).
        limits = {"failByDrop": False, "maxMessagePayloadSize": MAX_MESSAGE_BYTES}
        self.ws_factory.setProtocolOptions(perMessageCompressionAccept=accepted_compression, **limits)
        reactor.callWhenRunning(self._catch_sigterm)
        # Whatever ends the process: a signal, the second one, or Ctrl-C.
        reactor.addSystemEventTrigger("before", "shutdown", _close_connections)  # type: ignore[arg-type] # an interface, without self
        # Everything loaded by now stays, so the collector need not visit it every few thousand tokens.
        gc.collect()
        gc.freeze()
        # A turn creates thousands of objects that last until its end, and almost no reference cycles.
        gc.set_threshold(GARBAGE_OBJECTS)

    def _catch_sigterm(self) -> None:
        loop = asyncio.get_event_loop()
        # Set after Twisted's own handler, which would stop at once. A signal handler must only schedule work.
        signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(self._begin_to_drain, loop))
        if workers.own:
            signal.signal(workers.DRAIN, lambda *_: loop.call_soon_threadsafe(self._begin_to_drain, loop, 0))

    def _begin_to_drain(self, loop: asyncio.AbstractEventLoop, sigterms: int = 1) -> None:
        self._sigterms += sigterms
        if self._draining is None:
            self._draining = loop.create_task(self._drain(), name="drain")
        elif self._sigterms > 1:
            self.stop()  # a second signal means: do not wait

    async def _drain(self) -> None:
        reaping.stop_reaping()
        ends_at = asyncio.get_running_loop().time() + environment().drain_seconds
        has_others = bus().reaches_others
        if has_others:
            self._send_away()
        with contextlib.suppress(TimeoutError):  # what is cut off then is logged
            async with asyncio.timeout_at(ends_at):
                await (running.settle() if has_others else running.finish())
        if not has_others:
            self._send_away()
        await asyncio.sleep(LAST_MESSAGES_SECONDS)
        seconds_left = max(ends_at - asyncio.get_running_loop().time(), LAST_MESSAGES_SECONDS)
        await asyncio.to_thread(tracing.end, min(seconds_left, MAX_TRACES_SECONDS))
        self.stop()

    def _send_away(self) -> None:
        for port in self._ports:
            port.stopListening()
        bus().send(relay.OWN_PROCESS, {"type": "process.ends"}, elsewhere=False)


def _close_connections() -> Deferred[None]:
    """What Twisted waits for before it ends the event loop. Otherwise each connection that is left would be reported as an error."""
    return Deferred.fromFuture(asyncio.ensure_future(connected.close_all()))


def limit_requests(factory: Any) -> None:
    """Have Daphne's factory of HTTP connections refuse and cut requests as ``_Request`` does, on channels that read as ``http_channel``."""
    factory.protocol = protocol
    factory.buildProtocol = partial(_limited_connection, factory.buildProtocol)
    factory.log = lambda request: None  # Twisted would write a line for a log that nobody keeps


def _limited_connection(build: Callable[[object], Any], address: object) -> Any:
    connection = build(address)
    connection.requestFactory = _Request
    return connection


class _Request(WebRequest):  # type: ignore[misc]
    """Daphne's request. It also refuses requests before their body is read, reads no body without end, and closes the connection of a reply
    that fails midway, so that its reader sees that it is cut and does not wait for the rest."""

    path: Any  # Twisted's, set before ``process``
    _held: ClassVar[int] = 0
    """How many bytes of bodies for programs are being received."""
    _is_refused = _is_of_programs = _has_no_room = False
    _received = _holds = 0
    _max_bytes = 0
    __hash__ = object.__hash__  # Daphne's is the same in Python, which each piece of a reply pays for

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """See Daphne. Twisted would also parse every posted form: on the event loop, with a parser for mails, which takes half a minute for
        8 MB of line ends. Django parses what it needs, in a thread."""
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's name
        """See Twisted. The head has been read, but nothing of the body."""
        super().gotLength(length)
        # A client could reach another path than the one that was checked here and by a proxy: Daphne accepts this header from anybody as a
        # prefix of the path. This product is always at the root of its host.
        self.requestHeaders.removeHeader(_ROOT_PATH)
        path = self.channel._path.partition(b"?")[0]
        self._max_bytes = max_bytes_read(path)
        self._is_of_programs = is_of_programs(unquote_to_bytes(path))
        if refusal := refusal_of(path, length):
            self._is_refused = True
            self.channel.transport.write(refusal)
            self.channel.loseConnection()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """See Twisted, which would fill the disk with a body without end."""
        kept = data[: max(self._max_bytes - self._received, 0)]
        if self._is_of_programs:
            self._note_held(len(kept))
        if kept and not self._has_no_room:
            super().handleContentChunk(kept)
        self._received += len(data)

    def _note_held(self, size: int) -> None:
        """Count what is being received for programs. All bodies together have a limit; only short ones may exceed it."""
        _Request._held += size
        self._holds += size
        if self._received + size > SHORT_BODY and _Request._held > BODIES_AT_ONCE * self._max_bytes:
            self._has_no_room = True

    def _let_go(self) -> None:
        _Request._held -= self._holds
        self._holds = 0

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - Twisted's name
        self._let_go()
        super().connectionLost(reason)

    def process(self) -> Any:
        """See Daphne. Twisted also calls this after a refusal, if there is no body to wait for."""
        self._let_go()
        if self._is_refused:
            return None
        if self._is_of_programs:
            self.path = plain_path(self.path)
        if self._has_no_room:
            self.basic_error(503, b"Service Unavailable", "Too many large requests are being received. Try again.")
            return None
        connection, upgrade = self.getHeader("connection") or "", self.getHeader("upgrade") or ""
        if upgrade.lower() == "websocket" and "upgrade" not in connection.lower():
            setup_faults.note_spoilt("Connection")
        if self._received > self._max_bytes:
            # If the client gave no length, Django would take what was kept for the whole.
            self.requestHeaders.setRawHeaders(b"content-length", [str(self._received).encode()])
        return super().process()

    def handle_reply(self, message: Any) -> None:
        """See Daphne, which buffers without a limit. A program that does not read is disconnected before it fills the memory."""
        connection = getattr(self, "channel", None)  # Twisted deletes it when the reply ends
        super().handle_reply(message)
        if connection is not None and unsent(connection.transport) and is_of_programs(unquote_to_bytes(self.path)):
            give_up_slow(connection.transport)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """See Daphne, which sends an HTML page; a program gets a JSON object."""
        if not is_of_programs(unquote_to_bytes(self.uri)):
            super().basic_error(status, status_text, body)
            return
        error = error_object(status, f"{body}.".replace("..", "."), "bad_request" if status < SERVER_ERRORS else "server_error")
        self.handle_reply({"type": "http.response.start", "status": status, "headers": [(b"Content-Type", b"application/json")]})
        self.handle_reply({"type": "http.response.body", "body": error})

    def handle_exception(self, exception: BaseException) -> None:
        """See Daphne. It would start a second reply, which raises, and after that it would handle no failed request of this process."""
        if not self._response_started:
            super().handle_exception(exception)
        elif not self.finished and self.channel is not None:
            self.channel.loseConnection()


class SocketProtocol(WebSocketProtocol):  # type: ignore[misc]
    """Daphne's protocol, which also writes directly if possible, and can close with registered codes, such as that for a restart."""

    _refused_with = 0
    __hash__ = object.__hash__  # Daphne's is asked for each frame, and is no other

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """See Autobahn, which colours a line for a log that nobody keeps."""
        self._dataReceived(data)

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:  # noqa: N802 - Autobahn's name
        """See Autobahn. Writes directly if possible."""
        if not sync and not chopsize and not self.send_queue:
            data = written_at_once(self.transport, data)
        if data:
            super().sendData(data, sync, chopsize)

    def serverSend(self, content: Any, binary: bool = False) -> None:  # noqa: N802 - Daphne's name
        """See Daphne. Pages confirm what they have read; the connection of a program that does not read is closed, as above."""
        self.sendMessage(content if binary else content.encode(), binary)
        if unsent(self.transport) and is_of_programs(unquote_to_bytes(self.path)):
            give_up_slow(self.transport)

    def handle_reply(self, message: Any) -> None:
        """See Daphne. Nearly all that is sent is text."""
        if message["type"] == "websocket.send" and self.state == self.STATE_OPEN and (text := message.get("text")):
            self.serverSend(text)
            return
        if message["type"] == "websocket.close" and self.state == self.STATE_CONNECTING:
            self._refused_with = message.get("code") or self._refused_with
        super().handle_reply(message)

    def serverReject(self) -> None:  # noqa: N802 - Daphne's name
        """See Daphne, whose status is always 403. A program whose key does not work is told so."""
        if self._refused_with != CLOSE_NO_KEY:
            super().serverReject()
            return
        self.handshake_deferred.errback(ConnectionDeny(code=401, reason="Unauthorized"))  # type: ignore[no-untyped-call]
        del self.handshake_deferred
        self.server.protocol_disconnected(self)

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802 - Daphne's name
        """See Daphne. Autobahn allows applications only close codes of their own range, so these codes are sent as a frame."""
        if code is not None and CLOSE_NORMAL < code < CLOSE_OWN:
            self.sendCloseFrame(code=code, isReply=False)
        else:
            super().serverClose(code)


def give_up_slow(transport: Any) -> None:
    """Abort a connection that has more than MAX_UNSENT bytes buffered."""
    if isinstance(transport, Connection) and unsent(transport) > MAX_UNSENT:
        transport.abortConnection()  # type: ignore[no-untyped-call]


def accepted_compression(offers: Iterable[object]) -> Any:
    """The reply to the compression that a browser offers. The compressed length could reveal a secret that is sent along with a model's
    text, but a socket carries neither tokens nor hidden text."""
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return _ACCEPT(offer, window_bits=WINDOW_BITS, mem_level=MEMORY_LEVEL, max_message_size=MAX_FRAME_BYTES)
    return None
