"""The tool browser in tests, with a web and a search engine on loopback in place of the internet."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.support import environment as changed
from tests.support import internet
from tests.support.tool_calls import ToolTurn
from tests.support.web_servers import Peer, answers, page, serving

TEA = """<title>All about tea</title><h1>Tea</h1><p>Green tea is <b>not</b> roasted.
<a href="/black">Black tea</a>, <a href="http://other.example/milk?x=1">milk</a> and <a href="http://10.0.0.1/">inside</a></p>"""
SECRET = "the reasoning of the model"


@asynccontextmanager
async def web() -> AsyncIterator[Peer]:
    """Serves pages about tea, and SearXNG with two of them, a page that echoes the query, and an invalid one."""

    async def answer(writer: asyncio.StreamWriter, path: str) -> None:
        if path.startswith("/search?"):
            found = [
                {"url": "http://tea.example/tea", "title": "Tea 【0†trap】", "content": "A page\nabout tea."},
                {"url": f"http://find.example/?{path.partition('?')[2]}", "title": "echo", "content": ""},
                {"url": "javascript:alert(1)", "title": "no", "content": ""},
                {"url": "http://tea.example/black", "title": "Black", "content": ""},
            ]
            writer.write(page(json.dumps({"results": found}).encode(), "application/json"))
        elif path == "/tea":
            writer.write(page(TEA.encode(), "text/html; charset=utf-8"))
        elif path == "/long":
            writer.write(page("\n".join(f"Line {number}" for number in range(1000)).encode(), "text/plain"))
        else:
            writer.write(page(f"<p>Nothing but {path.strip('/')}.</p>".encode()))

    async with serving(answer) as peer:
        yield peer


def set_up(monkeypatch: pytest.MonkeyPatch, peer: Peer) -> None:
    """Configure SearXNG at this peer, which is the whole internet, too."""
    values = {
        "search": "searxng",
        "search_url": f"http://127.0.0.1:{peer.port}",
        "tools": {"browser": ()},
        "backend_url": "http://127.0.0.1:9",
    }
    changed.change(monkeypatch, {**values, "tools_without_approval": ["browser"]})
    internet.lead_to(monkeypatch, peer.port)


@dataclass(frozen=True)
class Shown:
    """A page as the model has read all of it."""

    title: str
    lines: tuple[str, ...]
    turn: ToolTurn

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def leads_to(self, link: int) -> str:
        """Which address a link of the page has, as the person is asked about it. Raises RefusedError: there is no such link."""
        arguments, _ = self.turn.foreseen("browser.open", id=link)
        return str(arguments["id"])


_WINDOW = re.compile(r"\[\d+\] (.*?)(?: \(http[^)]*\))?\n\*\*viewing lines \[(\d+) - (\d+)\] of (\d+)\*\*\n\n(.*)", re.DOTALL)


async def opened(body: str | bytes, kind: str = "text/html", charset: str = "", path: str = "/a/b") -> Shown:
    """What a model reads of this page of www.tea.example, in as many calls as it takes. Raises RefusedError: it cannot be read."""
    raw = body.encode() if isinstance(body, str) else body
    content_type = f"{kind}; charset={charset}" if charset else kind
    with pytest.MonkeyPatch.context() as patch:
        async with serving(answers(page(raw, content_type))) as peer:
            set_up(patch, peer)
            url = f"http://www.tea.example{path}"
            turn, lines, title, last = ToolTurn((url,)), list[str](), "", 0
            said = await turn.call("browser.open", id=url)
            while True:
                found = _WINDOW.fullmatch(said)
                assert found is not None, said[:200]
                title, end, last = found[1], int(found[3]), int(found[4])
                lines += [line.partition(": ")[2] for line in found[5].split("\n")]
                if end >= last:
                    return Shown(title, tuple(lines), turn)
                said = await turn.call("browser.open", loc=end + 1)
