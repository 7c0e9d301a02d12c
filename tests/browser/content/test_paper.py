"""A printed conversation: its title, date and names, all of the text, and no controls."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.support.cases import extended

pytestmark = pytest.mark.browser

LINE = "x = " + " + ".join(f"value_{number}" for number in range(40))


@pytest.mark.parametrize("again", [False, extended(True)], ids=["new", "loaded"])
def test_a_printout_has_its_title_owner_date_and_speakers(chat: Chat, writer: Writer, again: bool) -> None:
    writer.write(f"## Part\n\nSome text.\n\n```python\n{LINE}\n```\n")
    chat.ask_and_wait("What is on paper?")
    chat.settle()
    if again:
        chat.page.reload()
    facts = chat.page.locator(".on-paper")
    expect(facts).to_be_hidden()
    chat.page.emulate_media(media="print")
    chat.page.set_viewport_size({"width": 718, "height": 1000})

    expect(chat.page.get_by_role("heading", name="What is on paper?", level=1)).to_be_visible()
    expect(facts).to_be_visible()
    expect(facts).to_contain_text("ada")
    expect(facts).to_contain_text(re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}"))
    for name in ("You wrote", "Answer"):
        heading = chat.last.get_by_role("heading", name=name)
        box = heading.bounding_box()
        assert box and box["width"] > 30 and box["height"] > 10
    expect(chat.page.locator("button:visible")).to_have_count(0)
    code = chat.answer.locator("pre")
    assert code.evaluate("pre => pre.scrollWidth <= pre.clientWidth"), "no line of code is cut"
    assert chat.page.pdf().startswith(b"%PDF")


@pytest.mark.extended
def test_nothing_is_cut_off_and_no_page_stays_empty_before_long_code(chat: Chat, writer: Writer) -> None:
    sum_ = " + ".join(f"a_{{{number}}} x^{{{number}}}" for number in range(20))
    table = "| " + " | ".join(f"Column {number}" for number in range(10)) + " |\n|" + " --- |" * 10 + "\n| " + "words | " * 10
    code = "\n".join(f"line_{number} = {number}" for number in range(90))
    writer.write(f"$$f(x) = {sum_}$$\n\n{table}\n\n```python\n{code}\n```\n")
    chat.ask_and_wait("Long things?")
    expect(chat.answer.locator(".katex-html")).to_be_attached()
    chat.page.set_viewport_size({"width": 680, "height": 1000})
    formula = chat.answer.locator(".math-display")
    is_cut = "place => place.scrollWidth > place.clientWidth"
    assert formula.evaluate(is_cut), "the premise: it is wider than the page"

    chat.page.emulate_media(media="print")

    assert not formula.evaluate(is_cut)
    assert chat.answer.locator("table").evaluate("table => table.getBoundingClientRect().right <= innerWidth")
    lines = chat.answer.locator("th").first.evaluate("""head => {
      const word = document.createRange();
      word.setStart(head.firstChild, 0);
      word.setEnd(head.firstChild, "Column".length);
      return word.getClientRects().length;
    }""")
    assert lines == 1, "a word in a table of ten columns is not broken"
    frame = chat.answer.locator(".code-frame")
    assert frame.evaluate("frame => getComputedStyle(frame).breakInside") == "auto"
    assert frame.locator(".code-head").evaluate("head => getComputedStyle(head).breakAfter") == "avoid"
