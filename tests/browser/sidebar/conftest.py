"""A fixture: the product with a model server that finishes its answers when a test says so."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from tests.support.served import Deployment, Server


class Patient(BaseHTTPRequestHandler):
    """Begins each answer at once and ends it when ``going`` is set. ``requests``: the bodies of all requests so far."""

    going = threading.Event()
    requests: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self._say({"choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "A sum."}}]})
        self._say({"choices": [{"index": 0, "delta": {"content": "Two and two"}}]})
        self.going.wait(120)
        self._say({"choices": [{"index": 0, "delta": {"content": " are four."}, "finish_reason": "stop"}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": "patient"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _say(self, event: object) -> None:
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="package")
def _patient_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    model_server = ThreadingHTTPServer(("127.0.0.1", 0), Patient)
    threading.Thread(target=model_server.serve_forever, daemon=True).start()
    deployment = Deployment(tmp_path_factory.mktemp("patient"), CHATUI_BACKEND_URL=f"http://127.0.0.1:{model_server.server_port}")
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        Patient.going.set()
        deployment.stop()
        model_server.shutdown()
        model_server.server_close()


@pytest.fixture
def patient(_patient_server: Server) -> Iterator[Server]:
    """The product, whose answers end once ``Patient.going`` is set."""
    Patient.going.clear()
    yield _patient_server
    Patient.going.set()
