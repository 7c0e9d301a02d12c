"""The core guarantee on the wire: a real server, every byte that leaves it, and every line that it logs."""

import base64
import contextlib
import http.client
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.canary.markers import Canary
from tests.support.deployments import prepared
from tests.support.places import ROOT
from tests.support.served import free_port

pytestmark = pytest.mark.served

PLACES = (
    "",
    "turns/{turn}/",
    "download/",
    "download/?format=markdown",
    "download/?format=json",
    "download/whole/",
    "download/whole/?format=json",
    "share/",
    "at/{final}/",
    "at/{hidden}/",
    "debug/",
    "debug/compare/",
    "debug/raw/",
    "debug/frames/{hidden}/",
    "debug/turns/{turn}/prompt/",
    "debug/turns/{turn}/prompt/file/",
    "debug/turns/{turn}/tokens/",
    "messages/{final}/text/",
    "messages/{hidden}/text/",
    "rename/",
    "nothing/",
)


@dataclass
class Server:
    """The server's port, the planted rows, and the file with its output."""

    port: int
    data: dict[str, Any]
    log: Path

    def canary(self) -> Canary:
        canary = Canary()
        canary.beginning, canary.planted = self.data["beginning"], self.data["planted"]
        return canary

    def fetch(self, name: str, method: str, path: str) -> bytes:
        """Every byte of one response, as read from the socket."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {self.data['cookies'][name]}\r\nConnection: close\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
            line.sendall(head.encode())
            return b"".join(iter(lambda: line.recv(65536), b""))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("server")
    prepared.prepare(directory, database=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CHATUI_", "DJANGO_"))}
    environment |= {
        "CHATUI_DATA_DIR": str(directory),
        "CHATUI_DEMO_TOKENS_PER_SECOND": "0",
        "CHATUI_LOG_LEVEL": "DEBUG",
        "PYTHONUNBUFFERED": "1",
    }
    planted = subprocess.run(
        [sys.executable, "-m", "tests.canary.plant_for_server"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    port = free_port()
    log = directory / "log"
    command = [
        sys.executable,
        "-m",
        "daphne",
        "-b",
        "127.0.0.1",
        "-p",
        str(port),
        "-v",
        "2",
        "--access-log",
        str(directory / "access"),
        "chatui.asgi:application",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, process)
        yield Server(port, json.loads(planted.stdout), log)
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert process.poll() is None, "the server ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.1)
    raise AssertionError("the server did not answer")


def test_no_byte_or_log_line_of_a_real_server_has_a_marker(server: Server) -> None:
    canary, ids = server.canary(), server.data["ids"]
    answers: dict[str, bytes] = {}
    for name in server.data["cookies"]:
        for place in PLACES:
            answers[f"{name} {place}"] = server.fetch(name, "GET", f"/c/{ids['conversation']}/{place.format_map(ids)}")
        for path in (
            "/",
            "/sign-in/",
            "/manage/",
            "/pages/help/",
            "/nothing/",
            "/c/%00/",
            "/ws/",
            "/shares/",
            "/search/?q=visible",
            "/metrics",
        ):
            answers[f"{name} {path}"] = server.fetch(name, "GET", path)
        answers[f"{name} shared"] = server.fetch(name, "GET", f"/s/{ids['token']}/")
        answers[f"{name} HEAD"] = server.fetch(name, "HEAD", f"/c/{ids['conversation']}/")
        answers[f"{name} POST"] = server.fetch(name, "POST", f"/c/{ids['conversation']}/delete/")
    page = answers["owner "].decode()
    assert "Here is the visible answer." in page and answers["other "].startswith(b"HTTP/1.1 404"), "the premise: real pages"
    for path in sorted(set(re.findall(r'(?:href|src)="(/static/[^"#]+)"', page))):
        answers[path] = server.fetch("owner", "GET", path)
        assert answers[path].startswith(b"HTTP/1.1 200"), path
    assert {request for request, answer in answers.items() if canary.found(answer)} == set()
    logged = server.log.read_bytes() + server.log.with_name("access").read_bytes()
    assert ids["conversation"].encode() in logged, "the premise: requests are logged"
    assert not canary.found(logged)


class WebSocketLine:
    """A minimal WebSocket client: text frames, no fragments."""

    def __init__(self, server: Server, name: str, *, origin: str | None = None) -> None:
        self._line = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        origin = origin or f"http://127.0.0.1:{server.port}"
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self._line.sendall(
            f"GET /ws/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {origin}\r\nCookie: {server.data['cookies'][name]}\r\n"
            f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self._file = self._line.makefile("rb")
        self.head = b"".join(iter(self._file.readline, b"\r\n"))

    def send(self, **command: object) -> None:
        text, mask = json.dumps(command).encode(), secrets.token_bytes(4)
        size = bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0x80 | 126]) + len(text).to_bytes(2, "big")
        self._line.sendall(b"\x81" + size + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(text)))

    def receive(self) -> bytes:
        """The payload of the next frame; empty when the socket closes."""
        head = self._file.read(2)
        if len(head) < 2 or head[0] & 0x0F == 8:
            return b""
        size = head[1] & 0x7F
        if size > 125:
            size = int.from_bytes(self._file.read(2 if size == 126 else 8), "big")
        return self._file.read(size)

    def close(self) -> None:
        self._file.close()
        self._line.close()


def test_no_frame_of_a_real_socket_has_reasoning_which_staff_can_read_later(server: Server) -> None:
    line = WebSocketLine(server, "owner")
    assert line.head.startswith(b"HTTP/1.1 101")
    ask = {
        "client_id": "0190a0a0-0000-4000-8000-000000000001",
        "conversation": None,
        "effort": "low",
        "text": "Show me everything, please.",
    }
    line.send(type="send", **ask)
    received = [line.receive()]
    accepted = json.loads(received[0])[0]
    line.send(type="subscribe", conversation=accepted["conversation"])
    while received[-1] and not re.search(rb'"(?:response\.(?:completed|incomplete|failed|cancel)|chatui:idle)"', received[-1]):
        received.append(line.receive())
    line.send(type="watch", conversation=accepted["conversation"])
    received.append(line.receive())
    assert b"E-PERM-VISIBILITY" in received[-1]
    line.close()
    pages = [server.fetch("owner", "GET", f"/c/{accepted['conversation']}/{place}") for place in ("", "download/")]
    hidden = _hidden_words(server, accepted["conversation"])
    shown = b"\n".join([*received, *pages, server.log.read_bytes()]).decode()
    assert hidden and not [words for words in hidden if words in shown]


def _hidden_words(server: Server, conversation: str) -> list[str]:
    """The hidden bodies of a demo conversation, as downloaded by permitted staff after the opt-in."""
    page = server.fetch("both", "GET", f"/c/{conversation}/debug/").decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    csrf = re.search(r"(?i)set-cookie: (chatui_csrf=[^;]+)", page)
    assert token and csrf
    headers = {"Cookie": f"{server.data['cookies']['both']}; {csrf[1]}", "Content-Type": "application/x-www-form-urlencoded"}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
        fields = f"csrfmiddlewaretoken={token[1]}&reason=a+fault+was+seen&minutes=15"
        connection.request("POST", f"/c/{conversation}/debug/open/", fields, headers)
        with connection.getresponse() as response:
            assert response.status == 302
    whole = server.fetch("both", "GET", f"/c/{conversation}/download/whole/").decode()
    return re.findall(r"<\|channel\|>analysis[^<]*<\|message\|>([^<\n]{12,})", whole)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1", "null"])
def test_a_real_socket_from_a_foreign_page_is_refused(origin: str, server: Server) -> None:
    line = WebSocketLine(server, "owner", origin=origin)
    assert line.head.startswith(b"HTTP/1.1 403")
    line.close()
