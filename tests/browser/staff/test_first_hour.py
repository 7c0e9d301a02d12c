"""The first hour as one story, by pages alone: the console's address, the first account, a model server, a summary of its thoughts, an
invitation, and the second person's first answer."""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, submit
from tests.support import stub
from tests.support.served import PASSWORD, NewDeployment, Server

pytestmark = pytest.mark.browser

KEY = "sk-first-hour"
QUESTION = "Should we take the early train or the late one to Milan?"
ANSWER = "Take the early one."
THOUGHTS = (
    "They want the pros and cons of going by train on a Friday. ",
    "An advantage of the early one is its price, a drawback is the hour. ",
    "The late one has the advantage of an evening in Bern, and its cons are the crowd and the fare. ",
    "A disadvantage of both is the change, and among the pros of both are the lakes. ",
)


class Model(BaseHTTPRequestHandler):
    """A model server that asks for a key, and thinks for some seconds about people's questions, in a field of its own."""

    def do_GET(self) -> None:
        if self._may():
            self._head("application/json")
            self.wfile.write(json.dumps({"data": [{"id": "gpt-oss-20b"}]}).encode())

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._may():
            return
        if self.path != "/v1/chat/completions":
            self.send_error(404)
            return
        is_a_persons = QUESTION.encode() in asked and b"You name a conversation" not in asked
        self._head("text/event-stream")
        for thought in THOUGHTS * 4 if is_a_persons else ["Briefly."]:
            self.wfile.write(stub.chunk(reasoning_content=thought))
            time.sleep(0.25 if is_a_persons else 0)
        self.wfile.write(stub.chunk(content=ANSWER) + stub.chunk("stop") + stub.DONE)

    def _may(self) -> bool:
        if is_right := self.headers["Authorization"] == f"Bearer {KEY}":
            return is_right
        self.send_error(401)
        return False

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def model() -> Iterator[str]:
    """The address of the model server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has just been installed."""
    deployment = NewDeployment(tmp_path_factory.mktemp("empty"))
    try:
        yield deployment.start()
    finally:
        deployment.stop()


def create_first(page: Page, code: str) -> None:
    page.get_by_label("Code from the server's console").fill(code)
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()


def test_from_the_console_to_a_second_persons_answer(empty: Server, model: str, visits: Visits) -> None:
    found = re.search(r"http://localhost:\d+", empty.console)
    assert found, empty.console
    address = found[0]
    page = visits.open(empty, base_url=address)
    page.wait_for_url("**/setup/")
    create_first(page, "WRON-GCOD-EWRO-NGCO-DE00")
    expect(page.get_by_text("This is not the code that the server printed.", exact=True)).to_be_visible()
    create_first(page, empty.first_account_code)
    chat = Chat(page)
    expect(chat.box).to_be_focused()

    page.get_by_role("link", name="Connect a model server").click()
    page.get_by_label("Address", exact=True).fill(model)
    page.get_by_label("API key", exact=True).fill("sk-wrong")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("The test has not passed.")
    expect(page.get_by_text("This server refuses this key. Enter the right one below.")).to_be_visible()
    page.get_by_label("API key", exact=True).fill(KEY)
    page.get_by_role("button", name="Test again").click()
    expect(page.get_by_role("status")).to_have_text("The test has passed.")
    expect(page.get_by_text("comes apart from the answer")).to_be_visible()
    submit(page.get_by_role("button", name="Save", exact=True))
    page.goto("/")

    expect(page.locator(".banner-demo")).to_have_count(0)
    chat.ask_and_wait(QUESTION)
    expect(chat.answer).to_have_text(ANSWER)
    thought = chat.last.locator("details.thought")
    thought.locator("summary").click()
    expect(thought.get_by_role("listitem")).to_have_text(["Weighing pros and cons"])

    page.goto("/")
    page.get_by_role("link", name="Invite people").click()
    page.get_by_label("Whom to invite").fill("bela")
    page.get_by_role("button", name="Create links").click()
    link = page.locator(".manage-link").inner_text()
    second = visits.open(empty, base_url=address)
    second.goto(link)
    expect(second.get_by_label("Username")).to_have_value("bela")
    second.get_by_label("Password", exact=True).fill(PASSWORD)
    second.get_by_label("Password confirmation").fill(PASSWORD)
    second.get_by_role("button", name="Create account").click()
    second.wait_for_url(f"{address}/")
    theirs = Chat(second)
    theirs.ask_and_wait("Hello!")
    expect(theirs.answer).to_have_text(ANSWER)
    second.get_by_role("button", name="Account: bela").click()
    expect(second.get_by_role("link", name="Administration")).to_have_count(0)
    second.goto("/setup/")
    expect(theirs.box).to_be_visible()
    assert KEY not in empty.console
