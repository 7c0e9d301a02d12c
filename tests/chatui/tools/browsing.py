"""A browser for tests, with a web and a search engine on loopback in place of the internet."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import pytest

from chatui.env import environment
from chatui.tools import browser
from chatui.tools.browser import Browser
from chatui.tools.tool import CallingTurn
from tests.chatui.tools.peers import Peer, fetcher, page, serving
from tests.support import environment as changed

TEA = """<title>All about tea</title><h1>Tea</h1><p>Green tea is <b>not</b> roasted.
<a href="/black">Black tea</a>, <a href="http://other.example:{port}/milk?x=1">milk</a> and <a href="http://10.0.0.1/">inside</a></p>"""
SECRET = "the reasoning of the model"


@asynccontextmanager
async def web() -> AsyncIterator[Peer]:
    """Serves pages about tea, and SearXNG with two of them, a page that echoes the query, and an invalid one."""

    async def answer(writer: asyncio.StreamWriter, path: str) -> None:
        if path.startswith("/search?"):
            found = [
                {"url": f"http://tea.example:{peer.port}/tea", "title": "Tea 【0†trap】", "content": "A page\nabout tea."},
                {"url": f"http://find.example/?{path.partition('?')[2]}", "title": "echo", "content": ""},
                {"url": "javascript:alert(1)", "title": "no", "content": ""},
                {"url": f"http://tea.example:{peer.port}/black", "title": "Black", "content": ""},
            ]
            writer.write(page(json.dumps({"results": found}).encode(), "application/json"))
        elif path == "/tea":
            writer.write(page(TEA.format(port=peer.port).encode(), "text/html; charset=utf-8"))
        elif path == "/long":
            writer.write(page("\n".join(f"Line {number}" for number in range(1000)).encode(), "text/plain"))
        else:
            writer.write(page(f"<p>Nothing but {path.strip('/')}.</p>".encode()))

    async with serving(answer) as peer:
        yield peer


def set_up(monkeypatch: pytest.MonkeyPatch, peer: Peer) -> None:
    """Configure SearXNG at this peer, and a fetcher that resolves every name to it."""
    values = {
        "search": "searxng",
        "search_url": f"http://127.0.0.1:{peer.port}",
        "tools": {"browser": ()},
        "backend_url": "http://127.0.0.1:9",
    }
    changed.change(monkeypatch, {**values, "tools_without_approval": ["browser"]})
    new = browser.new_browser
    monkeypatch.setattr(browser, "new_browser", lambda turn: replace(new(turn), fetcher=fetcher(peer)))


def browser_of(peer: Peer, *questions: str) -> Browser:
    """The browser of a turn in which the user wrote these questions."""
    return Browser(CallingTurn(uuid4(), uuid4(), uuid4(), questions), environment(), fetcher(peer))
