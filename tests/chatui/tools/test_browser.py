"""The browser as gpt-oss was trained with it: only addresses that the user wrote or a page showed, and any page as text in bounded time."""

import time

import pytest

from chatui.documents import reading
from chatui.documents.inside.html import WIDTH
from chatui.tools import browser
from chatui.tools.browser import AllowedAddresses, TextPage
from chatui.tools.fetcher import FetchedPage, FetchError
from chatui.tools.tool import ToolError
from renderer.markup.citations import CitableSource
from tests.chatui.documents.worker import begin_with, change_program, unconfined
from tests.chatui.tools.browsing import SECRET, browser_of, set_up, web
from tests.chatui.tools.peers import answers, page, serving


async def test_search_open_and_find_with_cursors_and_numbered_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = browser_of(peer)
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
        session = browser_of(peer, f"Read http://tea.example:{peer.port}/long, please.")
        first = await session.open(id=f"http://tea.example:{peer.port}/long")
        assert "of 999**" in first and "L0: Line 0\n" in first and len(first) < 5000 and "L900" not in first
        assert "**viewing lines [900 - 904] of 999**" in await session.open(loc=900, num_lines=5)
        assert "L999: Line 999" in await session.open(cursor=0, loc=5000)


async def test_only_written_or_shown_addresses_are_opened() -> None:
    async with web() as peer:
        tea = f"http://tea.example:{peer.port}"
        session = browser_of(peer, f"What does {tea}/tea say? Not ({tea}/black).")
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
        session = browser_of(peer, f"What does http://tea.example:{peer.port}/tea say?")
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
        session = browser_of(peer)
        session.turn.pages.update({0: CitableSource("", ""), 4: CitableSource(f"http://tea.example:{peer.port}/tea", "Tea")})
        session = type(session)(session.turn, session.env, session.fetcher)
        assert (await session.open(cursor=4)).startswith("[5] All about tea")
        for gone in (0, 3):
            with pytest.raises(ToolError, match="no page with the cursor"):
                await session.open(cursor=gone)


async def test_invalid_calls_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web() as peer:
        set_up(monkeypatch, peer)
        session = browser_of(peer)
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
                await browser_of(peer).search("tea")


async def read(body: str | bytes, kind: str = "text/html", charset: str = "") -> TextPage:
    raw = body.encode() if isinstance(body, str) else body
    return browser.read(FetchedPage("https://www.tea.example/a/b", kind, charset, raw))


async def test_text_links_lists_tables_and_code() -> None:
    page = await read(
        "<title> A \u202e title </title><nav><a href=/x>Home</a></nav><h2>Tea</h2><p>It is <i>hot</i>, "
        "see <a href='https://o.example/p#f'>there 【1†x】</a>.<ul><li>one<li>two</ul><pre>a\n   b</pre><table><tr><td>1<td>2</table>"
    )
    assert page.title == "A title" and page.links == ("https://www.tea.example/x", "https://o.example/p")
    text = "\n".join(page.lines)
    assert "【0†Home】" in text and "## Tea" in text and "It is hot, see 【1†there 〖1‡x〗†o.example】." in text
    assert "* one" in text and "   b" in text and "| 1 | 2" in text


async def test_invisible_content_is_left_out() -> None:
    hidden = ("<script>SECRET</script><style>SECRET</style><p hidden>SECRET</p><p style='display: none'>SECRET</p><!-- SECRET -->"
              "<template>SECRET</template><p aria-hidden=true>SECRET</p><a href='javascript:SECRET'>plain</a>se\u200ben")  # fmt: skip
    page = await read(hidden)
    assert "SECRET" not in str((page.lines, page.links)) and "plain" in str(page.lines) and "seen" in str(page.lines) and not page.links


async def test_charsets() -> None:
    assert (await read("<p>Grüße</p>".encode("latin-1"), charset="iso-8859-1")).lines == ("Grüße",)
    assert (await read("<meta charset=koi8-r><p>чай</p>".encode("koi8-r"))).lines == ("чай",)
    assert (await read("<p>tea</p>", charset="no-such")).lines == ("tea",)


async def test_plain_text_is_wrapped_and_our_markers_are_removed() -> None:
    page = await read("【0†x】 " + "word " * 100, "text/plain")
    assert page.lines[0].startswith("〖0‡x〗") and max(map(len, page.lines)) <= WIDTH and page.links == ()


@pytest.mark.parametrize("body", ["", "<script>x</script>", "\x00", "<!-- -->"])
async def test_a_page_without_text_says_so(body: str) -> None:
    with pytest.raises(FetchError):
        await read(body)


@pytest.mark.parametrize(
    "body",
    ["<div>" * 40_000 + "x", "<a href=/a>x</a>" * 10_000, "<p " + "a=b " * 60_000 + ">x", "<" * 200_000, "<table>" * 10_000 + "x",
     "a" * 2_000_000, "<b>" * 20_000 + "x", "<p>x\n\n" * 40_000],
)  # fmt: skip
@pytest.mark.slow
async def test_hostile_pages_give_bounded_text_in_bounded_time(body: str) -> None:
    started = time.monotonic()
    try:
        page = await read(body)
    except FetchError:
        page = None
    assert time.monotonic() - started < 20
    assert page is None or (sum(map(len, page.lines)) <= 700_000 and len(page.links) <= 2000)


async def test_the_process_that_reads_a_page_cannot_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = "html.wrapped = lambda text: [open('/etc/passwd').read()]"
    reading.is_confined()
    change_program(monkeypatch, begin_with(f"from chatui.documents.inside import html; {opening}"))
    with pytest.raises(FetchError):
        await read("<p>tea", "text/plain")
    change_program(monkeypatch, unconfined)
    assert "root" in str((await read("<p>tea", "text/plain")).lines), "the premise"


async def test_without_confinement_no_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await read("<p>tea")).lines == ("tea",), "the premise"
    monkeypatch.setattr(reading, "is_confined", lambda: False)
    with pytest.raises(FetchError, match="cannot be read"):
        await read("<p>tea")
