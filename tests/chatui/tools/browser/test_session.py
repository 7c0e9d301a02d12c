"""The browser as gpt-oss was trained with it. It opens only addresses that the user wrote or a page showed, none that the model made up."""

from __future__ import annotations

import time

import pytest

from chatui.tools.browser.session import AllowedAddresses
from chatui.tools.tool import ToolError
from renderer.markup.citations import CitableSource
from tests.chatui.tools.browser.browsing import SECRET, browser, set_up, web
from tests.chatui.tools.peers import answers, page, serving

pytestmark = pytest.mark.asyncio


async def test_search_open_and_find_with_cursors_and_numbered_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = browser(peer)
        found = await session.search(SECRET)
        assert found.startswith(f"[0] Search results for: {SECRET}\n**viewing lines [0 - ")
        assert "L0: 【0†Tea 〖0‡trap〗†tea.example】\nL1: A page about tea.\n" in found and "【1†Black†tea.example】" in found
        assert "echo" not in found and "javascript" not in found and peer.requested == [f"/search?q={SECRET.replace(' ', '+')}&format=json"]
        opened = await session.open(id=0)
        lines = opened.split("\n")
        assert lines[0] == f"[1] All about tea (http://tea.example:{peer.port}/tea)" and lines[1] == "**viewing lines [0 - 3] of 3**"
        assert lines[3:6] == ["L0: # Tea", "L1: ", "L2: Green tea is not roasted. 【0†Black tea】, 【1†milk†other.example】 and"]
        matches = await session.find(pattern="NOT ROASTED")
        assert f"[2] Find results for text: `NOT ROASTED` in `All about tea` (http://tea.example:{peer.port}/tea)" in matches
        assert "# 【0†match at L2】" in matches
        assert (await session.open(id=0, cursor=2)).split("\n")[3].startswith("L2: Green tea")
        assert "Nothing but black." in await session.open(id=0, cursor=1)
        assert session.turn.pages[0] == CitableSource("", "") and session.turn.pages[1] == CitableSource(
            f"http://tea.example:{peer.port}/tea", "All about tea"
        )
        assert session.turn.pages[2] == session.turn.pages[1], "the search term is not shown"
        assert SECRET not in str(session.turn.pages)


async def test_a_long_page_is_shown_in_windows() -> None:
    async with web() as peer:
        session = browser(peer, f"Read http://tea.example:{peer.port}/long, please.")
        first = await session.open(id=f"http://tea.example:{peer.port}/long")
        assert "of 999**" in first and "L0: Line 0\n" in first and len(first) < 5000 and "L900" not in first
        assert "**viewing lines [900 - 904] of 999**" in await session.open(loc=900, num_lines=5)
        assert "L999: Line 999" in await session.open(cursor=0, loc=5000)


async def test_only_written_or_shown_addresses_are_opened() -> None:
    async with web() as peer:
        tea = f"http://tea.example:{peer.port}"
        session = browser(peer, f"What does {tea}/tea say? Not ({tea}/black).")
        for made_up in (f"{tea}/tea?{SECRET}".replace(" ", "%20"), f"{tea}/", f"http://evil.example:{peer.port}/tea", "file:///etc/passwd"):
            with pytest.raises(ToolError, match="can be opened"):
                await session.open(id=made_up)
        assert peer.requested == []
        await session.open(id=f"{tea}/black")
        await session.open(id=f"{tea}/tea#part")
        with pytest.raises(ToolError, match=r"could not be loaded|cannot be opened"):
            await session.open(id=2)
        assert "Nothing but milk" in await session.open(id=1, cursor=1), "its address was shown"
        assert peer.requested == ["/black", "/tea", "/milk?x=1"]


async def test_the_models_spelling_of_an_address_is_not_sent() -> None:
    async with web() as peer:
        session = browser(peer, f"What does http://tea.example:{peer.port}/tea say?")
        for spelled in (f"HTTP://TEA.example:{peer.port}/tea///////", f"http://tea.example:{peer.port}/tea/#{'x' * 50}"):
            await session.open(id=spelled)
        assert peer.requested == ["/tea", "/tea"] and {page.url for page in session.turn.pages.values()} == {
            f"http://tea.example:{peer.port}/tea"
        }


async def test_an_address_without_a_scheme_counts_as_written() -> None:
    allowed = AllowedAddresses(["See example.org/a, https://Example.com. and «http://b.example/x?y=1»!"])
    addresses = ["https://example.org/a", "http://example.org/a/", "https://example.com", "http://b.example/x?y=1#z"]
    assert all(map(allowed.permitted, addresses))
    assert not any(
        map(allowed.permitted, ["https://example.org/", "https://example.org/ab", "https://b.example/x", "https://b.example/X?y=1"])
    )


async def test_scanning_a_question_takes_bounded_time() -> None:
    started = time.monotonic()
    for hostile in (
        "a" * 64_000,
        "a." * 32_000,
        "a-" * 32_000,
        "http://" * 9_000,
        "a.b/" * 16_000,
        "http://a.bc/(" * 5_000,
        "é。" * 32_000,
    ):
        AllowedAddresses([hostile] * 5)
    assert time.monotonic() - started < 10


async def test_pages_of_earlier_answers_can_be_reopened_and_cursors_continue() -> None:
    async with web() as peer:
        session = browser(peer)
        session.turn.pages.update({0: CitableSource("", ""), 4: CitableSource(f"http://tea.example:{peer.port}/tea", "Tea")})
        session = type(session)(session.turn, session.env, session.fetcher)
        assert (await session.open(cursor=4)).startswith("[5] All about tea")
        for gone in (0, 3):
            with pytest.raises(ToolError, match="no page with the cursor"):
                await session.open(cursor=gone)


async def test_invalid_calls_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = browser(peer)
        with pytest.raises(ToolError, match="No page is open"):
            await session.open(id=0)
        await session.search("tea")
        for wrong in (session.open(id=7), session.find("x"), session.search(" "), session.open(id="12")):
            with pytest.raises(ToolError):
                await wrong


async def test_a_failing_search_engine_fails_the_call_without_revealing_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for whole in (page(b"{}", "application/json", "500 No"), page(b"<html>"), page(b"[1]"), page(b'{"a":1}' + b" " * 2_000_000)):
        async with serving(answers(whole)) as peer:
            set_up(monkeypatch, peer)
            with pytest.raises(ToolError, match="not available"):
                await browser(peer).search("tea")
