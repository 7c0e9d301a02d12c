"""Answers while ``serve`` prepares: that the process lives, and to everything else that it is starting.

Preparing takes minutes at the first start of a slow machine, and whoever watches the process would end it before it is done. ``manage.py``
begins this before it loads anything else, so it uses the standard library alone. It runs in a process of its own, because the one that
prepares is busy and forks. Both have the same socket: what arrives in between waits in its queue, and is answered by the product.
"""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

AGAIN_SECONDS = 2
LAST_SECONDS = 2.0
"""How long the product waits for the last answers. Whoever sends slower loses the connection."""
_MOST_BODY = 1024 * 1024
_SENTENCES = {
    "en": "The site is starting. This page loads again by itself.",
    "de": "Die Seite startet gerade. Sie wird von selbst neu geladen.",
    "ko": "사이트를 시작하는 중입니다. 이 페이지는 저절로 다시 열립니다.",
    "zh-Hans": "网站正在启动。本页会自动重新加载。",
}
"""In every language: nothing is loaded yet that could choose one."""


class WaitingSocket:
    """The socket on which ``serve`` will listen, and the process that answers there meanwhile."""

    def __init__(self, place: tuple[str, int], listener: socket.socket) -> None:
        self.place, self.listener = place, listener
        listener.setblocking(False)  # of several processes that see a connection, one accepts it, and the others must not wait for the next
        # It ends when its input does: when this process hands over, or dies.
        ends, self._input = os.pipe()
        command = [sys.executable, __file__, str(listener.fileno())]
        self._process = subprocess.Popen(command, stdin=ends, pass_fds=[listener.fileno()])  # noqa: S603 - ourselves
        os.close(ends)
        atexit.register(self._end)

    def _end(self) -> None:
        """The start has failed."""
        self._stop()
        self.listener.close()

    def _stop(self) -> None:
        os.close(self._input)
        self._process.wait()

    def hand_over(self) -> socket.socket:
        """End the process, and return the socket, which goes on listening."""
        atexit.unregister(self._end)
        self._stop()
        return self.listener

    def forget(self) -> None:
        """In a forked process: what answers belongs to its parent, and ends with that."""
        atexit.unregister(self._end)
        os.close(self._input)
        self._process.returncode = 0  # nobody here can wait for it


waiting: WaitingSocket | None = None


def begin(arguments: list[str]) -> int:
    """Answer where ``serve`` with these arguments will listen. Returns how many processes are to serve there; 0 if it cannot be had, and
    ``serve`` says why."""
    global waiting
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_arguments(parser)
    try:
        options, _ = parser.parse_known_args(arguments)
        place = options.host, options.port
        waiting = WaitingSocket(place, listening(*place))
    except (argparse.ArgumentError, OSError, OverflowError):
        return 0
    return int(options.workers)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where ``serve`` listens, and with how many processes."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (8000)")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes that serve there together (1); several need PostgreSQL and Redis"
    )


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OSError, or OverflowError for a number that is no port."""
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(socket.SOMAXCONN)
    except BaseException:
        opened.close()
        raise
    return opened


class _Answer(BaseHTTPRequestHandler):
    timeout = 5

    def do_GET(self) -> None:
        """200 for the liveness check, 503 for everything else."""
        path = self.path.partition("?")[0]
        if path == "/healthz":
            self._send(200, "text/plain", "ok\n")
        elif path == "/readyz":
            self._send(503, "application/json", '{"ready": false, "starting": true}')
        else:
            lines = "".join(f'<p lang="{language}">{sentence}</p>' for language, sentence in _SENTENCES.items())
            self._send(503, "text/html; charset=utf-8", f"<!doctype html><title>503</title>{lines}")

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def do_POST(self) -> None:
        """503. What is sent is read, so that the sender reads the answer, and dropped."""
        length = self.headers.get("Content-Length", "")
        self.rfile.read(min(int(length), _MOST_BODY) if length.isascii() and length.isdigit() else 0)
        self._send(503, "text/plain; charset=utf-8", "\n".join(_SENTENCES.values()))

    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store", "Connection": "close"}
        headers |= {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'"}
        if status != 200:
            headers |= {"Retry-After": str(AGAIN_SECONDS)} | ({"Refresh": str(AGAIN_SECONDS)} if self.command == "GET" else {})
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing: it says what a monitor asks, every second."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: somebody has closed the connection."""


def answer(descriptor: int) -> None:
    """Answer on a listening socket until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the process that has started this one
    server = _Server(("", 0), _Answer, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=descriptor)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    sys.stdin.buffer.read()
    server.shutdown()
    ends_at = time.monotonic() + LAST_SECONDS
    for thread in threading.enumerate():  # who has been accepted is answered: their connection ends with this process
        if thread is not threading.current_thread():
            thread.join(max(ends_at - time.monotonic(), 0))
    server.server_close()


if __name__ == "__main__":
    answer(int(sys.argv[1]))
