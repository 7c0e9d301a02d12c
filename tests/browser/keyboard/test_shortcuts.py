"""Keyboard shortcuts do what the buttons do, need a modifier, and can be changed."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser


def sheet(page: Page) -> Locator:
    """The dialog that lists the shortcuts."""
    return page.get_by_role("dialog", name="Keyboard shortcuts")


def away(chat: Chat) -> None:
    """Move the focus out of the message box."""
    chat.page.locator("main").focus()


def test_each_shortcut_does_what_the_page_offers(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "sam", "about:blank"))
    for question in ("The first one", "The second one"):
        chat.page.goto("/")
        chat.ask_and_wait(question)
        chat.settle()
    chat.page.evaluate("""() => {
      globalThis.copied = "";
      navigator.clipboard.write = async ([item]) => { globalThis.copied = await (await item.getType("text/plain")).text(); };
    }""")
    away(chat)
    keys = chat.page.keyboard

    keys.press("Alt+Shift+C")
    chat.page.wait_for_function("() => globalThis.copied.length > 10")
    keys.press("Alt+Shift+E")
    expect(chat.page.get_by_role("textbox", name="Your message")).to_be_focused()
    expect(chat.last.locator(".question-editor[data-ready]")).to_be_visible()  # now Escape closes it
    keys.press("Escape")
    keys.press("Alt+Shift+R")
    expect(chat.button("Previous version")).to_be_visible()
    chat.finish()
    away(chat)
    keys.press("Alt+Shift+M")
    expect(chat.box).to_be_focused()
    keys.press("Control+k")
    expect(chat.page.get_by_role("searchbox")).to_be_focused()

    away(chat)
    keys.press("Alt+Shift+J")
    expect(chat.question).to_have_text("The first one")
    chat.page.wait_for_load_state()
    away(chat)
    keys.press("Alt+Shift+K")
    expect(chat.question).to_have_text("The second one")
    chat.page.wait_for_load_state()
    keys.press("Control+Shift+O")
    expect(chat.exchanges).to_have_count(0)


def test_the_sheet_keeps_the_focus_and_gives_it_back(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "sam"))
    chat.page.wait_for_load_state()
    new = chat.page.get_by_role("link", name="New conversation").first
    new.focus()
    chat.page.keyboard.press("Alt+Shift+H")
    expect(sheet(chat.page)).to_be_visible()
    for _ in range(15):
        chat.page.keyboard.press("Tab")
        # Between the last and the first stop, the focus may leave the page, but not move to what is behind the dialog.
        assert chat.page.evaluate("() => document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    chat.page.keyboard.press("Escape")
    expect(sheet(chat.page)).to_be_hidden()
    expect(new).to_be_focused()

    account = chat.page.locator(".account-button")
    account.click()
    chat.page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(sheet(chat.page)).to_be_visible()
    sheet(chat.page).get_by_role("button", name="Close").click()
    expect(account).to_be_focused()


def test_keys_can_be_changed_and_a_clash_is_reported(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "sam"))
    chat.page.wait_for_load_state()
    away(chat)
    chat.page.keyboard.press("Alt+Shift+H")
    box = sheet(chat.page).get_by_role("button", name="Go to the message box")
    status = sheet(chat.page).get_by_role("status")
    box.click()
    chat.page.keyboard.press("c")
    expect(status).to_have_text("Alt+Shift+C is already used for “Copy the last answer”. Choose other keys, or change that shortcut first.")
    chat.page.keyboard.press("Control+t")
    expect(status).to_contain_text("are reserved for the browser")
    chat.page.keyboard.press("x")
    expect(status).to_have_text("Saved.")
    chat.page.keyboard.press("Escape")

    chat.page.reload()
    chat.page.wait_for_load_state()
    away(chat)
    chat.page.keyboard.press("Alt+Shift+M")
    expect(chat.box).not_to_be_focused()
    chat.page.keyboard.press("Alt+Shift+X")
    expect(chat.box).to_be_focused()
    away(chat)
    chat.page.keyboard.press("Alt+Shift+H")
    expect(box).to_have_accessible_name("Go to the message box Alt+Shift+X")
    sheet(chat.page).get_by_role("button", name="Restore the default keys").click()
    expect(box).to_have_accessible_name("Go to the message box Alt+Shift+M")
