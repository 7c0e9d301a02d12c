"""The operator's pages: rich syntax from a trusted author, but nothing that is not on the allow-list."""

import re

import pytest

from renderer.markup import operator_pages
from renderer.markup.html import plain
from renderer.markup.operator_pages import render_page
from tests.support.cost import costs_at_most


def shown(text: str) -> str:
    """The content of a page."""
    return render_page(text).html.removeprefix('<div class="page" dir="auto">').removesuffix("</div>")


def test_a_page_has_what_operators_write() -> None:
    page = shown("# Help\n\nSome *text*, `code` and a [link](https://a.example).\n\n- one\n- two\n\n| a | b |\n|:--|---|\n| 1 | 2 |\n")
    for part in ("Help</h1>", "<em>text</em>", "<code>code</code>", "<li>one</li>", '<td align="left">1</td>'):
        assert part in page


def test_code_keeps_its_language() -> None:
    assert '<pre><code class="language-sh">ls &lt;a&gt;\n</code></pre>' in shown("```sh\nls <a>\n```\n")


def test_a_table_of_contents_leads_to_the_headings() -> None:
    page = shown("[TOC]\n\n## First *part*\n\n### Détails\n\n## First part\n\n## 二\n\n## 三\n")
    targets = re.findall(r'href="#([^"]+)"', page)
    assert len(targets) == len(set(targets)) == 5
    assert targets == re.findall(r'<a class="anchor" id="([^"]+)"></a>', page)
    assert all(target.startswith("md-") for target in targets)
    assert not re.search(r"<h\d[^>]* id=", page)


def test_links_within_the_page_stay_in_it_and_others_open_in_a_new_tab() -> None:
    page = shown("[TOC]\n\n## Part\n\n[out](https://a.example)")
    assert '<a href="#md-part">Part</a>' in page
    assert '<a href="https://a.example" rel="noopener noreferrer nofollow ugc" target="_blank">out</a>' in page


def test_an_admonition_has_its_kind_and_its_title() -> None:
    page = shown('!!! warning "Take *care*"\n    of this\n')
    assert '<div class="admonition warning">' in page
    assert '<div class="admonition-title">Take <em>care</em></div>' in page
    assert "<p>of this</p>" in page


def test_a_picture_becomes_a_link() -> None:
    page = shown("![a cat](https://pictures.example/c.png)")
    assert ">image: a cat (pictures.example)</a>" in page
    assert "<img" not in page


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<b onclick=alert(1)>x</b>",
        "<iframe src=https://a.example></iframe>",
        "<p style='color:red' id=cookie class=block-me>x</p>",
        "[a](javascript:alert(1))",
        "<a href='data:text/html,x'>a</a>",
        "<a href='#cookie' id='cookie' class='button'>a</a>",
        "<a href='//a.example'>a</a>",
        '!!! note onclick=x "y"\n    z',
        '!!! sign-in-form "y"\n    z',
        "<input type=text name=q>",
        "<form action=https://a.example><button>x</button></form>",
        "<style>p{color:red}</style>",
        "<svg onload=alert(1)></svg>",
        "<math><mi xlink:href=javascript:x>y</mi></math>",
    ],
)
def test_markup_that_is_not_on_the_allow_list_is_neutralized(text: str) -> None:
    tags = re.findall(r"<([a-z0-9]+)((?:[^>\"]|\"[^\"]*\")*)>", shown(text))
    attributes = [(tag, *pair) for tag, rest in tags for pair in re.findall(r'([a-z-]+)="([^"]*)"', rest)]
    assert not {tag for tag, _ in tags} & {"script", "iframe", "style", "svg", "math", "form", "button", "img", "input"}
    for tag, attribute, value in attributes:
        assert operator_pages.permitted(tag, attribute, value) or attribute in ("rel", "target")
    assert not {attribute for _, attribute, _ in attributes} & {"onclick", "style", "name", "src"}
    assert "javascript" not in " ".join(value for _, attribute, value in attributes if attribute == "href")


def test_harmless_raw_html_works_for_the_operator() -> None:
    assert shown("Press <kbd>Enter</kbd>.") == "<p>Press <kbd>Enter</kbd>.</p>"


def test_direction_controls_are_left_out() -> None:
    assert shown("a\u202eb") == "<p>ab</p>"


@pytest.mark.parametrize("text", ["a\n" * 5000, "[" * 2000, "x" * 200_000])
def test_a_page_that_is_too_large_is_plain_text(text: str) -> None:
    assert render_page(text) == plain(text)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["[", "[a](", "# a\n", "```\n", "*a ", "|a", "\n\n!!! a\n    "])
def test_no_page_takes_long(unit: str) -> None:
    text = unit * min(20_000, 4000 // max(1, unit.count("\n")), 1000 // unit.count("[") if "[" in unit else 20_000)
    assert costs_at_most(5000, lambda: render_page(text))


@pytest.mark.parametrize("name", ["_markdown", "_cleaner"])
def test_a_page_that_cannot_be_rendered_is_plain_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RecursionError

    monkeypatch.setattr(operator_pages, name, fail)
    assert render_page("a <script> *b*") == plain("a <script> *b*")
