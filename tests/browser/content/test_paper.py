"""A printed conversation: its title, date and names, all of the text, and no controls."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer

pytestmark = pytest.mark.browser

LINE = "x = " + " + ".join(f"value_{number}" for number in range(40))


def test_a_printout_has_its_title_owner_date_and_speakers(chat: Chat, writer: Writer) -> None:
    writer.write(f"## Part\n\nSome text.\n\n```python\n{LINE}\n```\n")
    chat.ask_and_wait("What is on paper?")
    chat.settle()
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
