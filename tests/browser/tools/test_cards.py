"""The cards of calls in a real browser name what will happen and who receives what, and are decided with the keyboard alone."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.tools.test_forms import PROGRAM, ScriptedModel
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

CALLS = (
    ("browser_open", {"id": "https://tea.example/green?x=1"}),
    ("browser_search", {"query": "green \u200btea"}),
    ("shop_order", {"n": 3}),
)


class CallingModel(ScriptedModel):
    calls = CALLS


def deployed(at: Path, peer: ThreadingHTTPServer) -> Deployment:
    (at / "shop.py").write_text(PROGRAM)
    command = json.dumps([sys.executable, str(at / "shop.py")])
    (at / "tools.toml").write_text(f'[[mcp]]\nname = "shop"\ncommand = {command}\ntools = ["order"]\n')
    return Deployment(
        at,
        CHATUI_BACKEND_URL=f"http://127.0.0.1:{peer.server_port}/v1",
        CHATUI_TITLES="false",
        CHATUI_TOOLS_FILE=str(at / "tools.toml"),
        CHATUI_TOOLS="shop_order,browser",
        CHATUI_TOOL_COMBINATIONS="any",
        CHATUI_SEARCH="searxng",
        CHATUI_SEARCH_URL="http://search.example",
    )


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product, and a model that calls three tools at once."""
    peer = ThreadingHTTPServer(("127.0.0.1", 0), CallingModel)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    deployment = deployed(tmp_path_factory.mktemp("cards"), peer)
    try:
        server = deployment.start()
        deployment.manage("tools", "--confirm", "shop_order")
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        deployment.stop()
        peer.shutdown()
        peer.server_close()


def test_each_card_says_what_will_happen_live_and_after_a_reload(asking: Server, visits: Visits) -> None:
    chat = Chat(visits.open(asking, "ada"))
    page = chat.page
    chat.ask("What is on tea.example/green?x=1 ?")
    cards = page.locator("[data-waiting]")
    expect(cards).to_have_count(3)
    for _ in ("live", "after a reload"):
        expect(cards.get_by_role("heading")).to_have_text(["Open this page?", "Search the web?", "Allow “shop · Order”?"])
        expect(cards.locator(".approval-receiver")).to_have_text([
            "tea.example will receive the address that you see.",
            "search.example will receive these words.",
            "shop will receive what you see.",
        ])  # fmt: skip
        expect(cards.locator("dt")).to_have_text(["Address", "Words", "n"])
        expect(cards.locator("pre")).to_have_text(["https://tea.example/green?x=1", "green \\u200btea", "3"])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.reload()
    for waiting in (2, 1, 0):
        button = cards.first.get_by_role("button", name="Decline")
        button.focus()
        page.keyboard.press("Enter")
        expect(cards).to_have_count(waiting)
        page.wait_for_timeout(450)  # a click just after a change may be meant for what was there before
    chat.finish()
    done = page.locator("[data-decided] summary")
    words = ["Read web pages (tea.example)", "Search the web (search.example)", "shop · Order"]
    expect(done).to_have_text([f"{each} · You declined this call." for each in words])
