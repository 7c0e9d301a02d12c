"""A proxy before a model server, which can pause an answer in the middle for as long as a test needs."""

import contextlib
import socket
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

EVENT = b"data: "


class Relay:
    """Listens on loopback (on ``port``, or a free port) and forwards bytes to ``target``."""

    def __init__(self, target: str, port: int = 0) -> None:
        self.target = target
        self.closed_at = 0.0
        """When a client last disconnected before its answer had ended, in the time of ``time.monotonic``."""
        self._hold: _Hold | None = None
        self._going = threading.Event()
        self._going.set()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_after(self, events: int) -> None:
        """Forward ``events`` more server-sent events of each answer, then none until ``release``.

        Of each, because an answer of an earlier test may still be going on.
        """
        self._going.clear()
        self._hold = _Hold(events)

    @property
    def is_holding(self) -> bool:
        """Whether all allowed events of an answer have been forwarded."""
        hold = self._hold
        return hold is not None and hold.is_reached

    def release(self) -> None:
        """Forward the held events and everything after them."""
        self._hold = None
        self._going.set()

    def close(self) -> None:
        """Stop listening."""
        self.release()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        address = urlsplit(self.target)
        try:
            server = socket.create_connection((address.hostname or "", address.port or 80))
        except OSError:
            client.close()
            return
        threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
        passed = _Passed()
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                self._answer(client, data, passed)
        _shut(client)

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        self.closed_at = time.monotonic()
        _shut(server)

    def _answer(self, client: socket.socket, data: bytes, passed: "_Passed") -> None:
        position = 0
        while (hold := self._hold) is not None:  # another thread may release it at any time
            position = data.find(EVENT, position)
            if position < 0:
                break
            if passed.since(hold) >= hold.events:
                hold.is_reached = True
                client.sendall(data[:position])
                data, position = data[position:], 0
                self._going.wait()
                break
            passed.events += 1
            hold.is_reached = hold.is_reached or passed.events == hold.events
            position += len(EVENT)
        client.sendall(data)


@dataclass
class _Hold:
    events: int
    is_reached: bool = False


class _Passed:
    """How many events of one connection were forwarded since the last hold began."""

    def __init__(self) -> None:
        self.events = 0
        self._hold: _Hold | None = None

    def since(self, hold: _Hold) -> int:
        if hold is not self._hold:
            self._hold, self.events = hold, 0
        return self.events


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
