"""What people copy of a selection: formulas as TeX, once; tables as tables; lines; and none of the page's own words."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.content.test_copying import clipboard
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

ANSWER = r"""So $a = \frac{b}{c}$ holds, and \(x\) too.

\[
y = z^2
\]

- one
- two

| k | v |
|---|---|
| 1 | $q^2$ |
| 2 | 3 |

```sh
ls -l
  pwd
```

The end."""

SELECT = """([from, to]) => {
  const last = [...document.querySelectorAll(to)].at(-1);
  const range = document.createRange();
  range.setStart(document.querySelector(from), 0);
  range.setEnd(last, last.childNodes.length);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""

FETCHED = r"""() => performance.getEntriesByType("resource").find(({ name }) => /page\/selection[.\w]*js/.test(name))?.name"""
"""The script that a selection loads, once it is fetched. It has run only when an import of it is over, for which a predicate cannot wait: a
promise is true at once."""


@pytest.fixture
def page(written: Server, visits: Visits, writer: Writer) -> Page:
    """A page with the answer, typeset and coloured."""
    chat = Chat(visits.open(written, "ada", permissions=["clipboard-read", "clipboard-write"]))
    writer.write(ANSWER)
    chat.ask_and_wait("First line?\nSecond line?")
    expect(chat.answer.locator(".katex-html")).to_have_count(4)
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
    return chat.page


def copied(page: Page, first: str, last: str) -> tuple[str, str]:
    """What Ctrl+C of everything between two elements puts on the clipboard, as text and as HTML."""
    page.evaluate("navigator.clipboard.writeText('')")
    page.evaluate(SELECT, [first, last])
    script = page.wait_for_function(FETCHED).json_value()
    page.evaluate("async (script) => { await import(script); }", script)
    page.keyboard.press("Control+c")
    return clipboard(page, "text/plain").strip(), clipboard(page, "text/html")


def test_a_selected_answer_is_copied_with_tex_once_and_without_the_words_of_the_page(page: Page) -> None:
    text, html = copied(page, ".answer .block:first-child p", ".answer .block:last-child p")
    assert text == (
        "So $a = \\frac{b}{c}$ holds, and \\(x\\) too.\n\n\\[y = z^2\\]\n\none\ntwo\nk\tv\n1\t$q^2$\n2\t3\nls -l\n  pwd\n\nThe end."
    )
    assert "<td>$q^2$</td>" in html and "<li" in html
    for word in ("Copy code", "Copy table", "Wrap lines", ">sh<", "katex", "<button"):
        assert word not in text + html


def test_a_part_of_a_formula_is_the_formula(page: Page) -> None:
    text, _ = copied(page, ".answer .katex-html .mord", ".answer .block:last-child p")
    assert text.startswith("$a = \\frac{b}{c}$ holds")
    page.evaluate("getSelection().setBaseAndExtent(...[0, 1].flatMap(n => [document.querySelectorAll('.katex-html .mord')[n], 0]))")
    page.keyboard.press("Control+c")
    assert clipboard(page, "text/plain") == "$a = \\frac{b}{c}$"


def test_a_part_of_a_table_or_list_stays_one(page: Page) -> None:
    text, html = copied(page, ".answer tbody tr:first-child td:first-child", ".answer tbody tr:last-child td:last-child")
    assert text == "1\t$q^2$\n2\t3" and "<table" in html
    text, html = copied(page, ".answer li:first-child", ".answer li:last-child")
    assert text == "one\ntwo" and "<ul" in html


def test_code_and_questions_keep_their_lines(page: Page) -> None:
    page.evaluate("""() => { const pre = document.querySelector('.answer pre');
        getSelection().selectAllChildren(pre.querySelector('code')); }""")
    page.keyboard.press("Control+c")
    assert clipboard(page, "text/plain").rstrip() == "ls -l\n  pwd"
    text, _ = copied(page, ".question-text", ".answer .block:first-child p")
    assert text.startswith("First line?\nSecond line?\n") and "So $a" in text


def test_of_several_messages_only_their_texts_are_copied(page: Page) -> None:
    for first, last in ((".exchange", ".exchange"), (".question", ".answer-end"), ("body", "body")):
        text, html = copied(page, first, last)
        assert text.startswith("First line?\nSecond line?\n") and text.endswith("The end."), (first, text)
        assert "So $a = \\frac{b}{c}$ holds" in text and "<td>$q^2$</td>" in html


def test_typed_text_is_copied_as_it_is(page: Page) -> None:
    box = page.get_by_role("textbox", name="Message")
    box.fill("a $x$  b")
    box.press("Control+a")
    box.press("Control+c")
    assert clipboard(page, "text/plain") == "a $x$  b"
