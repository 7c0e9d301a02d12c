"""A proxy before a model server, which can pause an answer in the middle for as long as a test needs."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from urllib.parse import urlsplit

EVENT = b"data: "


class Relay:
    """Listens on loopback (on ``port``, or a free port) and forwards bytes to ``target``."""

    def __init__(self, target: str, port: int = 0) -> None:
        self.target = target
        self.closed_at = 0.0
        """When a client last disconnected before its answer had ended, in the time of ``time.monotonic``."""
        self._left: int | None = None
        self._going = threading.Event()
        self._going.set()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_after(self, events: int) -> None:
        """Forward the next ``events`` server-sent events, then none until ``release``."""
        self._going.clear()
        self._left = events

    @property
    def is_holding(self) -> bool:
        """Whether all allowed events have been forwarded."""
        return self._left == 0

    def release(self) -> None:
        """Forward the held events and everything after them."""
        self._left = None
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
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                self._answer(client, data)
        _shut(client)

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        self.closed_at = time.monotonic()
        _shut(server)

    def _answer(self, client: socket.socket, data: bytes) -> None:
        position = 0
        while (left := self._left) is not None:  # another thread may release it at any time
            position = data.find(EVENT, position)
            if position < 0:
                break
            if left <= 0:
                client.sendall(data[:position])
                data, position = data[position:], 0
                self._going.wait()
                break
            self._left = left - 1
            position += len(EVENT)
        client.sendall(data)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
