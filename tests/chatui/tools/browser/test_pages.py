"""Converting web pages to text: visible content with links, without hidden elements, in bounded time for any page."""

from __future__ import annotations

import time

import pytest

from chatui.documents import reading
from chatui.documents.inside.html import WIDTH
from chatui.tools.browser import pages
from chatui.tools.browser.pages import TextPage
from chatui.tools.fetcher import FetchedPage, FetchError

pytestmark = pytest.mark.asyncio


async def read(body: str | bytes, kind: str = "text/html", charset: str = "") -> TextPage:
    raw = body.encode() if isinstance(body, str) else body
    return await pages.read(FetchedPage("https://www.tea.example/a/b", kind, charset, raw))


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
    ["<div>" * 200_000 + "x", "<a href=/a>x</a>" * 50_000, "<p " + "a=b " * 300_000 + ">x", "<" * 1_000_000, "<table>" * 50_000 + "x",
     "a" * 2_000_000, "<b>" * 100_000 + "x", "&#x10ffff;" * 200_000, "<p>x\n\n" * 200_000],
)  # fmt: skip
@pytest.mark.slow
async def test_hostile_pages_give_bounded_text_in_bounded_time(body: str) -> None:
    started = time.monotonic()
    try:
        page = await read(body)
    except FetchError:
        page = None
    assert time.monotonic() - started < 30
    assert page is None or (sum(map(len, page.lines)) <= 700_000 and len(page.links) <= 2000)


async def test_the_process_that_reads_a_page_cannot_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = "html.decoded = lambda *given: open('/etc/passwd').read()"
    changed = reading._PROGRAM.replace("worker.main()", f"from chatui.documents.inside import html; {opening}; worker.main()")
    reading.is_confined()
    monkeypatch.setattr(reading, "_PROGRAM", changed)
    with pytest.raises(FetchError):
        await read("<p>tea", "text/plain")
    monkeypatch.setattr(reading, "_PROGRAM", changed.replace("worker.main()", "worker.sandbox.confine = lambda: None; worker.main()"))
    assert "root" in str((await read("<p>tea", "text/plain")).lines), "the premise"


async def test_without_confinement_no_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await read("<p>tea")).lines == ("tea",), "the premise"
    monkeypatch.setattr(reading, "is_confined", lambda: False)
    with pytest.raises(FetchError, match="cannot be read"):
        await read("<p>tea")
