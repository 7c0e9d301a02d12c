"""A model server that answers with exactly the Markdown that a test gives it, and can pause in the middle for as long as the test needs."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.stub import DONE, chunk

_STEP = 37
"""Characters per event: an odd number, so that events end at arbitrary places."""


class Writer:
    """Listens on loopback. ``answer``: what it writes. ``pause_after``: text after which it waits until ``resume`` is called.
    ``asked``: the body of the last request."""

    def __init__(self) -> None:
        self.answer = "Nothing."
        self.asked = b""
        self.pause_after = ""
        self._going = threading.Event()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def write(self, answer: str, *, pause_after: str = "") -> None:
        """Set the next answer."""
        self.answer, self.pause_after = answer, pause_after
        self._going.clear()

    def resume(self) -> None:
        """End the pause."""
        self._going.set()

    def close(self) -> None:
        """Release the answer and stop the server."""
        self.resume()
        self._server.shutdown()
        self._server.server_close()

    def parts(self) -> tuple[str, str]:
        """The text before the pause and the text after it."""
        head, found, rest = self.answer.partition(self.pause_after) if self.pause_after else (self.answer, "", "")
        return head + found, rest

    def wait(self) -> None:
        """Block until the test calls ``resume``."""
        self._going.wait()


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "writer", "object": "model"}]}).encode()
        self._head("application/json", len(body))
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.server.writer.asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._head("text/event-stream")
        before, after = self.server.writer.parts()
        self.wfile.write(chunk(reasoning_content="As the test wants it."))
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
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, writer: Writer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.writer = writer
