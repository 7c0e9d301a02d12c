"""Wide tables: they scroll in their own region, which has a name and which the keyboard reaches; paper shows them whole."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer

pytestmark = pytest.mark.browser

COLUMNS = 16
WIDE = "\n".join(
    [
        "| " + " | ".join(f"Column number {number}" for number in range(COLUMNS)) + " |",
        "|" + "---|" * COLUMNS,
        "| " + " | ".join(f"value-{number}" for number in range(COLUMNS)) + " |",
    ]
)
TABLES = f"Wide:\n\n{WIDE}\n\nNarrow:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- In a list:\n\n" + "\n".join(
    f"  {line}" for line in WIDE.split("\n")
)


def test_a_wide_table_can_be_scrolled_by_keyboard_and_a_narrow_one_is_none(chat: Chat, writer: Writer) -> None:
    writer.write(TABLES + "\n")
    chat.ask_and_wait("Tables?")
    wide = chat.page.get_by_role("region", name="Wide table: it can be scrolled sideways")

    expect(wide).to_have_count(2)
    assert "gradient" in wide.first.evaluate("place => getComputedStyle(place).backgroundImage")
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for place in wide.all():
        place.focus()
        expect(place).to_be_focused()
        chat.page.keyboard.press("ArrowRight")
        chat.page.wait_for_function("place => place.scrollLeft > 0", arg=place.element_handle())
    expect(chat.answer.locator("table")).to_have_count(3)
    scrolling = chat.answer.locator("[tabindex='0']:has(> table)").first.element_handle()
    chat.page.emulate_media(media="print")  # in print nothing scrolls, so that the region loses its name
    assert scrolling.evaluate("place => getComputedStyle(place).overflowX") == "visible"
    for table in chat.answer.locator("table").all():
        assert table.evaluate("table => getComputedStyle(table.querySelector('th')).whiteSpace") == "normal"


@pytest.mark.extended
def test_a_table_fits_the_paper(chat: Chat, writer: Writer) -> None:
    writer.write(TABLES + "\n")
    chat.ask_and_wait("Tables on paper?")
    chat.page.emulate_media(media="print")
    chat.page.set_viewport_size({"width": 718, "height": 1000})  # A4 minus its margins

    for table in chat.answer.locator("table").all():
        assert table.evaluate("table => table.getBoundingClientRect().right <= innerWidth")


@pytest.mark.extended
def test_an_empty_last_item_has_no_bullet_and_one_in_the_middle_keeps_its_number(chat: Chat, writer: Writer) -> None:
    writer.write("1. one\n2.\n3. three\n4.\n")
    chat.ask_and_wait("A list that was cut?")
    items = chat.answer.locator("li")
    expect(items).to_have_count(4)
    assert [item.is_visible() for item in items.all()][2:] == [True, False]
    assert items.nth(1).evaluate("item => getComputedStyle(item).display") == "list-item"
