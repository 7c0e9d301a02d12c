"""Menus close when they are no longer needed, and the focus is never lost: keyboard users continue where they were."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

OPTIONS = "Options for this conversation"
FOCUSED = "() => document.activeElement !== document.body"


def talk(server: Server, visits: Visits, question: str, name: str = "ada") -> Chat:
    chat = Chat(visits.open(server, name))
    chat.ask_and_wait(question)
    chat.settle()
    return chat


def opened(page: Page) -> tuple[Locator, Locator]:
    """The top bar's button and its open menu."""
    button, menu = page.get_by_role("button", name=OPTIONS), page.locator("#top-menu")
    button.click()
    expect(menu).to_be_visible()
    return button, menu


def test_arrow_keys_lead_along_a_menu_which_closes_after_a_choice_on_escape_outside_and_when_left(demo: Server, visits: Visits) -> None:
    page = talk(demo, visits, "A question with a menu").page
    button, menu = opened(page)
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()

    page.keyboard.press("Enter")
    items = menu.locator("a:visible, button:visible")
    for key, item in (("ArrowDown", items.first), ("ArrowUp", items.last), ("ArrowDown", items.first), ("ArrowDown", items.nth(1))):
        page.keyboard.press(key)
        expect(item).to_be_focused()
    page.keyboard.press("Escape")
    expect(button).to_be_focused()

    opened(page)
    with page.expect_download():
        menu.get_by_role("link", name="Download as Markdown").click()
    expect(menu).to_be_hidden()

    opened(page)
    page.mouse.click(500, 400)
    expect(menu).to_be_hidden()

    opened(page)
    menu.locator(".menu-item").last.focus()
    page.keyboard.press("Tab")
    expect(menu).to_be_hidden()
    assert page.evaluate(FOCUSED)

    opened(page)
    button.click()
    expect(menu).to_be_hidden()


def test_the_focus_is_somewhere_after_each_button_of_an_exchange(paced: Server, visits: Visits) -> None:
    chat = Chat(visits.open(paced, "bela"))
    chat.ask_and_wait("Hello!")
    chat.button("Regenerate").focus()
    chat.page.keyboard.press("Enter")
    expect(chat.stop).to_be_focused()
    chat.page.keyboard.press("Enter")
    chat.finish("stopped")
    expect(chat.box).to_be_focused()

    chat.button("Edit").focus()
    chat.page.keyboard.press("Enter")
    editor = chat.last.get_by_role("textbox", name="Your message")
    editor.fill("Hello again!")
    editor.press("Enter")
    expect(chat.question).to_have_text("Hello again!")
    chat.page.wait_for_function(FOCUSED)
    chat.finish()
    expect(chat.box).to_be_focused()


def test_sentences_stand_in_the_box_while_an_answer_is_written_and_after_stop(paced: Server, visits: Visits) -> None:
    chat = Chat(visits.open(paced, "ada"))
    chat.page.wait_for_load_state()
    chat.box.fill("Hello!")
    chat.send.click()
    expect(chat.stop).to_be_visible()
    chat.page.keyboard.type("terse")
    expect(chat.box).to_have_value("terse")
    chat.box.fill("")
    chat.stop.click()
    chat.finish("stopped")
    chat.page.keyboard.type("terse")
    expect(chat.box).to_have_value("terse")
    expect(chat.exchanges).to_have_count(1)
