"""Search engines: each gets its own request format and key, and its results are parsed."""

import asyncio
import json
from typing import Any

import pytest

from tests.support import environment as changed
from tests.support.tool_calls import RefusedError, ToolTurn
from tests.support.web_servers import page, serving

OFFERED = {"tools": {"browser": ()}, "backend_url": "http://127.0.0.1:9"}

ONE = {"url": "https://tea.example/", "title": "Tea", "content": "About", "description": "About", "text": "About"}


@pytest.mark.parametrize(
    ("name", "answer", "path", "header"),
    [
        ("searxng", {"results": [ONE]}, "/search?q=green+tea&format=json", "Authorization: Bearer k3y"),
        ("brave", {"web": {"results": [ONE, "x", {"url": 1}]}}, "/res/v1/web/search?q=green+tea&count=3", "X-Subscription-Token: k3y"),
        ("tavily", {"results": [ONE]}, "/search", "Authorization: Bearer k3y"),
        ("exa", {"results": [ONE]}, "/search", "x-api-key: k3y"),
    ],
)
async def test_an_engine(name: str, answer: dict[str, Any], path: str, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reply(writer: asyncio.StreamWriter, request: str) -> None:
        writer.write(page(json.dumps(answer).encode(), "application/json"))

    async with serving(reply) as peer:
        changed.change(monkeypatch, {**OFFERED, "search": name, "search_key": "k3y", "search_url": f"http://127.0.0.1:{peer.port}/"})
        found = await ToolTurn().call("browser.search", query="green tea", topn=3)
        assert found.partition("**\n\n")[2].split("\n")[:2] == ["L0: 【0†Tea†tea.example】", "L1: About"] and "【1" not in found
        assert peer.requested == [path] and header.lower() in peer.heads[0].lower()


@pytest.mark.parametrize(
    ("name", "answer", "is_told"),
    [
        ("searxng", {"results": []}, "Nothing was found"),
        ("brave", {"type": "search"}, "Nothing was found"),
        ("searxng", {"error": "all engines are suspended"}, "not available now"),
        ("tavily", {"results": {"0": ONE}}, "not available now"),
        ("exa", [ONE], "not available now"),
        ("brave", {"web": "none"}, "not available now"),
    ],
)
async def test_an_answer_without_a_list_is_not_taken_for_one_without_results(
    name: str, answer: object, is_told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reply(writer: asyncio.StreamWriter, request: str) -> None:
        writer.write(page(json.dumps(answer).encode(), "application/json"))

    async with serving(reply) as peer:
        changed.change(monkeypatch, {**OFFERED, "search": name, "search_key": "k3y", "search_url": f"http://127.0.0.1:{peer.port}/"})
        try:
            told = await ToolTurn().call("browser.search", query="green tea")
        except RefusedError as error:
            told = str(error)
    assert is_told in told


async def test_without_an_engine_pages_can_be_opened_but_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    for values, is_offered in (
        ({"search": "none"}, False), ({"search": "searxng"}, False), ({"search": "exa"}, False),
        ({"search": "exa", "search_key": "k"}, True), ({"search": "searxng", "search_url": "http://search"}, True),
    ):  # fmt: skip
        changed.change(monkeypatch, {**OFFERED, "search": "none", "search_url": "", "search_key": "", **values})
        assert set(ToolTurn().names) == {*(["browser.search"] if is_offered else []), "browser.open", "browser.find"}
