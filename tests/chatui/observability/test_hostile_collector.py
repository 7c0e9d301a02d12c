"""A hostile collector: endless cookies, and errors with endless bodies."""

import itertools
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from chatui.observability import collector, measures
from chatui.observability.collector import Collector
from tests.chatui.observability.peer import collecting

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(collector, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(collector, "SEND_SECONDS", 1.0)
    yield
    measures.set_tracer(None)


def cookies(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    for _ in range(50):
        handler.send_header("Set-Cookie", f"c{next(_numbers)}={'x' * 4000}; Path=/")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def refuses_at_length(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 400 Bad\r\nContent-Length: 1000000000000\r\n\r\n")
    for _ in range(4000):
        handler.wfile.write(b"x" * 65_536)


def test_cookies_are_neither_stored_nor_sent_back() -> None:
    with collecting(cookies) as peer:
        sender = Collector(peer.url, {}, 1.0, propagates_to_model_servers=False)
        measures.set_tracer(sender)
        until = time.monotonic() + 20
        while len(peer.requests) < 3 and time.monotonic() < until:
            with measures.span("turn"):
                pass
            time.sleep(0.05)
        sender.stop(10)
        assert len(peer.requests) >= 3
        assert not any("cookie" in headers for _, headers, _ in peer.requests)


def test_the_body_of_a_refusal_is_not_read() -> None:
    with collecting(refuses_at_length) as peer:
        sender = Collector(peer.url, {}, 1.0, propagates_to_model_servers=False)
        measures.set_tracer(sender)
        started = time.monotonic()
        with measures.span("turn"):
            pass
        sender.stop(10)
        assert time.monotonic() - started < 5 and peer.requests
