"""A failed answer: people see what to do and an incident number; staff who may see the model servers also see the cause."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

REFUSALS: dict[str, tuple[int, dict[str, str], dict[str, str]]] = {
    "set-up": (401, {"code": "invalid_api_key"}, {}),
    "busy": (429, {"type": "rate_limit_error"}, {"Retry-After": "90"}),
    "content": (400, {"code": "content_filter"}, {}),
}


class Refusing(BaseHTTPRequestHandler):
    """A model server that refuses each question in the way that the question says."""

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        status, error, headers = REFUSALS[question]
        self._send(status, {"error": {"message": "SECRET", **error}}, headers)

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "tiny"}]}, {})

    def _send(self, status: int, body: object, headers: dict[str, str]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(raw)), "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with that model server."""
    model_server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=model_server.serve_forever, daemon=True).start()
    deployment = Deployment(tmp_path_factory.mktemp("refusing"), CHATUI_BACKEND_URL=f"http://127.0.0.1:{model_server.server_port}")
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []), omar=(True, ["view_storedbackend"]))
        yield server
    finally:
        deployment.stop()
        model_server.shutdown()
        model_server.server_close()


def test_each_failure_says_what_to_do(refusing: Server, visits: Visits) -> None:
    chat = Chat(visits.open(refusing, "ada"))

    chat.ask_and_wait("busy", state="failed")
    notice = chat.last.locator(".notice-text")
    expect(notice).to_contain_text("The model server is busy and asked to wait 90 seconds. Try again after that.")
    chat.ask_and_wait("content", state="failed")
    expect(notice).to_contain_text("The model server's content rules do not allow this. Try rephrasing your message.")
    chat.ask_and_wait("set-up", state="failed")
    expect(notice).to_contain_text("This model is not configured correctly. Tell an administrator. Failure number ")
    text = notice.inner_text()

    chat.page.reload()
    expect(notice).to_have_text(text.replace("\n", " "))
    expect(chat.last.locator(".notice-cause")).to_have_count(0)
    expect(chat.last.get_by_role("button", name="Retry")).to_have_count(0)
    assert not any(word in chat.page.content() for word in ("SECRET", "invalid_api_key", "HTTP 401", "E-X-BACKEND"))


def test_staff_of_the_back_ends_see_the_cause_and_find_it_by_its_number(refusing: Server, visits: Visits) -> None:
    chat = Chat(visits.open(refusing, "omar"))

    chat.ask_and_wait("set-up", state="failed")

    said, cause = chat.last.locator(".notice-text"), chat.last.locator(".notice-cause")
    for _ in ("as it came", "loaded again"):
        expect(said).to_contain_text("The model server refuses the key, or does not allow this with it. Enter the right API key in")
        expect(said).not_to_contain_text("administrator")
        expect(cause.get_by_role("link", name="Why?")).to_be_visible()
        chat.settle()
        chat.page.reload()
    number = said.inner_text().split("Failure number ")[1][:9]
    cause.get_by_role("link", name="Settings of the model server").click()
    expect(chat.page.get_by_role("heading", level=1, name="main")).to_be_visible()
    chat.page.go_back()
    cause.get_by_role("link", name="Why?").click()
    expect(chat.page.get_by_role("heading", level=1)).to_have_text("Why this answer failed")
    why = chat.page.url
    chat.page.goto(f"{refusing.url}/manage/failures/")
    chat.page.get_by_label("Failure number").fill(number)
    chat.page.keyboard.press("Enter")
    chat.page.wait_for_url(why)
    chat.page.get_by_text("Details").click()
    expect(chat.page.get_by_text("HTTP 401, invalid_api_key")).to_be_visible()
    assert "SECRET" not in chat.page.content()
