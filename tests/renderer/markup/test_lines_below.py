r"""What a model writes directly below a list, a table or a quotation stands there; alerts; TeX without dollars."""

import re
from html import unescape

import pytest

from renderer.markup.html import render
from tests.renderer.markup.canon import canonical
from tests.support.growing import Blocks


def li(*items: str) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"
TABLE_HTML = "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**Pros:**\n- fast\n- cheap\n**Cons:**\n- loud", f"<p><b>Pros:</b></p>{li('fast', 'cheap')}<p><b>Cons:</b></p>{li('loud')}"),
        ("- item\n- item2\nText after", f"{li('item', 'item2')}<p>Text after</p>"),
        ("- 项目\n后文", f"{li('项目')}<p>后文</p>"),
        ("- a\n✅ Done", f"{li('a')}<p>✅ Done</p>"),
        ("- a\n**cons:** b", f"{li('a')}<p><b>cons:</b> b</p>"),
        ("- a\n[Link](https://b.example)", f'{li("a")}<p><a href="https://b.example">Link</a></p>'),
        ("- a\n  - b\n  Text of a\nText", f"{li('a' + li('b') + 'Text of a')}<p>Text</p>"),
        ("> - a\n> Text", f"<blockquote>{li('a')}<p>Text</p></blockquote>"),
        ("> said\nText", "<blockquote><p>said</p></blockquote><p>Text</p>"),
        # What goes on in a sentence, or is indented, stays, as in CommonMark.
        ("- a long item that\ngoes on here\n- b", li("a long item that<br>goes on here", "b")),
        ("- a\n  Text", li("a<br>Text")),
        ("- a\n Text", li("a<br>Text")),
        ("- a\n— so", li("a<br>— so")),
        ("- a\nhttps://b.example", li('a<br><a href="https://b.example">https://b.example</a>')),
        ("> said\n— Ada", "<blockquote><p>said<br>— Ada</p></blockquote>"),
        # An item's content begins where the first line below it does.
        ("1. A\n  - B\n  - C\n2. D", f"<ol><li>A{li('B', 'C')}</li><li>D</li></ol>"),
        ("1. A\n\n  - B\n\n2. D", f"<ol><li>A{li('B')}</li><li>D</li></ol>"),
        ("10. A\n   - B\n     - C\n11. D", f'<ol start="10"><li>A{li("B" + li("C"))}</li><li>D</li></ol>'),
        ("1. A\n  1. x\n  2. y\n2. D", "<ol><li>A<ol><li>x</li><li>y</li></ol></li><li>D</li></ol>"),
        ("1. A\n  2. B", "<ol><li>A</li><li>B</li></ol>"),
        ("1. A\n- B", f"<ol><li>A</li></ol>{li('B')}"),
        # Rows have bars.
        (f"{TABLE}After the table.", f"{TABLE_HTML}<p>After the table.</p>"),
        (f"{TABLE}Use `a | b` here.", f"{TABLE_HTML}<p>Use <code>a | b</code> here.</p>"),
        ("a | b\n--|--\n1 | 2\nAfter.", f"{TABLE_HTML}<p>After.</p>"),
        ("| a | b |\n|---|---|\n1 | 2", TABLE_HTML),
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |\n> After.", f"<blockquote>{TABLE_HTML}<p>After.</p></blockquote>"),
    ],
)
def test_a_line_below_stands_where_its_writer_meant_it(text: str, html: str) -> None:
    assert canonical(render(text).html) == canonical(html)


def is_below_the_list(line: str) -> bool:
    """Whether a line that is not indented stands below the list that it follows, and not in its last item."""
    return "</ul>" in render(f"- a\n{line}").html.removesuffix("</ul></div>")


@pytest.mark.parametrize("text", ["After", "**after**", "5 euros", "«Après»", "그 후", "(See below)", "`Code`", "1️⃣"])
def test_these_lines_are_new(text: str) -> None:
    assert is_below_the_list(text)


@pytest.mark.parametrize("text", ["after", "*after*", "(see below)", "`code`", "→ so", ", and", "", "\\(x\\)", "$x$"])
def test_these_lines_continue_what_stands_above(text: str) -> None:
    assert not is_below_the_list(text)


@pytest.mark.parametrize(
    "text",
    [
        "- a\n- b\nText after\n",
        "- a\n- b\n**Cons:**\n- c\n",
        f"{TABLE}After the table.\n",
        "1. A\n  - B\n2. D\n",
        "> [!NOTE]\n> Be careful.\nAfter\n",
    ],
)
def test_what_is_shown_of_a_growing_text_does_not_move(text: str) -> None:
    """The blocks and what is in them only grow: nothing is in a list or table first and below it later."""
    final = _words(render(text).html)
    blocks = Blocks()
    for letter in text:
        blocks.feed(letter)
        blocks.tail()
        shown = _words("".join(block.html for block in blocks.html()))
        assert [tags for tags, _ in shown] == [tags for tags, _ in final[: len(shown)]]
        assert "[!" not in "".join(words for _, words in shown)


def _words(html: str) -> list[tuple[str, str]]:
    """Each stretch of text with the containers that it is in."""
    found, inside = [], list[str]()
    for tag, words in re.findall(r"<(/?\w+)[^>]*>|([^<]+)", html):
        if tag.startswith("/"):
            inside.pop()
        elif tag not in ("", "br"):
            inside.append(tag)
        elif words.strip():
            found.append((" ".join(inside), unescape(words)))
    return found


@pytest.mark.parametrize("kind", ["note", "tip", "important", "warning", "caution"])
def test_an_alert_has_a_title_and_a_text(kind: str) -> None:
    title = f'<p class="alert-title">{kind.title()}</p>'
    for text in (f"> [!{kind.upper()}]\n> Be **careful**.", f"> [!{kind}] Be **careful**."):
        assert render(text).html == (
            f'<div class="block" dir="auto"><blockquote class="alert alert-{kind}" dir="auto">\n{title}\n'
            "<p>Be <strong>careful</strong>.</p>\n</blockquote></div>"
        )
    assert title in render(f"> [!{kind}]").html and title in render(f"- > [!{kind}]\n  > a").html


@pytest.mark.parametrize("text", ["> [!NOPE]\n> a", "[!NOTE]\na", "> a [!NOTE]", "> \\[!NOTE]\n> a"])
def test_no_other_text_is_an_alert(text: str) -> None:
    assert "alert" not in render(text).html and "[!N" in render(text).html


BODY = "a &= b \\\\\nc &= d"


@pytest.mark.parametrize("name", ["align", "align*", "equation", "gather", "pmatrix", "cases"])
def test_an_environment_is_a_formula_without_dollars(name: str) -> None:
    tex = f"\\begin{{{name}}}\n{BODY}\n\\end{{{name}}}"
    before, formula, after = re.findall('<div class="block" dir="auto">(.*?)</div>', render(f"So\n{tex}\nend").html, re.DOTALL)
    assert (before, after) == ("<p>So</p>", "<p>end</p>")
    assert unescape(formula) == f'<div class="math math-display">{tex}'


def test_an_environment_in_a_sentence_is_a_formula() -> None:
    html = render("M = \\begin{pmatrix}1&2\\\\3&4\\end{pmatrix} is").html
    assert '<p>M = <span class="math math-inline">\\begin{pmatrix}1&amp;2\\\\3&amp;4\\end{pmatrix}</span> is</p>' in html


@pytest.mark.parametrize("text", ["\\begin{itemize}\n\\item a \\\\ b\n\\end{itemize}", "\\begin{align}\na \\\\ b", "\\begin{foo} a \\\\ b"])
def test_tex_that_is_not_typeset_keeps_its_backslashes(text: str) -> None:
    html = render(text).html
    assert "math" not in html
    assert unescape(re.sub("<.*?>", "", html)) == text


def test_a_formula_of_an_environment_is_hidden_until_it_is_complete() -> None:
    blocks, text = Blocks(), "So\n\\begin{align}\na &= b\n\n- c\n\\end{align}\nend"
    for letter in text:
        blocks.feed(letter)
        blocks.tail()
        shown = "".join(block.html for block in blocks.html())
        assert "\\" not in shown or "\\end{align}" in shown


@pytest.mark.parametrize("href", ["https://example.com/a b.pdf", "mailto:a@b.example?subject=a b"])
def test_an_address_between_angle_brackets_may_have_spaces(href: str) -> None:
    assert f'href="{href.replace(" ", "%20")}"' in render(f"[c](<{href}>)").html


@pytest.mark.parametrize(
    "href", ["javascript :alert(1)", "java script:x", " https://a.example", "https://a .example/", "https://a.example/\tb"]
)
def test_a_space_makes_no_other_address_a_link(href: str) -> None:
    assert ">c</a>" not in render(f"[c](<{href}>)").html and ">c</a>" in render("[c](<https://a.example>)").html
