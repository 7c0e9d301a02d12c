"""Wide tables: they scroll in their own region, which has a name and which the keyboard reaches; paper shows them whole."""

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


PEOPLE = "\n".join(
    [
        "| Who | When | Where | What was said there | Weight | Price | Note |",
        "|---|---|---|---|--:|--:|---|",
        *(f"| Person {n} | Monday, {n} May | Room number {n} | {'A longer sentence ' * 3} | {n} kg | {n}.50 € | Fine |" for n in range(3)),
    ]
)
SHORT = """table => [...table.rows].slice(1).flatMap(row => [...row.cells].map(cell =>
  (cell.textContent.length > 18) === (cell.getClientRects().length > 0 && getComputedStyle(cell).whiteSpace === "normal")))"""


def test_a_table_keeps_short_cells_whole_uses_the_free_width_and_is_copied_for_spreadsheets(chat: Chat, writer: Writer) -> None:
    page = chat.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size({"width": 1280, "height": 800})
    writer.write(f"People:\n\n{PEOPLE}\n")
    chat.ask_and_wait("Who was there?")
    for _ in ("live", "after a reload"):
        table = chat.answer.locator("table")
        assert set(table.evaluate(SHORT)) == {True}
        text, wide = (chat.answer.locator(each).evaluate("each => each.getBoundingClientRect().right") for each in ("p", "table"))
        assert text < wide < 1280 and page.locator(".scroller").evaluate("all => all.scrollWidth === all.clientWidth")
        chat.button("Copy table").click()
        expect(chat.answer.get_by_role("button", name="Copied")).to_be_visible()
        first, second, *_ = page.evaluate("navigator.clipboard.readText()").split("\n")
        assert first == "Who\tWhen\tWhere\tWhat was said there\tWeight\tPrice\tNote"
        assert second.split("\t")[:3] == ["Person 0", "Monday, 0 May", "Room number 0"]
        page.reload()
