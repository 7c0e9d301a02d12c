"""What is typed on a conversation's page stands in the message box, and does nothing else; on other pages it does nothing at all."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

SENTENCES = ("just the price", "Regenerate", "/ is it 'far'? really?")


def _clicked(page: Page) -> None:
    page.locator(".question-text").last.click()


def _scrolled(page: Page) -> None:
    page.locator(".scroller").hover()
    page.mouse.wheel(0, -400)
    page.locator("main").focus()


def _searched(page: Page) -> None:
    page.keyboard.press("Alt+Shift+F")
    box = page.get_by_role("search", name="This conversation").get_by_role("searchbox")
    box.fill("question")
    box.press("Escape")


def _copied(page: Page) -> None:
    page.locator("chat-transcript [data-action=copy-answer]").last.click()


def _cancelled(page: Page) -> None:
    page.keyboard.press("Alt+Shift+E")
    expect(page.locator(".question-editor[data-ready]")).to_be_visible()
    page.keyboard.press("Escape")


def _picked(page: Page) -> None:
    page.get_by_role("combobox", name="Reasoning").click()
    page.keyboard.press("Escape")


WAYS: list[Callable[[Page], object]] = [lambda page: None, lambda page: page.reload(), _clicked, _scrolled, _searched]
CONTROLS: list[Callable[[Page], object]] = [_copied, _cancelled, _picked]


def test_sentences_stand_in_the_box_whatever_was_done_before_and_nothing_else_happens(
    demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    address, _ = make_long_talk(demo_deployment, "ada", 3)
    page = visits.open(demo, "ada", address)
    chat = Chat(page)
    page.wait_for_load_state()
    before = chat.last.get_attribute("data-turn")
    for first in WAYS + CONTROLS:
        first(page)
        page.wait_for_load_state()
        for number, sentence in enumerate(SENTENCES):
            if first in CONTROLS and number:
                first(page)
            page.keyboard.type(sentence)
            expect(chat.box).to_have_value(sentence)
            chat.box.fill("")
            page.evaluate("document.activeElement.blur()")
        assert chat.last.get_attribute("data-turn") == before
        assert page.url.endswith(address)
        expect(page.locator(".question-editor")).to_have_count(0)
        expect(page.locator("#sidebar")).to_be_visible()


def test_what_is_written_after_a_click_on_send_is_the_next_message(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.page.wait_for_load_state()
    chat.box.fill("explain")
    chat.send.click()
    chat.page.keyboard.type("no, the bus")
    expect(chat.box).to_have_value("no, the bus")
    chat.finish()


def test_keys_stay_with_controls_menus_dialogs_and_space_scrolls(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    page, keys = chat.page, chat.page.keyboard
    keys.press("Tab")
    for control in (chat.links.first, page.locator(".account-button"), page.get_by_role("combobox").first):
        control.focus()
        keys.type("terse")
        expect(control).to_be_focused()
    page.locator(".account-button").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    keys.type("terse")
    keys.press("Escape")
    page.locator("main").focus()
    for other in ("Space", "PageUp", "Control+Shift+ArrowUp"):
        keys.press(other)
        expect(page.locator("main")).to_be_focused()
    expect(chat.box).to_have_value("")
    expect(chat.exchanges).to_have_count(1)
    page.keyboard.press("Shift+T")
    expect(chat.box).to_have_value("T")


@pytest.mark.parametrize("path", ["/settings/", "/bin/"])
def test_on_pages_without_a_box_keys_do_nothing(path: str, demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", path)
    page.wait_for_load_state()
    before = page.content()
    for key in "abcdefghijklmnopqrstuvwxyz0123456789/?'.,":
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"{path}$"))
    assert page.content() == before


def test_on_a_phone_enter_is_a_new_line_and_the_button_sends_also_in_the_editor(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", **PHONE))
    chat.page.wait_for_load_state()
    chat.box.tap()
    expect(chat.box).to_have_attribute("enterkeyhint", "enter")
    chat.page.keyboard.type("One\ntwo")
    expect(chat.box).to_have_value("One\ntwo")
    expect(chat.exchanges).to_have_count(0)
    chat.send.tap()
    chat.finish()
    chat.settle()
    turn = chat.last.get_attribute("data-turn") or ""

    chat.button("Edit").tap()
    editor = chat.last.get_by_role("textbox", name="Your message")
    expect(chat.last.locator(".question-editor[data-ready]")).to_be_visible()
    expect(editor).to_have_attribute("enterkeyhint", "enter")
    chat.page.keyboard.type("\nthree")
    expect(editor).to_have_value("One\ntwo\nthree")
    expect(chat.last).to_have_attribute("data-turn", turn)
    chat.page.keyboard.press("Control+Enter")
    expect(chat.question).to_have_text("One\ntwo\nthree")
    chat.finish()


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_what_enter_does_can_be_chosen_for_this_browser(options: dict[str, Any], demo: Server, visits: Visits) -> None:
    sends = not options
    chat = Chat(visits.open(demo, "ada", **options))
    page = chat.page
    page.wait_for_load_state()
    if options:
        page.get_by_role("button", name="Open the list of conversations").tap()
    page.locator(".account-button").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    choice = page.get_by_role("checkbox", name="Enter sends the message in this browser")
    expect(choice).to_be_checked(checked=sends)
    choice.set_checked(not sends)
    page.get_by_role("dialog", name="Keyboard shortcuts").get_by_role("button", name="Close").click()
    hint = page.locator("#composer-hint")
    said = "Enter for a new line · Ctrl+Enter to send" if sends else "Enter to send · Shift+Enter for a new line"
    expect(hint).to_have_text(said)

    page.reload()
    page.wait_for_load_state()
    expect(hint).to_have_text(said)
    chat.box.focus()
    expect(chat.box).to_have_attribute("enterkeyhint", "enter" if sends else "send")
    page.keyboard.type("One")
    page.keyboard.press("Enter")
    if sends:
        expect(chat.box).to_have_value("One\n")
        page.keyboard.press("Control+Enter")
    expect(chat.question).to_have_text("One")


def test_enter_is_a_new_line_on_a_phone_also_while_the_scripts_are_loaded(demo: Server, visits: Visits) -> None:
    visits.allow("Failed to load resource|ERR_FAILED")
    chat = Chat(visits.open(demo, "ada", **PHONE))
    chat.page.route("**/js/chat/page.*", lambda route: route.abort())
    chat.page.reload()
    chat.box.tap()
    chat.page.keyboard.type("One\ntwo")
    expect(chat.box).to_have_value("One\ntwo")
    expect(chat.page.locator(".composer-form[data-asked]")).to_have_count(0)
