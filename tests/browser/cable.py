"""A TCP proxy between browsers and the product, which can cut all connections or silently swallow what they carry."""

import contextlib
import socket
import threading


class Cable:
    """Listens on a loopback port and forwards bytes to and from ``port``."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._passing = threading.Event()
        self._passing.set()
        self._is_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close every connection, and from now on each new one immediately."""
        with self._lock:
            self._is_cut = True
        self._close_all()

    def lead_to(self, port: int) -> None:
        """Forward new connections to this port, as a proxy does when a process has ended."""
        self._port = port

    def swallow(self) -> None:
        """Keep all connections open and accept new ones, but forward nothing."""
        self._passing.clear()

    def restore(self, *, keeps: bool = False) -> None:
        """Forward again. ``keeps``: swallowed bytes arrive late; otherwise the old connections are closed."""
        if not keeps:
            self._close_all()
        self._is_cut = False
        self._passing.set()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
        self.restore()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
            else:
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._port))
        except OSError:
            client.close()
            return
        with self._lock:
            self._open |= {client, server}
            is_late = self._is_cut
        if is_late:  # cut while it was being connected
            self._close(client, server)
            return
        threading.Thread(target=self._pass, args=(client, server), daemon=True).start()
        self._pass(server, client)

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._passing.wait()
                target.sendall(data)
        self._close(source, target)

    def _close_all(self) -> None:
        with self._lock:
            found = list(self._open)
        self._close(*found)

    def _close(self, *connections: socket.socket) -> None:
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        with self._lock:
            self._open -= set(connections)
