"""The browser as gpt-oss was trained with it: only addresses that the user wrote or a page showed, and any page as text in bounded time."""

import time
from typing import Any

import pytest

from chatui.documents import reading
from renderer.markup.citations import CitableSource
from tests.chatui.documents.worker import begin_with, change_program, unconfined
from tests.support import environment as changed
from tests.support.browsing import SECRET, Shown, opened, set_up, web
from tests.support.limits import limit
from tests.support.tool_calls import RefusedError, ToolTurn
from tests.support.web_servers import answers, page, serving

WIDTH = limit("chatui.documents.inside", "WIDTH")


async def test_search_open_and_find_with_cursors_and_numbered_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = ToolTurn()
        found = await session.call("browser.search", query=SECRET)
        assert found.startswith(f"[0] Search results for: {SECRET}\n**viewing lines [0 - ")
        assert "L0: 【0†Tea 〖0‡trap〗†tea.example】\nL1: A page about tea.\n" in found and "【1†Black†tea.example】" in found
        assert "echo" not in found and "javascript" not in found and peer.requested == [f"/search?q={SECRET.replace(' ', '+')}&format=json"]
        opened = await session.call("browser.open", id=0)
        lines = opened.split("\n")
        assert lines[0] == "[1] All about tea (http://tea.example/tea)" and lines[1] == "**viewing lines [0 - 3] of 3**"
        assert lines[3:6] == ["L0: # Tea", "L1: ", "L2: Green tea is not roasted. 【0†Black tea】, 【1†milk†other.example】 and"]
        matches = await session.call("browser.find", pattern="NOT ROASTED")
        assert "[2] Find results for text: `NOT ROASTED` in `All about tea` (http://tea.example/tea)" in matches
        assert "# 【0†match at L2】" in matches
        assert (await session.call("browser.open", id=0, cursor=2)).split("\n")[3].startswith("L2: Green tea")
        assert "Nothing but black." in await session.call("browser.open", id=0, cursor=1)
        assert session.pages[0] == CitableSource("", "") and session.pages[1] == CitableSource("http://tea.example/tea", "All about tea")
        assert session.pages[2] == session.pages[1], "the search term is not shown"
        assert SECRET not in str(session.pages)


async def test_a_long_page_is_shown_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = ToolTurn(("Read http://tea.example/long, please.",))
        first = await session.call("browser.open", id="http://tea.example/long")
        assert "of 999**" in first and "L0: Line 0\n" in first and len(first) < 5000 and "L900" not in first
        assert "**viewing lines [900 - 904] of 999**" in await session.call("browser.open", loc=900, num_lines=5)
        assert "L999: Line 999" in await session.call("browser.open", cursor=0, loc=5000)


async def test_only_written_or_shown_addresses_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        tea = "http://tea.example"
        session = ToolTurn((f"What does {tea}/tea say? Not ({tea}/black).",))
        for made_up in (f"{tea}/tea?{SECRET}".replace(" ", "%20"), f"{tea}/", "http://evil.example/tea", "file:///etc/passwd"):
            with pytest.raises(RefusedError, match="can be opened"):
                await session.call("browser.open", id=made_up)
        assert peer.requested == []
        await session.call("browser.open", id=f"{tea}/black")
        await session.call("browser.open", id=f"{tea}/tea#part")
        with pytest.raises(RefusedError, match=r"could not be loaded|cannot be opened"):
            await session.call("browser.open", id=2)
        assert "Nothing but milk" in await session.call("browser.open", id=1, cursor=1), "its address was shown"
        assert peer.requested == ["/black", "/tea", "/milk?x=1"]


async def test_the_models_spelling_of_an_address_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = ToolTurn(("What does http://tea.example/tea say?",))
        for spelled in ("HTTP://TEA.example/tea///////", f"http://tea.example/tea/#{'x' * 50}"):
            await session.call("browser.open", id=spelled)
        assert peer.requested == ["/tea", "/tea"] and {page.url for page in session.pages.values()} == {"http://tea.example/tea"}


def test_an_address_without_a_scheme_counts_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    changed.change(monkeypatch, {"tools": {"browser": ()}, "backend_url": "http://127.0.0.1:9"})
    turn = ToolTurn(("See example.org/a, https://Example.com. and «http://b.example/x?y=1»!",))
    for address in ("https://example.org/a", "http://example.org/a/", "https://example.com", "http://b.example/x?y=1#z"):
        turn.foreseen("browser.open", id=address)
    for address in ("https://example.org/", "https://example.org/ab", "https://b.example/x", "https://b.example/X?y=1"):
        with pytest.raises(RefusedError, match="can be opened"):
            turn.foreseen("browser.open", id=address)


def test_scanning_a_question_takes_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    changed.change(monkeypatch, {"tools": {"browser": ()}, "backend_url": "http://127.0.0.1:9"})
    started = time.process_time()
    for hostile in (
        "a" * 64_000,
        "a." * 32_000,
        "a-" * 32_000,
        "http://" * 9_000,
        "a.b/" * 16_000,
        "http://a.bc/(" * 5_000,
        "é。" * 32_000,
    ):
        with pytest.raises(RefusedError, match="can be opened"):
            ToolTurn((hostile,) * 5).foreseen("browser.open", id="https://tea.example/")
    assert time.process_time() - started < 10


async def test_pages_of_earlier_answers_can_be_reopened_and_cursors_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = ToolTurn(pages={0: CitableSource("", ""), 4: CitableSource("http://tea.example/tea", "Tea")})
        assert (await session.call("browser.open", cursor=4)).startswith("[5] All about tea")
        for gone in (0, 3):
            with pytest.raises(RefusedError, match="no page with the cursor"):
                await session.call("browser.open", cursor=gone)


async def test_invalid_calls_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = ToolTurn()
        with pytest.raises(RefusedError, match="No page is open"):
            await session.call("browser.open", id=0)
        await session.call("browser.search", query="tea")
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("open", {"id": 7}), ("find", {"pattern": "x"}), ("search", {"query": " "}), ("open", {"id": "12"}),
        ]  # fmt: skip
        for name, arguments in wrong:
            with pytest.raises(RefusedError):
                await session.call(f"browser.{name}", **arguments)


async def test_a_failing_search_engine_fails_the_call_without_revealing_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for whole in (page(b"{}", "application/json", "500 No"), page(b"<html>"), page(b"[1]"), page(b'{"a":1}' + b" " * 2_000_000)):
        async with serving(answers(whole)) as peer:
            set_up(monkeypatch, peer)
            with pytest.raises(RefusedError, match="not available"):
                await ToolTurn().call("browser.search", query="tea")


def has_no_link(page: Shown) -> bool:
    with pytest.raises(RefusedError, match="no link"):
        page.leads_to(0)
    return True


async def test_text_links_lists_tables_and_code() -> None:
    page = await opened(
        "<title> A \u202e title </title><nav><a href=/x>Home</a></nav><h2>Tea</h2><p>It is <i>hot</i>, "
        "see <a href='https://o.example/p#f'>there 【1†x】</a>.<ul><li>one<li>two</ul><pre>a\n   b</pre><table><tr><td>1<td>2</table>"
    )
    assert page.title == "A title" and [page.leads_to(0), page.leads_to(1)] == ["http://www.tea.example/x", "https://o.example/p"]
    text = page.text
    assert "【0†Home】" in text and "## Tea" in text and "It is hot, see 【1†there 〖1‡x〗†o.example】." in text
    assert "* one" in text and "   b" in text and "| 1 | 2" in text


async def test_invisible_content_is_left_out() -> None:
    hidden = ("<script>SECRET</script><style>SECRET</style><p hidden>SECRET</p><p style='display: none'>SECRET</p><!-- SECRET -->"
              "<template>SECRET</template><p aria-hidden=true>SECRET</p><a href='javascript:SECRET'>plain</a>se\u200ben")  # fmt: skip
    page = await opened(hidden)
    assert "SECRET" not in page.text and "plain" in page.text and "seen" in page.text and has_no_link(page)


async def test_charsets() -> None:
    assert (await opened("<p>Grüße</p>".encode("latin-1"), charset="iso-8859-1")).lines == ("Grüße",)
    assert (await opened("<meta charset=koi8-r><p>чай</p>".encode("koi8-r"))).lines == ("чай",)
    assert (await opened("<p>tea</p>", charset="no-such")).lines == ("tea",)


async def test_plain_text_is_wrapped_and_our_markers_are_removed() -> None:
    page = await opened("【0†x】 " + "word " * 100, "text/plain")
    assert page.lines[0].startswith("〖0‡x〗") and max(map(len, page.lines)) <= WIDTH and has_no_link(page)


@pytest.mark.parametrize("body", ["", "<script>x</script>", "\x00", "<!-- -->"])
async def test_a_page_without_text_says_so(body: str) -> None:
    with pytest.raises(RefusedError):
        await opened(body)


@pytest.mark.parametrize(
    "body",
    ["<div>" * 40_000 + "x", "<a href=/a>x</a>" * 10_000, "<p " + "a=b " * 60_000 + ">x", "<" * 200_000, "<table>" * 10_000 + "x",
     "a" * 2_000_000, "<b>" * 20_000 + "x", "<p>x\n\n" * 40_000],
)  # fmt: skip
@pytest.mark.slow
async def test_hostile_pages_give_bounded_text_in_bounded_time(body: str) -> None:
    started = time.process_time()
    try:
        page = await opened(body)
    except RefusedError:
        page = None
    assert time.process_time() - started < 20
    if page is not None:
        assert sum(map(len, page.lines)) <= 700_000
        with pytest.raises(RefusedError, match="no link"):
            page.leads_to(2000)


async def test_the_process_that_reads_a_page_cannot_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = "html.wrapped = lambda text: [open('/etc/passwd').read()]"
    reading.is_confined()
    change_program(monkeypatch, begin_with(f"from chatui.documents.inside import html; {opening}"))
    with pytest.raises(RefusedError):
        await opened("<p>tea", "text/plain")
    change_program(monkeypatch, unconfined)
    assert "root" in str((await opened("<p>tea", "text/plain")).lines), "the premise"


async def test_without_confinement_no_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await opened("<p>tea")).lines == ("tea",), "the premise"
    monkeypatch.setattr(reading, "is_confined", lambda: False)
    with pytest.raises(RefusedError, match="cannot be read"):
        await opened("<p>tea")
