"""The admin page of model servers: slow, refusing or misconfigured servers are shown as such, quickly, and without an error page."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import cache

from chatui.backends.separation import IDS, REMEDY, Known
from chatui.backends.spec import BackendSpec
from chatui.codes import Cause
from chatui.display import model_servers
from chatui.model_servers import connected
from chatui.models.user import User
from tests.chatui.conftest import signed_in

pytestmark = pytest.mark.django_db
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nServer: llama.cpp\r\n"
MODELS = HEAD + b'Content-Length: 34\r\n\r\n{"data": [{"id": "a-tiny-model"}]}'
SOON = 20.0
"""In seconds: what the page does not wait for takes much longer, also on a busy machine."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(model_servers, "ASK_SECONDS", 0.5)


class Server:
    """Answers every request with these bytes, at once or byte by byte, and records the heads of requests."""

    def __init__(self, answer: bytes, pause: float) -> None:
        self.requests: list[bytes] = []
        self.over = threading.Event()
        self._pieces = [answer[at : at + 1] for at in range(len(answer))] if pause else [answer]
        self._pause = pause

    def accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not self.over.is_set():
                threading.Thread(target=self._serve, args=(listener.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while head := connection.recv(65_536):
                self.requests.append(head)
                for piece in self._pieces:
                    connection.sendall(piece)
                    if self.over.wait(self._pause):
                        return


@contextmanager
def listening(answer: bytes, pause: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """The address of such a server, and the requests it received."""
    server = Server(answer, pause)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=server.accept, args=(listener,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", server.requests
        finally:
            server.over.set()
            listener.shutdown(socket.SHUT_RDWR)


def page(root: User, monkeypatch: pytest.MonkeyPatch, *specs: BackendSpec) -> tuple[str, float]:
    monkeypatch.setattr(connected, "specs", lambda: specs)
    client, started = signed_in(root), time.monotonic()
    answer = client.get("/manage/servers/")
    assert answer.status_code == 200
    return answer.content.decode(), time.monotonic() - started


def spec_of(**values: Any) -> BackendSpec:
    return BackendSpec(**{"name": "one", "url": "http://127.0.0.1:9"} | values)


def test_a_server_sending_single_bytes_does_not_delay_the_page(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(MODELS, 0.4) as (url, _):
        shown, took = page(root, monkeypatch, spec_of(url=url))
    assert "does not respond" in shown and took < SOON


def test_hanging_name_resolution_does_not_delay_the_page(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def hang(*_: Any, **__: Any) -> Any:
        is_over.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    shown, took = page(root, monkeypatch, spec_of(url="http://models.example.org"))
    is_over.set()
    assert "does not respond" in shown and took < SOON


def test_a_server_is_probed_the_same_way_as_it_is_asked(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(MODELS) as (url, requests):
        shown, _ = page(root, monkeypatch, spec_of(url=url, api_root=True, query={"api-version": "7"}))
    assert "a-tiny-model" in shown and requests[0].startswith(b"GET /models?api-version=7 ")


def test_each_address_of_a_server_is_probed_and_the_silent_one_named(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(MODELS) as (url, requests):
        shown, _ = page(root, monkeypatch, spec_of(url="http://127.0.0.1:9", more_urls=(url,)))
    assert requests and "a-tiny-model" in shown and f"127.0.0.1:9: {Cause.NOTHING_LISTENS.sentence}" in shown
    assert "manage-warns" not in shown


def test_for_a_single_address_only_the_cause_is_shown(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = page(root, monkeypatch, spec_of(url="http://127.0.0.1:9"))
    assert "does not respond" in shown and Cause.NOTHING_LISTENS.sentence in shown


@pytest.mark.parametrize(
    "values",
    [
        {"url": "https://127.0.0.1:9", "ca_file": "/does/not/exist.pem"},
        {"url": "http://a..b"},
        {"key_file": "/does/not/exist"},
    ],
)
def test_a_misconfigured_server_is_shown_as_not_responding(values: dict[str, Any], root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = page(root, monkeypatch, BackendSpec.model_construct(**spec_of().model_dump() | values))
    assert "does not respond" in shown


def test_the_page_does_not_depend_on_the_cache(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    for name in ("get_many", "set_many"):
        monkeypatch.setattr(cache, name, away)
    assert "does not respond" in page(root, monkeypatch, spec_of())[0]


def test_the_remedy_is_named_only_for_a_model_that_is_not_proved(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(MODELS) as (url, _):
        for known, is_named in ((Known(), True), (IDS, False)):
            monkeypatch.setattr(connected, "separations", lambda name, known=known: {"tiny": known})
            assert (REMEDY in page(root, monkeypatch, spec_of(url=url))[0]) is is_named
