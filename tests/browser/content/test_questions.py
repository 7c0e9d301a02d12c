"""Questions are shown as written: pasted programs keep their layout, fenced code is shown as code, and long questions are folded."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer

pytestmark = pytest.mark.browser

PROGRAM = "What is wrong?\n\n```python\ndef f(a):\n    if a < 3:\n        return '*' * `a`\n```\n\nThe log: <b> *not bold*\n    indented"


def test_a_long_question_is_folded_and_paper_has_all_of_it(chat: Chat, writer: Writer) -> None:
    writer.write("Long.")
    chat.ask_and_wait("\n".join(f"line {number}" for number in range(60)))

    def height() -> float:
        box = chat.question.bounding_box()
        assert box
        return box["height"]

    show = chat.last.locator("[data-action=fold]")
    expect(show).to_have_accessible_name("Show all")
    expect(show).to_have_attribute("aria-expanded", "false")
    folded = height()
    show.focus()
    chat.page.keyboard.press("Enter")
    expect(show).to_have_accessible_name("Show less")
    expect(show).to_have_attribute("aria-expanded", "true")
    assert height() > 3 * folded
    show.click()
    expect(show).to_have_accessible_name("Show all")
    assert height() == folded
    chat.page.emulate_media(media="print")
    assert height() > 3 * folded
    expect(show).to_be_hidden()
