"""Citations of opened pages become links, during streaming and afterwards, and nothing but links."""

import re

import pytest

from renderer.gate import VisibleText
from renderer.markup import html
from renderer.markup.citations import CitableSource, Pages, cited
from renderer.markup.growing import BlockClosed, BlockOpen, GrowingMarkdown

TEA = CitableSource("https://www.tea.example/green?a=1&b=2", 'Green "tea" <b>')
PAGES = {
    0: CitableSource("", "Results"),
    3: TEA,
    4: CitableSource("javascript:alert(1)", "x"),
    5: CitableSource("https://x.example/)](https://e.example", "y"),
}
LINK = 'href="https://www.tea.example/green?a=1&amp;b=2"'


def rendered(text: str, pages: dict[int, CitableSource] = PAGES) -> str:
    return "".join(block.html for block in html.render_blocks(text, pages=pages))


@pytest.mark.parametrize("written", ["【3†L1-L4】", "【3†L8】", "【3†source】", "〖3†L1-L4〗"])
def test_a_citation_is_a_link_to_the_page_that_was_opened(written: str) -> None:
    shown = rendered(f"Tea is hot{written}.")
    assert LINK in shown and 'rel="noopener noreferrer nofollow ugc"' in shown and ">tea.example</a>." in shown
    assert 'title="Green &quot;tea&quot; &lt;b&gt;"' in shown or "title='" in shown or "Green" in shown
    assert "【" not in shown and "〖" not in shown


@pytest.mark.parametrize("written", ["【0†L1】", "【4†L1】", "【9†L1】", "【999999†L1】"])
def test_a_citation_that_leads_nowhere_is_left_out(written: str) -> None:
    assert rendered(f"Tea{written}.") == rendered("Tea.")


@pytest.mark.parametrize("written", ["【3】", "【注意】", "`【3†L1】`", "\n\n```\n【3†L1】\n```\n", "【1234567†L1】"])
def test_other_brackets_and_code_stay_as_they_are(written: str) -> None:
    assert rendered(f"Tea {written}.") == rendered(f"Tea {written}.", {}) and "citation" not in rendered(f"Tea {written}.")


def test_without_opened_pages_a_citation_is_text() -> None:
    assert "【3†L1】" in rendered("Tea【3†L1】.", {})


def test_a_citation_inside_a_link_adds_no_link() -> None:
    assert rendered("[Tea【3†L1】](https://a.example)").count("<a ") == 1


def test_an_odd_address_stays_one_address() -> None:
    shown = rendered("Tea【5†L1】.")
    assert shown.count("<a ") == 1 and ">x.example</a>" in shown and 'href="https://e.example' not in shown


def test_an_incomplete_citation_is_held_back_and_the_end_is_the_same() -> None:
    text = "Tea is **hot【3†L1-L4】** and green【9†L1】 at 【12月】 all times 【3†L9】."
    growing = GrowingMarkdown(PAGES)
    shown = []
    for character in text:
        growing.feed(VisibleText(character))
        tail = growing.tail()
        if isinstance(tail, BlockOpen):
            shown.append(tail.html.html)
    assert shown and not any("†" in each for each in shown)
    assert any(LINK in each for each in shown[:-5])
    [closed] = [event for event in growing.finish(is_cut=False) if isinstance(event, BlockClosed)]
    assert closed.html.html == rendered(text) and closed.html.html.count("<a ") == 2


def test_pages_opened_while_the_answer_is_written_can_be_cited() -> None:
    pages: dict[int, CitableSource] = {}
    growing = GrowingMarkdown(pages)
    pages[3] = TEA
    growing.feed(VisibleText("Tea【3†L1】."))
    growing.finish(is_cut=False)
    assert LINK in growing.html()[0].html


def test_the_number_of_citation_links_is_limited() -> None:
    assert rendered("Tea" + "【3†L1】" * 500).count("<a ") == 100


def test_sources_are_the_cited_pages_each_once_in_order() -> None:
    other = CitableSource("https://o.example/", "Other")
    assert cited("【7†L1】【3†L1】【7†L3】【0†L1】【4†L1】", {**PAGES, 7: other}) == [other, TEA]


_KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"
_HERE = f"/documents/{_KEY}/1/#here"


@pytest.mark.parametrize("pages", [None, {0: CitableSource("/settings/", "x"), 3: CitableSource(_HERE, "notes.pdf")}])
@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "/\\evil.example",
        "/documents/..%2f",
        "/documents/../sign-out/",
        "/documents/\n1",
        "&#x2f;/evil.example",
        "https:/settings/",
        "http:///settings/",
        "?q=x",
        "#here",
        _HERE,
        _HERE.upper(),
        f"{_HERE}x",
        f"/{_HERE}",
        f"/documents/{_KEY}/\uff11/#here",
    ],
)
def test_no_citation_links_to_our_own_pages_or_to_an_address_without_a_scheme(address: str, pages: Pages | None) -> None:
    forms = (
        "[a](%s)",
        "[a](<%s>)",
        "[a][r]\n\n[r]: <%s>",
        "![a](%s)",
        "<%s>",
        '<a href="%s">a</a>',
        '<base href="%s">',
        '<svg><a xlink:href="%s">a</a></svg>',
        "x[^1]\n\n[^1]: [a](%s)",
        "| a |\n| - |\n| [a](%s) |",
        "【0†L1】 【9†%s】",
    )
    for form in forms:
        shown = "".join(map(str, html.render_blocks(form.replace("%s", address), pages=pages)))
        assert not re.search(r"<[^>]*\b(?:href|src)=", shown), (form, shown)
    assert html.permitted("a", "href", _HERE) and not html.permitted("a", "href", _HERE.upper()), "the one form that a citation has"


@pytest.mark.parametrize("title", ["rules.txt", 'a "b" > <i> & c.pdf, page 3', "규칙 〖1〗.pdf"])
@pytest.mark.parametrize(
    "text", ["*So*【0†L0】, and【3†L1】.", "- `x`【0†L0】【0†L1-L2】\n- b", "| a |\n| - |\n| c【0†L0】 |", "**【0†L0】**\n\n> 【3†L1】"]
)
def test_a_block_without_the_citations_of_a_passage_is_as_if_rendered_without_its_title(text: str, title: str) -> None:
    pages = PAGES | {0: CitableSource(_HERE, title)}
    named = html.render_blocks(text, pages=pages)
    assert _HERE in "".join(block.html for block in named), "the premise"
    assert tuple(html.without_citations(block, {_HERE}) for block in named) == html.render_blocks(
        text, pages=pages | {0: CitableSource(_HERE, "")}
    )
    assert tuple(html.without_citations(block, {"/documents/other"}) for block in named) == named
