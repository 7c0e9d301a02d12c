"""Files below an answer in a real browser: a picture in its reserved space, a table to download, and no access for others."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.chatui.store.pictures import png
from tests.support.served import Deployment, Server
from tests.support.stub import DONE, chunk

pytestmark = pytest.mark.browser

PLANT = """
from chatui.models import Turn
from chatui.store import files
from chatui.store.files import NewFile, FileDestination
from tests.chatui.store.pictures import png
turn = Turn.objects.get(conversation='{}')
place = FileDestination(turn.asked_by_id, turn.conversation_id, turn.pk)
for name, data in (('plot.png', png(640, 480)), ('a.csv', b'a,b'), ('x.svg', b"<svg onload='alert(1)'/>")):
    print(files.save(place, NewFile.of(name, data)).pk)
"""


def planted(chat: Chat, deployment: Deployment) -> list[str]:
    """Store three files for an answer with a tool call; returns their addresses."""
    chat.ask_and_wait("What is the weather in Oslo?")
    chat.settle()
    key = chat.page.url.rstrip("/").rpartition("/")[2]
    return [f"/files/{line}/" for line in deployment.manage("shell", "--no-imports", "-c", PLANT.format(key)).split()]


def box(page: Page) -> Any:
    return page.locator(".file-picture img").bounding_box()


def test_a_picture_has_its_box_before_it_comes_other_files_are_saved_and_nobody_else_gets_any(
    demo: Server, demo_deployment: Deployment, visits: Visits
) -> None:
    chat = Chat(visits.open(demo, "ada"))
    picture, table, script = files = planted(chat, demo_deployment)
    page = chat.page
    page.route(f"**{picture}*", lambda route: route.abort())
    visits.allow("ERR_FAILED")
    page.reload()
    expect(page.get_by_role("link", name="Download a.csv 3 bytes")).to_be_visible()
    page.locator(".files").scroll_into_view_if_needed()
    before = box(page)
    page.unroute(f"**{picture}*")
    page.reload()
    page.locator(".files").scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.file-picture img').naturalWidth === 640")
    after = box(page)
    assert (before["width"], before["height"]) == (after["width"], after["height"]) and after["width"] > 250
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("img", name="Picture “plot.png”")).to_be_visible()
    with page.expect_download() as saving:
        page.get_by_role("link", name="Download a.csv").click()
    assert saving.value.suggested_filename == "a.csv" and Path(saving.value.path()).read_bytes() == b"a,b"
    assert table in saving.value.url

    with chat.page.expect_download() as saving:
        chat.page.evaluate("address => { location.href = address; }", script)
    assert saving.value.suggested_filename == "x.svg"
    visits.allow("404")
    other = visits.open(demo, "bela")
    answers = [other.request.get(address).status for address in files]
    assert answers == [404] * 3 and [chat.page.request.get(address).status for address in files] == [200] * 3


class _Handler(BaseHTTPRequestHandler):
    """A model that calls ``run_python`` twice and then waits, and a Python service that only returns files."""

    going = threading.Event()
    runs = 0

    def do_GET(self) -> None:
        self._answer(json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/run":
            _Handler.runs += 1
            contents = [["plot.png", base64.b64encode(png(640, 480, bytes([_Handler.runs] * 3))).decode()]]
            self._answer(json.dumps({"output": "", "contents": contents + [["a.csv", "YSxi"]] * (_Handler.runs - 1)}).encode())
            return
        replies = [message for message in body["messages"] if message["role"] == "tool"]
        if len(replies) < 2:
            function = {"name": "run_python", "arguments": json.dumps({"code": "draw()"})}
            call = [{"index": 0, "id": f"c{len(replies)}", "type": "function", "function": function}]
            self._answer(chunk("tool_calls", tool_calls=call) + DONE, "text/event-stream")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(chunk(reasoning_content="It is drawn.") + chunk(content="Here it "))
        self.wfile.flush()
        self.going.wait(60)
        self.wfile.write(chunk("stop", content="is.") + DONE)

    def _answer(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def drawing(tmp_path: Path) -> Iterator[Server]:
    """The product with that model and that service."""
    _Handler.going.clear()
    _Handler.runs = 0
    peer = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{peer.server_port}"
    deployment = Deployment(
        tmp_path,
        CHATUI_BACKEND_URL=f"{address}/v1",
        CHATUI_TITLES="false",
        CHATUI_TOOLS="python",
        CHATUI_TOOLS_WITHOUT_APPROVAL="python",
        CHATUI_PYTHON_SERVICE_URL=address,
    )
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        _Handler.going.set()
        deployment.stop()
        peer.shutdown()
        peer.server_close()


def test_files_come_while_the_answer_is_written_and_are_the_same_at_its_end_and_after_a_reload(drawing: Server, visits: Visits) -> None:
    chat = Chat(visits.open(drawing, "ada"))
    chat.ask("Draw it")
    links = chat.page.locator(".file-link")
    expect(links).to_have_count(2)
    expect(chat.page.locator(".parts")).to_contain_text("Here it")
    expect(chat.page.locator(".answer-tools")).to_have_count(0)
    late = visits.open(drawing, "ada", chat.page.url)
    expect(late.locator(".file-link")).to_have_count(2)
    running = links.evaluate_all("all => all.map(link => link.outerHTML)")
    _Handler.going.set()
    chat.finish()
    for page in (chat.page, late):
        expect(page.locator(".answer-tools")).to_be_attached()
        expect(page.locator(".part-final")).to_contain_text("Here it is.")
        assert page.locator(".file-link").evaluate_all("all => all.map(link => link.outerHTML)") == running
    chat.page.reload()
    assert links.evaluate_all("all => all.map(link => link.outerHTML)") == running
    assert _Handler.runs == 2, "the premise: two runs drew the picture, and the last one is shown"
    picture = chat.page.request.get(chat.page.locator(".file-picture").get_attribute("href") or "").body()
    assert picture == png(640, 480, b"\x02\x02\x02")
