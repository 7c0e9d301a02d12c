"""Rendering whole texts and questions: what readers expect of Markdown, what no text may do, and what happens at the limits.

Questions are shown as they were written: every character, every space, and code between fences as code.
"""

import random
import re
import sys
from collections.abc import Callable
from html import escape, unescape

import pytest

from renderer.markup import html
from renderer.markup.html import SafeHtml, plain, render, render_blocks
from tests.attacks import attacks, second_opinion
from tests.renderer.markup.canon import canonical
from tests.renderer.markup.samples import EXAMPLES, Answer, answers
from tests.support import markup
from tests.support.cases import for_each
from tests.support.cost import costs_at_most


@for_each(answers())
def test_a_construct_of_a_real_answer_is_rendered_as_expected(answer: Answer) -> None:
    expected = answer.expected
    if answer.name == "image":  # nothing is fetched: instead of a picture, as in CommonMark, there is a link to it
        expected = '<p><a href="https://x.org/a.png">image: alt (x.org)</a></p>'
    assert canonical(str(render(answer.markdown))) == canonical(expected)


def shown(text: str) -> str:
    """The content of the single block to which a text is rendered."""
    (block,) = render_blocks(text)
    return block.html.removeprefix('<div class="block" dir="auto">').removesuffix("</div>")


def link(href: str, text: str) -> str:
    return f'<p><a href="{href}" target="_blank" rel="noopener noreferrer nofollow ugc">{text}</a></p>'


# --- lines, fences and tables as models write them ------------------------------------------------------------------------------


@for_each(
    [
        ("Name: Ada\nCity: Paris\nDue: Monday", ["Name: Ada", "City: Paris", "Due: Monday"]),
        ("• one\n• two", ["• one", "• two"]),
        ("**A:** b\n**C:** d", ["<strong>A:</strong> b", "<strong>C:</strong> d"]),
        ("[a](https://b.example)\n*c*", [link("https://b.example", "a")[3:-4], "<em>c</em>"]),
        ("one  \ntwo\\\nthree", ["one", "two", "three"]),
        ("one<br>\ntwo<br/>three", ["one", "two", "three"]),
        ("<a>\n  <b/>\n</a>", ["&lt;a&gt;", "&lt;b/&gt;", "&lt;/a&gt;"]),
    ]
)
def test_the_lines_of_an_answer_stay_lines(text: str, lines: list[str]) -> None:
    expected = "<br>".join(lines)
    inside = "\n".join(f"{mark} {line}" for mark, line in zip("-     ", text.split("\n"), strict=False))
    assert shown(text).replace("<br>\n", "<br>") == f"<p>{expected}</p>"
    assert expected in shown(inside).replace("<br>\n", "<br>")
    assert expected in shown("> " + text.replace("\n", "\n> ")).replace("<br>\n", "<br>")


INNER = "# T\n```bash\nls\n```\nThen read on.\n"


@pytest.mark.parametrize("container", ["> ", ">- ", ">1. ", "> > "])
def test_a_text_may_end_in_the_empty_line_of_a_quotation_with_a_fence(container: str) -> None:
    shown = html.render(f"{container}```\n>").html
    assert "<blockquote" in shown and "<code></code>" in shown


@for_each(
    [
        f"```markdown\n{INNER}```\n",
        f"```\n{INNER}{INNER}```\n",
        f"~~~md\n{INNER.replace('```', '~~~')}~~~\n",
        "```md\n````sh\n```\n````\nThen read on.\n```\n",
        "```md\n- a\n  ```sh\n  ls\n  ```\nThen read on.\n```\n",
        "```md\n```md\n```sh\n```\n```\nThen read on.\n```\n",
        "```py\nTEXT = 1\n```json\n{}\n```\n# end\n```\n",
    ]
)
def test_a_fence_with_fences_in_it_is_one_block(text: str) -> None:
    code, after = render_blocks(f"{text}After *it*.\n")
    inner = "\n".join(text.split("\n")[1:-2])
    assert unescape(re.sub("<.*?>", "", code.html)) == f"{inner}\n"
    assert after.html.endswith("<p>After <em>it</em>.</p></div>")
    assert list(markup.parts(text + "b")) == [(True, text.rstrip("\n")), (False, "b")]


@for_each(
    [
        "```\na\n```sh\nb\n```\nafter",
        "```sh\na\n```\nafter\n```py\nb",
        "> ```\n> a\n> ```sh\n> ```\n> after",
        "- ```\n  a\n  ```sh\n  ```\n  after",
    ]
)
def test_fences_that_do_not_pair_end_at_the_first_closing_line(text: str) -> None:
    assert re.search(r"</code></pre>\s*(?:</div>.*)?(?:<p>)?after", render(f"{text}\n").html)


@for_each(
    [
        ("| `a|b` | 2 |", ["a|b", "2"]),
        ("| ``a|`b`` | `c|d` |", ["a|`b", "c|d"]),
        ("| 1 | 2 | 3 | 4 |", ["1", "2 | 3 | 4"]),
        ("| a|b | `c|d` |", ["a", "b | c|d"]),
        ("| `a | b` |", ["`a", "b`"]),
        ("| `a\\|b` | c |", ["a|b", "c"]),
        ("| $5 | $6 |", ["$5", "$6"]),
        ("| a |", ["a", ""]),
    ]
)
def test_no_value_of_a_row_is_lost(row: str, cells: list[str]) -> None:
    rendered = render(f"| x | y |\n|---|---|\n{row}\n").html
    assert [re.sub("<.*?>", "", cell) for cell in re.findall("<td>(.*?)</td>", rendered)] == cells


@for_each([(f"{row}\n|---|---|\n| 1 | 2 |\n", is_table) for row, is_table in (("`a|b` | c", True), ("a | b | c", False))])
def test_a_heading_row_fits_its_columns(text: str, is_table: bool) -> None:
    assert ("<table>" in render(text).html) == is_table


# --- links and images -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("href", ["http://a.example", "https://a.example:8443/b?c=d&amp;e#f", "mailto:maria@a.example", "http://[::1]/"])
def test_web_and_mail_addresses_become_links(href: str) -> None:
    assert f'href="{href}"' in shown(f"[text]({href})")


@for_each(
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "&#106;avascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "//a.example",
        "/c/1/delete/",
        "page.html",
        "#end",
        "https:///a.example",
        "http://exa\u200bmple.org",
        "http://a.example/\u202egpj.exe",
        "http://" + "a" * 5000 + ".example",
        "mailto:",
        "x-chat:do",
        "https://a.example:99999999",
    ]
)
def test_no_other_address_becomes_a_link(address: str) -> None:
    for text in (f"[text](<{address}>)", f"![text](<{address}>)", f"<{address}>", f"[text][r]\n\n[r]: <{address}>"):
        assert "href" not in str(render(text))


def test_a_backslash_does_not_hide_the_host() -> None:
    text = str(render("[text](<http://a.example\\\\@b.example>) <http://a.example\\@b.example>"))
    assert "a.example" in text
    assert not re.search(r'href="[^"]*b\.example', text)


def test_a_link_opens_in_a_new_tab_and_reveals_nothing() -> None:
    assert shown("[a](http://b.example)") == link("http://b.example", "a")


@pytest.mark.parametrize(
    ("text", "address", "host"),
    [
        ("bank.example", "https://thief.example/x", "thief.example"),
        ("https://bank.example/login", "https://thief.example", "thief.example"),
        ("www.bank.example", "https://thief.example", "thief.example"),
        ("bank。example", "https://thief.example", "thief.example"),
        ("bank\u200b.example", "https://thief.example", "thief.example"),
        ("ceo@bank.example", "mailto:eve@thief.example", "eve@thief.example"),
        ("ceo@bank.example", "https://bank.example", "bank.example"),
        ("10.0.0.1", "http://10.0.0.2", "10.0.0.2"),
        ("sign in", "https://bank.example@thief.example/", "thief.example"),
        ("sign in", "https://bänk.example", "xn--bnk-qla.example"),
        ("a" * 400 + " bank.example", "https://thief.example", "thief.example"),
    ],
)
def test_a_link_that_looks_like_another_address_shows_where_it_leads(text: str, address: str, host: str) -> None:
    assert f'<span class="link-host">({host})</span></a>' in shown(f"[{text}](<{address}>)")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("the manual", "https://a.example"),
        ("a.example", "https://www.a.example/x"),
        ("https://a.example/b", "https://a.example/b"),
        ("maria@a.example", "mailto:maria@a.example"),
        ("http://localhost:8000", "http://localhost:8000"),
    ],
)
def test_an_honest_link_is_shown_as_it_is(text: str, address: str) -> None:
    assert "link-host" not in shown(f"[{text}]({address})")


def test_a_bare_address_with_a_letter_from_another_script_shows_its_true_name() -> None:
    assert "(xn--pple-43d.com)" in shown("https://\u0430pple.com")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("请访问 https://example.com/a。谢谢", "https://example.com/a"),
        ("(https://example.com/a_(b))", "https://example.com/a_(b)"),
        ("**https://example.com/a**", "https://example.com/a"),
        ("https://example.com/a?", "https://example.com/a"),
        ("「https://example.com/a」", "https://example.com/a"),
    ],
)
def test_a_bare_address_ends_before_the_punctuation_of_its_sentence(text: str, expected: str) -> None:
    assert f'href="{expected}"' in shown(text)


@pytest.mark.parametrize("text", ["http://", "xhttp://a.example", "http://http://a.example", "[http://a.example", "`http://a.example`"])
def test_text_that_is_not_an_address_stays_text(text: str) -> None:
    assert shown(text).count("<a ") == (1 if text.startswith("[") else 0)


def test_a_picture_becomes_a_link_that_names_its_host_and_is_never_fetched() -> None:
    block = shown("![a *cat*](https://pictures.example/c.png 'Tom')")
    assert 'href="https://pictures.example/c.png"' in block
    assert ">image: a cat (pictures.example)</a>" in block
    assert "<img" not in block
    assert "src=" not in block


def test_a_picture_in_a_link_does_not_nest_links() -> None:
    block = shown("[![logo](https://a.example/l.png)](https://b.example)")
    assert block.count("<a ") == 1
    assert "image: logo (a.example)" in block
    assert "(b.example)" in block


# --- tags, text, code, mathematics ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["<b>x</b>", "<img src=x onerror=alert(1)>", "<sub onclick=x>y</sub>", "<sub>never closed", "</sub>", "<!-- c -->", "<svg/onload=x>"],
)
def test_html_from_a_model_is_text(text: str) -> None:
    assert shown(text) == f"<p>{escape(text, quote=False)}</p>"


def test_a_few_plain_tags_work() -> None:
    assert shown("a<br>b <kbd>x</kbd> <mark>*y*</mark> <SUP>2</SUP>") == "<p>a<br>\nb <kbd>x</kbd> <mark><em>y</em></mark> <sup>2</sup></p>"


def test_a_tag_closes_what_was_opened_inside_it() -> None:
    assert shown("<sub>a *b</sub> c*") == "<p><sub>a *b</sub> c*</p>"


def test_direction_controls_are_visible_in_code_and_removed_elsewhere() -> None:
    assert shown("a\u202eb") == "<p>ab</p>"
    assert shown("`a\u202eb`") == "<p><code>a[U+202E]b</code></p>"
    assert "a[U+2066]b" in shown("```\na\u2066b\n```")
    assert plain("a\u202eb").html == '<div class="block plain" dir="auto">ab</div>'


@pytest.mark.parametrize(
    ("info", "title", "attribute"),
    [
        ("c++", "", ' class="language-c++"'),
        ('py" onload="x', ' title="py&quot; onload=&quot;x"', ""),
        ("<x>", ' title="&lt;x&gt;"', ""),
        ("a  b.py", ' title="a b.py"', ' class="language-a"'),
    ],
)
def test_the_language_of_code_is_one_harmless_word_and_the_rest_its_title(info: str, title: str, attribute: str) -> None:
    assert shown(f"~~~ {info}\nx\n~~~") == f'<pre dir="ltr"{title}><code{attribute}>x\n</code></pre>'


def test_mathematics_is_left_for_the_browser_as_its_source() -> None:
    assert shown("\\(a_1 < b\\)") == '<p><span class="math math-inline">a_1 &lt; b</span></p>'
    assert shown("so $$x$$ is") == '<p>so <span class="math math-display">x</span> is</p>'
    assert shown("\\[\n\\text{<svg/onload=x>}\n\\]") == '<div class="math math-display">\\text{&lt;svg/onload=x&gt;}</div>'


@pytest.mark.parametrize("text", ["from $5 to $10", "\\[ never ends", "$$ $$", "a \\( b"])
def test_text_that_is_not_mathematics_stays_text(text: str) -> None:
    assert "math" not in shown(text)


def test_a_footnote_keeps_its_label_and_its_place() -> None:
    mark, note, end = render_blocks("a[^x] b[^y]\n\n[^x]: the *note*\n\nend")
    assert '<sup class="footnote-ref">[x]</sup> b[^y]' in mark.html
    assert note.html.count("the <em>note</em>") == 1
    assert '<span class="footnote-label">[x]</span>' in note.html
    assert "end" in end.html


@pytest.mark.parametrize("text", ["**「強調」**です", "中**“重点”**文", '**"강조"**입니다', "**注意：**text", "**हिन्दी**में", "a**「b」**c"])
def test_emphasis_works_in_scripts_without_spaces(text: str) -> None:
    assert "<strong>" in shown(text)


@pytest.mark.parametrize("text", ["a ** b **", "**a **", "2*3*4 = 24 and 5 * 6", "foo__bar__baz"])
def test_text_that_is_not_emphasis_stays_text(text: str) -> None:
    assert "<strong>" not in shown(text)


def test_text_that_is_nested_too_deeply_is_still_shown() -> None:
    text = "".join("  " * depth + f"- level{depth}\n" for depth in range(60)) + "\nAfter."
    rendered = str(render(text))
    assert all(f"level{depth}" in rendered for depth in range(60))
    assert "<p>After.</p>" in rendered


# --- the allow-list ---------------------------------------------------------------------------------------------------------------


def test_the_sanitizer_would_change_no_paragraph_that_is_shown_without_it() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if markup.is_unsanitized(f"<p>{chr(code)}</p>")]
    assert len(characters) > 100_000, "letters of all scripts"
    mixed = random.Random(4).choices(characters, k=20_000)
    for text in ("", "one<br>\ntwo<br><br>", "".join(characters), "".join(mixed), "".join(" \n.,;:!?'\"()/%–—’‘“”…-" * 3)):
        paragraph = f"<p>{text}</p>"
        assert markup.is_unsanitized(paragraph)
        whole = f'<div class="block" dir="auto">{paragraph}</div>'
        assert markup.sanitized(whole) == whole


def test_plain_words_are_shown_as_the_parser_and_the_sanitizer_would_show_them() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if markup.unparsed(f"a{chr(code)}a")]
    assert len(characters) > 100_000, "letters of all scripts"
    rng = random.Random(6)
    lines = ["".join(rng.choices([*" ,;:?'\"()%–—‘’“”…-", *characters[:40], *rng.choices(characters, k=60)], k=200)) for _ in range(800)]
    some = [text for line in lines if (text := f"a{line}".rstrip()) and markup.unparsed(text)]
    assert len(some) > 700
    for text in [*(f"a{''.join(characters[start : start + 1_000])}" for start in range(0, len(characters), 1_000)), *some]:
        assert render_blocks(text) == (markup.unparsed(text),)
        assert render_blocks(heading := f"{'#' * rng.randint(1, 6)} {text}") == (markup.unparsed(heading),)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "1. a",
            "1",
            "- a",
            "#a",
            "# 1. a",
            "# a #",
            "####### a",
            "a*b*",
            "a_b_",
            "a `b`",
            "a <b>",
            "a & b",
            "a.com",
            "a@b",
            "a [b]",
            "a\n",
            "a ",
            " a",
            "a\\",
            "$a$",
        ),
        *("a|b", "a\u202eb", "a\xa0b", "http://a", "a" * 2049, "【1†source】", "a!b", "\u0661. a"),
    ],
)
def test_all_other_texts_are_parsed(text: str) -> None:
    assert markup.unparsed(text) is None


@pytest.mark.parametrize(
    "text",
    ["a<br >b", "a<br/>b", "a<b>b", "a & b", "&amp;", "<", ">", "a</p><p>b", "a</p>\n<p>b", "\0", "\r", "\t", "\xa0", "\u200b", "\u202e"],
)
def test_all_other_paragraphs_pass_the_sanitizer(text: str) -> None:
    assert not markup.is_unsanitized(f"<p>{text}</p>")


@pytest.mark.slow
def test_a_second_sanitizer_finds_nothing_to_remove() -> None:
    """bleach reads what nh3 let through, under the same allow-list. Here a sample of the attacks; ``make attack`` takes them all."""
    texts = [payload.text for payload in attacks.sample(attacks.own(), 300, seed=2) if len(payload.text) < 20_000]
    assert len(texts) > 250
    assert [text for text in [*texts, *EXAMPLES] if second_opinion.differs(str(render(text)))] == []


@pytest.mark.parametrize("rendered", ["<p onclick=x>a</p>", "<a href='javascript:x'>a</a>", "<p><script>a</script></p>", "<p id=a>b</p>"])
def test_the_second_sanitizer_would_notice(rendered: str) -> None:
    assert second_opinion.differs(rendered)


@pytest.mark.parametrize(
    "html_text",
    [
        "<script>alert(1)</script>",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href='/c/1'>x</a>",
        "<p style='color:red' id=x class=y onclick=z>x</p>",
        "<input type=text name=q>",
        "<img src=http://a.example/x.png>",
        "<code class='language-x y'>z</code>",
        "<svg><script>alert(1)</script></svg>",
    ],
)
def test_the_sanitizer_protects_even_if_the_parser_does_not(html_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    markup.parse_as(monkeypatch, lambda: html_text)
    rendered = str(render("anything"))
    for word in ("script", "style", "onclick", "id=", "class=y", "y'", "src", "name", 'type="text', "href", "svg"):
        assert word not in rendered


# --- values and limits ------------------------------------------------------------------------------------------------------------


def test_templates_insert_safe_html_unchanged() -> None:
    assert render("a") == render("a")
    assert render("a") != render("b")
    assert str(render("a")) == render("a").html == render("a").__html__()
    assert str(render("a")).__html__() == render("a").html  # type: ignore[attr-defined]
    assert SafeHtml.join([plain("a"), plain("<")]).html == plain("a").html + plain("<").html


def test_plain_text_is_escaped_and_keeps_its_lines() -> None:
    assert plain("a\r\n<b>&\x00").html == '<div class="block plain" dir="auto">a\n&lt;b&gt;&amp;\ufffd</div>'


@for_each([*EXAMPLES, *(answer.markdown for answer in answers())])
def test_the_blocks_joined_are_the_whole(text: str) -> None:
    assert SafeHtml.join(render_blocks(text)) == render(text)


def test_a_block_that_is_too_long_is_plain_text_and_the_others_are_not() -> None:
    before, long, after = render_blocks("*a*\n\n" + "*b* " * 17_000 + "\n\n*c*")
    assert "<em>a</em>" in before.html
    assert "<em>" not in long.html
    assert long.html.count("*b*") == 17_000
    assert "<em>c</em>" in after.html


def test_text_beyond_the_limit_of_a_message_is_plain_text() -> None:
    paragraph = "*a* " + "words " * 650 + "\n\n"
    blocks = render_blocks(paragraph * 70)
    assert len(paragraph) * 70 > html.MESSAGE_LIMIT
    assert "<em>" in blocks[-2].html
    assert "<em>" not in blocks[-1].html
    assert blocks[-1].html.count("words") > 1000


@pytest.mark.parametrize("error", [RecursionError, ValueError, IndexError, RuntimeError])
def test_a_block_that_cannot_be_rendered_is_plain_text(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise error

    markup.parse_as(monkeypatch, fail)
    assert render("a <script> *b*") == plain("a <script> *b*")


OPENERS = ["[", "*a ", "> ", "`", "- ", "[a](", "<a ", "http://", "|", "$$", "\\[\n", "<sub>", "~~", "&", "a|\n"]


@pytest.mark.slow
@pytest.mark.parametrize("opener", OPENERS)
def test_a_hostile_run_of_openers_takes_under_a_second(opener: str) -> None:
    assert costs_at_most(500, lambda: render(opener * 15_000))


LOG = "$ make\n  <b>gcc</b> -O2 *.c\n\tif (a < b && c_d_e) { `x` }\n\n    - not a list\n# not a heading\n1. 2. 3.  **stars**"


@for_each(
    [LOG, "", "    indented\n        more", "a ``` b", "```js\nnever ended", "``` a ` b\n```", "~~~\nx\n```", "    ```\n    x\n    ```"]
)
def test_text_outside_fences_is_shown_unchanged(text: str) -> None:
    assert html.question(text) == plain(text)


def test_text_between_fences_is_code_and_the_rest_is_unchanged() -> None:
    shown = str(html.question("Why *this*?\n\n```python\nif a < b:\n    print('`*`')\n```\n\nIt <fails>."))
    assert shown == (
        '<div class="block plain" dir="auto">Why *this*?</div>'
        '<div class="block" dir="auto"><pre dir="ltr"><code class="language-python">if a &lt; b:\n    print(\'`*`\')\n</code></pre></div>'
        '<div class="block plain" dir="auto">It &lt;fails&gt;.</div>'
    )


@for_each(
    [
        ("```\na\n```", [(True, "```\na\n```")]),
        ("a\n```\nb\n```\nc", [(False, "a"), (True, "```\nb\n```"), (False, "c")]),
        ("````\n```\nb\n```\n````", [(True, "````\n```\nb\n```\n````")]),
        ("```\na\n```\n```\nb\n```", [(True, "```\na\n```"), (True, "```\nb\n```")]),
        ("~~~ `x`\na\n~~~~", [(True, "~~~ `x`\na\n~~~~")]),
        ("```\na\n```\n```\nopen", [(True, "```\na\n```"), (False, "```\nopen")]),
    ]
)
def test_fences_are_found_as_in_answers(text: str, expected: list[tuple[bool, str]]) -> None:
    assert list(markup.parts(text)) == expected


def test_no_character_of_a_question_is_lost_except_fences_and_blank_lines() -> None:
    chance = random.Random(3)
    lines = ["```", "~~~", "```py", "a < b", "  *x*", "", "`", "    deep", "[l](http://a.example)", "<script>", "$x$", "| a |"]
    for _ in range(400):
        text = "\n".join(chance.choices(lines, k=chance.randint(1, 12)))
        seen = unescape(re.sub("<[^>]*>", "", str(html.question(text)).replace("</div>", "\n")))
        expected = [line.strip() for line in text.split("\n") if line.strip() and not re.match("```|~~~", line)]
        assert [line for line in (line.strip() for line in seen.split("\n")) if line and not re.match("```|~~~", line)] == expected


@pytest.mark.parametrize("text", ["x" * 1501, "a\n" * 18])
def test_a_long_question_is_recognized(text: str) -> None:
    assert html.is_long(text)
    assert not html.is_long(text[: len(text) // 2])


@pytest.mark.slow
@pytest.mark.parametrize("line", ["```\n~~~\n", "```a\n", "~~~\n```a\n~~~\n"])
@pytest.mark.parametrize("shown", [html.question, render])
def test_many_fences_take_under_a_second(line: str, shown: Callable[[str], object]) -> None:
    assert costs_at_most(500, lambda: shown(line * (30_000 // len(line))))


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["`", "$a", "|", "`a|` "])
def test_many_cells_take_under_a_second(cell: str) -> None:
    assert costs_at_most(500, lambda: render("| a |\n|---|\n|" + cell * (30_000 // len(cell))))
