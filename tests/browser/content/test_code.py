"""The syntax highlighter is fetched only for code with a language."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, wait_for_clipboard
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_code_without_a_language_fetches_no_highlighter(chat: Chat, writer: Writer) -> None:
    requested: list[str] = []
    chat.page.on("request", lambda request: requested.append(urlsplit(request.url).path))
    writer.write("```\nls -la\n```\n\n    indented\n")
    chat.ask_and_wait("Plain?")
    expect(chat.answer.locator(".code-language").first).to_have_text("text")
    chat.page.wait_for_timeout(1_500)  # longer than a complete block waits for an idle moment of the browser
    assert [path for path in requested if "colours" in path or "highlight" in path] == []

    writer.write("```python app.py\nif a: pass\n```\n")
    chat.ask_and_wait("Python?")
    expect(chat.answer.locator(".code-language")).to_have_text("python app.py")
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
    assert [path for path in requested if "colours" in path] != []


# As translators of browsers and extensions do it: each text becomes another one, inside of two elements. Those that keep to the rules
# leave out what must not be translated.
TRANSLATE = """(keepsToRules) => {
  const walker = document.createTreeWalker(document.querySelector(".answer"), NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    if (!text.data.trim() || (keepsToRules && !text.parentElement.translate)) continue;
    const [outer, inner] = [document.createElement("font"), document.createElement("font")];
    inner.textContent = "übersetzt " + text.data.toUpperCase();
    outer.append(inner);
    text.replaceWith(outer);
  }
}"""


def test_code_of_a_translated_page_is_copied_as_it_was_written(written: Server, visits: Visits, writer: Writer) -> None:
    chat = Chat(visits.open(written, "ada", permissions=["clipboard-read", "clipboard-write"]))
    writer.write("Do this:\n\n```python\nif a: pass\n```\n")
    chat.ask_and_wait("How?")
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
    chat.page.evaluate(TRANSLATE, True)
    expect(chat.answer).to_contain_text("übersetzt DO THIS")
    expect(chat.answer.locator("pre")).to_have_text("if a: pass\n", use_inner_text=False)
    chat.page.evaluate(TRANSLATE, False)
    expect(chat.answer.locator("pre")).to_contain_text("übersetzt")
    chat.answer.locator("[data-action=copy-code]").click()
    wait_for_clipboard(chat.page, "if a: pass")


LONG = "x = " + " + ".join(f"value_{number}" for number in range(60))
WIDE = f"```python\n{LONG}\n```\n\n\\[{LONG.replace('value_', 'a_')}\\]\n\n| {' | '.join(LONG.split())} |\n|{'-|' * len(LONG.split())}\n"


def test_wide_parts_show_at_which_side_they_go_on(chat: Chat, writer: Writer) -> None:
    writer.write(WIDE + "\n```\nshort\n```\n\n\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}\n")
    chat.ask_and_wait("Wide?")
    expect(chat.answer.locator(".katex-html")).to_have_count(2)
    align = chat.answer.locator(".math-display").last
    places = [chat.answer.locator(selector) for selector in ("pre", ".math-display", ".block:has(> table)")]
    for place in (each.first for each in places):
        expect(place).to_have_attribute("data-more", "end")
        place.evaluate("(place) => place.scrollBy(50, 0)")
        expect(place).to_have_attribute("data-more", "start end")
        place.evaluate("(place) => place.scrollTo(place.scrollWidth, 0)")
        expect(place).to_have_attribute("data-more", "start ")
    expect(chat.answer.get_by_role("region", name="Wide formula: it can be scrolled sideways")).to_have_count(1)
    expect(places[0].last).not_to_have_attribute("data-more", "end")
    expect(align).not_to_have_attribute("data-more", "end")
    chat.page.emulate_media(forced_colors="active")
    for place in (each.first for each in places):
        assert place.evaluate("(place) => getComputedStyle(place).borderInlineStartStyle") == "dashed"


def test_lines_of_code_are_wrapped_for_who_wants_it_on_all_pages(chat: Chat, writer: Writer, written: Server, visits: Visits) -> None:
    writer.write(f"```\nshort\n```\n\n```\n{LONG}\n```\n")
    chat.ask_and_wait("Long?")
    code = chat.answer.locator("pre").last
    wrap = chat.answer.get_by_role("button", name="Wrap lines")
    expect(wrap).to_have_count(1)  # code without long lines has none
    other = chat.page.context.new_page()
    other.goto(chat.page.url)

    wrap.focus()
    chat.page.keyboard.press("Enter")
    expect(wrap.last).to_have_attribute("aria-pressed", "true")
    assert code.evaluate("(pre) => pre.scrollWidth <= pre.clientWidth")
    expect(other.locator("[data-wrap-lines] .answer pre").last).to_be_visible()
    chat.page.reload()
    expect(wrap.last).to_have_attribute("aria-pressed", "true")
    assert code.evaluate("(pre) => pre.scrollWidth <= pre.clientWidth")

    wrap.last.click()
    expect(wrap).to_have_count(1)
    expect(code).to_have_attribute("data-more", "end")
    assert chat.page.evaluate("localStorage.getItem('chatui:wrap')") is None


@pytest.mark.extended
def test_code_is_highlighted_on_a_page_that_was_loaded_between_the_last_word_and_the_end(
    chat: Chat, writer: Writer, database: Path
) -> None:
    writer.write("Like this:\n\n```python\nif a: pass\n```\n", pause_after="Like this:")
    chat.ask("How?")
    chat.settle()
    expect(chat.answer).to_contain_text("Like")
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # the end of the answer cannot be stored
        writer.resume()
        expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
        chat.page.reload()
        expect(chat.answer.locator("code")).to_have_text("if a: pass")
        other.execute("ROLLBACK")
    chat.finish()
    expect(chat.answer.locator("code[data-coloured]")).to_have_count(1)
