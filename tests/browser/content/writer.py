"""A model server that answers with exactly the Markdown that a test gives it, and can stop in the middle for as long as the test likes."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.stub import DONE, chunk

_STEP = 37
"""Characters of each event: not a round number, so that events end anywhere."""


class Writer:
    """Listens on loopback. ``answer`` is what it writes; ``pause_after`` a text behind which it waits until ``go_on`` is called."""

    def __init__(self) -> None:
        self.answer = "Nothing."
        self.pause_after = ""
        self._going = threading.Event()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def write(self, answer: str, *, pause_after: str = "") -> None:
        """What the next answer is."""
        self.answer, self.pause_after = answer, pause_after
        self._going.clear()

    def go_on(self) -> None:
        """Write the rest."""
        self._going.set()

    def close(self) -> None:
        """Answer nobody any more."""
        self.go_on()
        self._server.shutdown()
        self._server.server_close()

    def parts(self) -> tuple[str, str]:
        """What comes before the pause and after it."""
        head, found, rest = self.answer.partition(self.pause_after) if self.pause_after else (self.answer, "", "")
        return head + found, rest

    def wait(self) -> None:
        """Until the test lets it write on."""
        self._going.wait()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "writer", "object": "model"}]}).encode()
        self._head("application/json", len(body))
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._head("text/event-stream")
        before, after = self.server.writer.parts()
        self._write(before)
        if after:
            self.server.writer.wait()
        self._write(after)
        self.wfile.write(chunk("stop") + DONE)

    def _head(self, kind: str, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()

    def _write(self, text: str) -> None:
        for start in range(0, len(text), _STEP):
            self.wfile.write(chunk(content=text[start : start + _STEP]))
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what is asked for is the test's own business."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, writer: Writer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.writer = writer
