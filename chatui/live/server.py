"""Runs Daphne with WebSocket compression, and drains connections on SIGTERM before the process ends.

To drain: no new connection is taken, sockets are told to come back elsewhere (close code 1012), and answers that are being written go on,
up to CHATUI_DRAIN_SECONDS. Their pages follow them through another process, or find them when they are back.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import chatui.live.plain_daphne  # noqa: F401 # isort: skip - has to be before Daphne
import daphne.server
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from daphne.http_protocol import WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor
from twisted.internet.tcp import Connection

from chatui.delivery import groups
from chatui.delivery.bus import bus
from chatui.env import environment
from chatui.live import channel, open_files
from chatui.live.consumer import CLOSE_RESTART
from chatui.live.early_refusals import PROGRAMS, SERVER_ERRORS, error_object, refusal_of
from chatui.tracing import starting
from chatui.turns import running

log = logging.getLogger(__name__)

WINDOW_BITS = 12
MEMORY_LEVEL = 5
"""The compressor of a socket takes 32 KB of memory with these, and most of a larger one's effect on text that comes in small pieces."""
MOST_FRAME_BYTES = 1024 * 1024
MOST_UNSENT = 8 * 1024 * 1024
"""For a program that reads slowly: more than any response has."""
LAST_MESSAGES_SECONDS = 0.3
"""For what the last events of a turn still have to pass: the sockets, and Redis."""
MOST_TRACES_SECONDS = 3.0
"""For spans that were not sent yet, if that much time is left."""
GARBAGE_OBJECTS = 10_000
"""So many more objects than are gone there have to be before the collector looks at the young ones."""
_ROOT_PATH = b"Daphne-Root-Path"
_ACCEPT: Any = PerMessageDeflateOfferAccept  # which is not typed


class Server(daphne.server.Server):  # type: ignore[misc]
    """Runs until a signal comes."""

    _ports: list[Any]
    _draining: asyncio.Task[None] | None = None

    def run(self) -> None:
        """See Daphne."""
        self._ports = []
        open_files.raise_limit()
        # Called when the factories are there, and before the reactor runs.
        self.ready_callable = self._prepare
        super().run()

    def listen_success(self, port: Any) -> None:
        """See Daphne."""
        self._ports.append(port)
        super().listen_success(port)

    def _prepare(self) -> None:
        self.ws_factory.protocol = _Protocol
        self.http_factory.protocol = channel.protocol
        self.http_factory.buildProtocol = partial(_connection, self.http_factory.buildProtocol)
        self.ws_factory.setProtocolOptions(perMessageCompressionAccept=accepted_compression)
        reactor.callWhenRunning(self._catch_sigterm)
        # What is loaded by now stays: the collector need not walk through it with every few thousand tokens.
        gc.collect()
        gc.freeze()
        # A turn makes thousands of objects that last until its end, and next to nothing that only the collector could free.
        gc.set_threshold(GARBAGE_OBJECTS)

    def _catch_sigterm(self) -> None:
        loop = asyncio.get_event_loop()
        # After Twisted's own, which would stop at once. The handler may only put things in motion.
        signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(self._begin_to_drain, loop))

    def _begin_to_drain(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._draining is None:
            self._draining = loop.create_task(self._drain(), name="drain")
        else:
            self.stop()  # who asks twice does not want to wait

    async def _drain(self) -> None:
        for port in self._ports:
            port.stopListening()
        bus().send(groups.PROCESS, {"type": "process.ends"}, elsewhere=False)
        ends_at = asyncio.get_running_loop().time() + environment().drain_seconds
        try:
            async with asyncio.timeout_at(ends_at):
                await running.settle()
        except TimeoutError:
            log.warning("%d answers were still being written after %s s", running.count(), environment().drain_seconds)
        await asyncio.sleep(LAST_MESSAGES_SECONDS)
        left = max(ends_at - asyncio.get_running_loop().time(), LAST_MESSAGES_SECONDS)
        await asyncio.to_thread(starting.end, min(left, MOST_TRACES_SECONDS))
        self.stop()


def _connection(build: Callable[[object], Any], address: object) -> Any:
    connection = build(address)
    connection.requestFactory = _Request
    return connection


class _Request(WebRequest):  # type: ignore[misc]
    """Daphne's, which refuses early what is too long for a program, and ends a reply that fails in the middle: its reader sees that it is
    cut, and does not wait for the rest."""

    _is_refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - Twisted's name
        """See Twisted: the head has been read, and nothing of the body."""
        super().gotLength(length)
        # Daphne takes it, from anybody, as the prefix of the path: the product would then serve another path than the one that was checked
        # here and by a proxy. This product is at the root of its host.
        self.requestHeaders.removeHeader(_ROOT_PATH)
        if refusal := refusal_of(self.channel._path.partition(b"?")[0], length):
            self._is_refused = True
            self.channel.transport.write(refusal)
            self.channel.loseConnection()

    def process(self) -> Any:
        """See Daphne. Twisted calls it after a refusal as well, where there is no body to wait for."""
        return None if self._is_refused else super().process()

    def handle_reply(self, message: Any) -> None:
        """See Daphne, which takes whatever is sent: a program that does not read is given up before it fills the memory."""
        connection = getattr(self, "channel", None)  # Twisted deletes it with the end of the reply
        super().handle_reply(message)
        if connection is not None and channel.unsent(connection.transport) and unquote_to_bytes(self.path).startswith(PROGRAMS):
            give_up_slow(connection.transport)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """See Daphne, which writes a page; a program gets an object."""
        if not unquote_to_bytes(self.uri).startswith(PROGRAMS):
            super().basic_error(status, status_text, body)
            return
        said = error_object(status, f"{body}.".replace("..", "."), "bad_request" if status < SERVER_ERRORS else "server_error")
        self.handle_reply({"type": "http.response.start", "status": status, "headers": [(b"Content-Type", b"application/json")]})
        self.handle_reply({"type": "http.response.body", "body": said})

    def handle_exception(self, exception: BaseException) -> None:
        """See Daphne. It would begin a second reply, which raises: from then on it would look after no failed request of this process."""
        if not self._response_started:
            super().handle_exception(exception)
        elif not self.finished and self.channel is not None:
            self.channel.loseConnection()


class _Protocol(WebSocketProtocol):  # type: ignore[misc]
    """Daphne's, which writes at once where it can, and can also close with the registered code for a restart."""

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:  # noqa: N802 - Autobahn's name
        """See Autobahn. Twisted would wait until the event loop says that the socket can be written to, which it nearly always can: that
        costs more than the writing."""
        if not sync and not chopsize and not self.send_queue and channel.is_free(self.transport):
            written = self.transport.writeSomeData(data)
            # Where the connection is lost, Twisted notices it when it writes, and says so to everybody.
            data = data[written:] if isinstance(written, int) and written > 0 else data
        if data:
            super().sendData(data, sync, chopsize)

    def serverSend(self, content: Any, binary: bool = False) -> None:  # noqa: N802 - Daphne's name
        """See Daphne. Pages say what they have read; a program that does not read is given up, as above."""
        super().serverSend(content, binary)
        if channel.unsent(self.transport) and unquote_to_bytes(self.path).startswith(PROGRAMS):
            give_up_slow(self.transport)

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802 - Daphne's name
        """See Daphne. Autobahn lets an application send only codes of its own range, so this one is sent as a frame."""
        if code == CLOSE_RESTART:
            self.sendCloseFrame(code=code, isReply=False)
        else:
            super().serverClose(code)


def give_up_slow(transport: Any) -> None:
    """End a connection for which more than MOST_UNSENT bytes wait."""
    if isinstance(transport, Connection) and channel.unsent(transport) > MOST_UNSENT:
        transport.abortConnection()  # type: ignore[no-untyped-call]


def accepted_compression(offers: Iterable[object]) -> Any:
    """The answer to the compressions that a browser offers. A socket carries nothing secret beside a model's text, whose length could
    reveal it: no token, and nothing hidden."""
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return _ACCEPT(offer, window_bits=WINDOW_BITS, mem_level=MEMORY_LEVEL, max_message_size=MOST_FRAME_BYTES)
    return None
