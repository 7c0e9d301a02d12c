"""A tool's server speaks to the person in a real browser: its progress, a text for the person alone, and a form."""

import json
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

PROGRAM = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
FORM = {"type": "object", "required": ["size"], "properties": {
    "size": {"type": "integer", "title": "Size", "minimum": 1}, "note": {"type": "string", "title": "A note"},
    "colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]}, "gift": {"type": "boolean", "title": "It is a gift"}}}
call = None
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        capabilities = {"tools": {}}
        server = {"name": "s", "version": "1"}
        say(id=message["id"], result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": server})
    elif method == "tools/list":
        say(id=message["id"], result={"tools": [{"name": "order", "description": "Orders a shirt.", "inputSchema": SCHEMA}]})
    elif method == "tools/call":
        call = message["id"]
        token = message["params"]["_meta"]["progressToken"]
        say(method="notifications/progress", params={"progressToken": token, "progress": 1, "total": 4, "message": "Looking at sizes"})
        say(id="ask", method="elicitation/create", params={"message": "Which shirt shall it be?", "requestedSchema": FORM})
    elif message.get("id") == "ask":
        said = {"type": "text", "text": "Your order is number 1701.", "annotations": {"audience": ["user"]}}
        say(id=call, result={"content": [said, {"type": "text", "text": json.dumps(message.get("result"))}]})
    elif "id" in message and method:
        say(id=message["id"], result={})
"""


def said(text: str) -> list[dict[str, Any]]:
    """The choices of a stream with this answer."""
    return [{"delta": {"content": text}}, {"delta": {}, "finish_reason": "stop"}]


def called(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The choices of a stream with these calls, each of a tool and its arguments."""
    made = [
        {"index": at, "id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for at, (name, given) in enumerate(calls)
    ]
    return [{"delta": {"tool_calls": made}}, {"delta": {}, "finish_reason": "tool_calls"}]


class ScriptedModel(BaseHTTPRequestHandler):
    """A model that calls these tools once, and then says what the last of them returned."""

    calls: Sequence[tuple[str, dict[str, Any]]] = (("shop_order", {}),)

    def do_GET(self) -> None:
        self._answer(json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode())

    def do_POST(self) -> None:
        chunks = self.chunks(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"])
        data = "".join(f"data: {json.dumps({'id': 'x', 'choices': [{'index': 0, **each}]})}\n\n" for each in chunks)
        self._answer(f"{data}data: [DONE]\n\n".encode(), "text/event-stream")

    def chunks(self, messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The choices of a stream that answers these messages."""
        if replies := [message["content"] for message in messages if message["role"] == "tool"]:
            return said(f"It said {replies[-1]}")
        return called(*self.calls)

    def _answer(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with that model, and a server that may speak to people."""
    at = tmp_path_factory.mktemp("shop")
    (at / "shop.py").write_text(PROGRAM)
    command = json.dumps([sys.executable, str(at / "shop.py")])
    (at / "tools.toml").write_text(f'[[mcp]]\nname = "shop"\ncommand = {command}\ntools = ["order"]\nspeaks_to_person = true\n')
    peer = ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    deployment = Deployment(
        at,
        CHATUI_BACKEND_URL=f"http://127.0.0.1:{peer.server_port}/v1",
        CHATUI_TITLES="false",
        CHATUI_TOOLS_FILE=str(at / "tools.toml"),
        CHATUI_TOOLS="shop_order",
        CHATUI_TOOLS_WITHOUT_APPROVAL="shop_order",
    )
    try:
        server = deployment.start()
        deployment.manage("tools", "--confirm", "shop_order")
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        deployment.stop()
        peer.shutdown()
        peer.server_close()


def test_a_form_survives_a_reload_and_a_text_for_the_person_stays(shop: Server, visits: Visits) -> None:
    chat = Chat(visits.open(shop, "ada"))
    chat.ask("A shirt, please")
    form = chat.page.locator("[data-form]")
    expect(form.get_by_role("heading")).to_have_text(re.compile("“shop” asks you"))
    expect(form).to_contain_text("Which shirt shall it be?")
    expect(form).to_contain_text("Never write a password")
    expect(form).to_contain_text("Without an answer, the form is closed in 10 minutes.")
    chat.page.reload()
    expect(form).to_have_count(1)
    other = visits.open(shop, "ada", chat.page.url)
    expect(other.locator("[data-form]")).to_have_count(1)
    form.get_by_label("A note").fill("by Friday")
    form.get_by_role("button", name="Send").click()
    assert form.get_by_label("Size").evaluate("field => field.validity.valueMissing"), "the browser asks for what is missing"
    form.get_by_label("Size").fill("3")
    form.get_by_role("group", name="Colour").get_by_label("blue").check()
    form.get_by_label("It is a gift").check()
    form.get_by_role("button", name="Send").click()
    chat.finish()
    answer = '"size": 3, "note": "by Friday", "colour": "blue", "gift": true'
    expect(chat.last.locator(".part-final")).to_contain_text(answer)
    for page in (chat.page, other):
        expect(page.locator("[data-decided] summary")).to_have_text(re.compile("shop · You sent your answer."))
        expect(page.locator("[data-told]")).to_contain_text("Your order is number 1701.")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(chat.last.locator(".part-final")).not_to_contain_text("1701")
    chat.page.reload()
    expect(chat.page.locator("[data-told]")).to_contain_text("Your order is number 1701.")
    expect(chat.page.locator("[data-form]")).to_have_count(0)
