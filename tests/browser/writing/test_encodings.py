"""A text whose encoding is not certain: its chip says so, and lets the person choose another, by keyboard too."""

import json

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.browser.content.writer import Writer
from tests.browser.visits import PHONE, Visits, still, until
from tests.browser.writing.test_documents import attach, opened
from tests.support.served import Server

pytestmark = pytest.mark.browser

ORDERS: FilePayload = {"name": "orders.txt", "mimeType": "text/plain", "buffer": "订单".encode("gbk")}
GREETING: FilePayload = {"name": "greeting.txt", "mimeType": "text/plain", "buffer": "안녕".encode("euc-kr")}
BUDGET: FilePayload = {"name": "budget.txt", "mimeType": "text/plain", "buffer": "予算3".encode("shift_jis")}
YES: FilePayload = {"name": "yes.txt", "mimeType": "text/plain", "buffer": "Да".encode("cp1251")}
CHOICES = {
    "orders.txt": ("GB18030", "订单"),
    "greeting.txt": ("EUC-KR", "안녕"),
    "budget.txt": ("Shift", "予算3"),
    "yes.txt": ("Windows-1251", "Да"),
}
"""What a person types to choose the encoding, and the text that the model is to get."""


def another_yes(number: int) -> FilePayload:
    """A file of its own for each test: a person's choice holds for the same content, whenever they attach it."""
    return {**YES, "buffer": YES["buffer"] + b"\n%d" % number}


def read_of(page: Page, name: str) -> str:
    """What the model will get of a file: its link shows that."""
    link = page.locator(".chip").filter(has_text=name).get_by_role("link", name=name)
    return page.request.get(link.get_attribute("href") or "").text()


def test_a_doubtful_encoding_is_said_and_another_is_chosen_by_keyboard(written: Server, writer: Writer, visits: Visits) -> None:
    chat = opened(written, visits)
    attach(chat.page, ORDERS, GREETING, BUDGET, YES)
    chips = chat.page.locator(".chip")
    for name, (typed, text) in CHOICES.items():
        chip = chips.filter(has_text=name)
        expect(chip).to_contain_text("Its encoding is not certain: it was read as ")
        choice = chip.get_by_role("combobox", name=f"Encoding of {name}")
        chip.get_by_role("link", name=name).focus()
        chat.page.keyboard.press("Tab")
        expect(choice).to_be_focused()
        chat.page.keyboard.type(typed)
        expect(chip).not_to_contain_text("not certain")
        expect(chip).to_contain_text("of the limit")
        expect(choice).to_be_focused()
        assert read_of(chat.page, name) == text
    other = visits.open(written, "ada")
    expect(other.locator(".chip")).to_have_count(4)
    chat.page.reload()
    still(chat.page)
    for page in (chat.page, other):
        for name, (typed, text) in CHOICES.items():
            choice = page.get_by_role("combobox", name=f"Encoding of {name}")
            expect(choice.locator("option:checked")).to_contain_text(typed)
            assert read_of(page, name) == text
    writer.write("Thank you.")
    chat.ask_and_wait("What do they say?")
    asked = json.dumps(json.loads(writer.asked), ensure_ascii=False)
    assert all(text in asked for _, text in CHOICES.values())


def test_a_message_waits_until_the_file_is_read_in_the_chosen_encoding(written: Server, writer: Writer, visits: Visits) -> None:
    chat = opened(written, visits, **PHONE)
    attach(chat.page, another_yes(2))
    chip = chat.page.locator(".chip")
    expect(chip).to_contain_text("not certain")
    chat.box.fill("What does it say?")
    held: list[Route] = []
    chat.page.route("**/encoding/?*", lambda route: held.append(route))
    chip.get_by_role("combobox").select_option("Windows-1251")
    chat.box.press("Control+Enter")
    expect(chat.problem).to_contain_text("still being read")
    until(chat.page, lambda: held)
    held[0].continue_()
    expect(chip).not_to_contain_text("not certain")
    expect(chip).to_contain_text("of the limit")
    writer.write("Yes.")
    chat.box.press("Control+Enter")
    chat.finish()
    assert "Да" in json.dumps(json.loads(writer.asked), ensure_ascii=False)


def test_an_encoding_chosen_in_another_tab_is_shown_in_this_one(written: Server, visits: Visits) -> None:
    chat = opened(written, visits)
    attach(chat.page, another_yes(3))
    expect(chat.page.locator(".chip")).to_contain_text("not certain")
    other = visits.open(written, "ada")
    other.get_by_role("combobox", name="Encoding of yes.txt").select_option("Windows-1251")
    expect(other.locator(".chip")).not_to_contain_text("not certain")
    expect(other.locator(".chip")).to_contain_text("of the limit")
    chat.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    expect(chat.page.locator(".chip")).not_to_contain_text("not certain")
    assert read_of(chat.page, "yes.txt") == "Да\n3"
    chat.page.get_by_role("button", name="Remove yes.txt").click()
    expect(chat.page.locator(".chip")).to_have_count(0)
