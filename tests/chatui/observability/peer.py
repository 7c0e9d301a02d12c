"""A collector of traces on loopback: it decodes the received spans, and fails in a configurable way."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Handling(BaseHTTPRequestHandler):
    """One request. ``over``: the collector is closed; what hangs or has no end goes on until then. ``written``: bytes of endless bodies."""

    over: threading.Event
    written: list[int]

    def write_endlessly(self, status: str) -> None:
        self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Length: 1000000000000\r\n\r\n".encode())
        while not self.over.is_set():
            self.written.append(self.wfile.write(b"x" * 65_536))


Way = Callable[[Handling], None]


def takes(handler: Handling) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def fails(handler: Handling) -> None:
    handler.send_response(503)
    handler.send_header("Retry-After", "86400")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def redirects(handler: Handling) -> None:
    handler.send_response(307)
    handler.send_header("Location", "/elsewhere")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def hangs(handler: Handling) -> None:
    handler.over.wait()


def drips(handler: Handling) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.over.wait(0.1):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def floods(handler: Handling) -> None:
    handler.write_endlessly("200 OK")


def refuses_at_length(handler: Handling) -> None:
    handler.write_endlessly("400 Bad")


def garbage(handler: Handling) -> None:
    handler.wfile.write(bytes(range(256)) * 100 + b"\r\n\r\n")
    handler.close_connection = True


class Peer:
    """The received spans and the address. ``way``: how it answers from now on. ``written``: the sizes of the pieces of endless bodies that
    a client has taken."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.written: list[int] = []
        self.url = ""

    @property
    def raw(self) -> bytes:
        return b"".join(body for _, _, body in self.requests)

    @property
    def spans(self) -> list[Span]:
        found: list[Span] = []
        for _, _, body in self.requests:
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [span for scope in of_resource.scope_spans for span in scope.spans]
        return found

    def wait_for(self, is_there: Callable[[list[Span]], bool], seconds: float = 30) -> list[Span]:
        until = time.monotonic() + seconds
        while not is_there(self.spans):
            assert time.monotonic() < until, [span.name for span in self.spans]
            time.sleep(0.05)
        return self.spans


def attributes_of(span: Span) -> dict[str, Any]:
    """The attributes of a span, as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "") for each in span.attributes}


@contextmanager
def collecting(way: Way = takes) -> Iterator[Peer]:
    peer = Peer(way)
    ended = threading.Event()

    class Handler(Handling):
        over = ended
        written = peer.written

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            peer.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            peer.way(self)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # the client has disconnected
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    peer.url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
    try:
        yield peer
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
