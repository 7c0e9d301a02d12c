"""What is typed on a conversation's page stands in the message box, and does nothing else; on other pages it does nothing at all."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

SENTENCES = (
    "can you shorten it", "just the price", "let me see", "explain more", "thanks", "no, the bus", "Regenerate", "make it shorter",
    "show the table", "/ is it 'far'? really?",
)  # fmt: skip


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


@pytest.mark.parametrize("first", [lambda page: None, lambda page: page.reload(), _clicked, _scrolled, _searched])
def test_sentences_stand_in_the_box_and_nothing_else_happens(
    first: Callable[[Page], object], demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    address, _ = make_long_talk(demo_deployment, "ada", 3)
    page = visits.open(demo, "ada", address)
    chat = Chat(page)
    page.wait_for_load_state()
    before = chat.last.get_attribute("data-turn")
    first(page)
    page.wait_for_load_state()
    for sentence in SENTENCES:
        page.keyboard.type(sentence)
        expect(chat.box).to_have_value(sentence)
        chat.box.fill("")
        page.evaluate("document.activeElement.blur()")
    assert chat.last.get_attribute("data-turn") == before
    assert page.url.endswith(address)
    expect(page.locator(".question-editor")).to_have_count(0)
    expect(page.locator("#sidebar")).to_be_visible()


def test_keys_stay_with_controls_menus_dialogs_and_space_scrolls(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    page, keys = chat.page, chat.page.keyboard
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


@pytest.mark.parametrize("path", ["/settings/", "/shares/", "/archived/", "/bin/", "/import/"])
def test_on_pages_without_a_box_keys_do_nothing(path: str, demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", path)
    page.wait_for_load_state()
    before = page.content()
    for key in "abcdefghijklmnopqrstuvwxyz0123456789/?'.,":
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"{path}$"))
    assert page.content() == before
