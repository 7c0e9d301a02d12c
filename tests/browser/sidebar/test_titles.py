"""Titles that a model generates for new conversations: every tab shows them immediately, and a title that the person writes stays."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.support import stub
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

QUESTION = "How do I get to work fastest when it rains, and should I take the bicycle or the bus?"
BEGINNING = "How do I get to work fastest when it rains, and should I…"
TITLE = "Cycling to work in the rain"


class Model(BaseHTTPRequestHandler):
    """A model server that answers immediately, and returns a title as soon as the test allows it."""

    may_title = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_for_title = b"You name a conversation" in body
        if is_for_title:
            self.may_title.wait(60)
        data = stub.chunk(reasoning="HIDDEN-THOUGHT") + stub.chunk(content=f'"{TITLE}"' if is_for_title else "Take the bicycle.")
        self._send("text/event-stream", data + stub.chunk(finish="stop", content="") + stub.DONE)

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [{"id": "tiny"}]}).encode())

    def _send(self, kind: str, raw: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with this model server and titles switched on."""
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=model.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{model.server_address[1]}"
    deployment = Deployment(tmp_path_factory.mktemp("titles"), CHATUI_BACKEND_URL=address, CHATUI_TITLES="true")
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        Model.may_title.set()
        deployment.stop()
        model.shutdown()
        model.server_close()


@pytest.fixture(autouse=True)
def _not_yet() -> None:
    Model.may_title.clear()


def shows(page: Page, title: str) -> None:
    expect(page.locator(".top-title")).to_have_text(title)
    expect(page).to_have_title(f"{title} · chatui")
    expect(page.locator(".conversation-item", has=page.locator("[aria-current=page]")).locator(".conversation-title")).to_have_text(title)


def test_every_tab_shows_the_title_as_soon_as_it_comes_and_a_reload_does_too(served: Server, visits: Visits) -> None:
    chat = Chat(visits.open(served, "ada"))
    phone = visits.open(served, "ada", **PHONE)
    chat.ask_and_wait(QUESTION)
    chat.settle()
    shows(chat.page, BEGINNING)
    other = chat.page.context.new_page()
    other.goto(chat.page.url)
    shows(other, BEGINNING)
    expect(chat.send).to_be_attached()
    Model.may_title.set()
    shows(chat.page, TITLE)
    shows(other, TITLE)
    expect(phone.locator(".conversation-title").first).to_have_text(TITLE)
    chat.page.reload()
    shows(chat.page, TITLE)
    assert "HIDDEN-THOUGHT" not in chat.page.content()
