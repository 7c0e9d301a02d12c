"""A conversation by keyboard, by screen reader and in the dark theme."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.relay import Relay
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

NAMELESS = re.compile(r"^\s*- (button|link|textbox|combobox|group|list|navigation|log|checkbox|radio)(?: \[[^\]]*\])*:?$", re.MULTILINE)
# Lists need no names: neither those in answers nor the two of the page.
NEEDS_NO_NAME = re.compile(r"^\s*- list:?$", re.MULTILINE)


@pytest.mark.llama
def test_a_conversation_by_keyboard_alone(llama: Server, visits: Visits, relay: Relay) -> None:
    page = visits.open(llama, "ada")
    chat = Chat(page)
    expect(chat.box).to_be_focused()

    relay.hold_after(90)
    page.keyboard.type("Count from 1 to 200.")
    page.keyboard.press("Enter")
    expect(chat.answer).to_contain_text("1, 2, 3")
    page.keyboard.press("Escape")
    chat.finish("stopped")
    relay.release()
    expect(chat.box).to_be_focused()

    page.reload()
    expect(chat.box).to_be_focused()
    skip = page.get_by_role("link", name="Skip to the message box")
    skip.focus()  # the first stop of the page; after the list of conversations, Tab would need many
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(chat.box).to_be_focused()
    page.keyboard.type("Hello!")
    page.keyboard.press("Enter")
    expect(chat.exchanges).to_have_count(2)
    chat.finish()
    page.keyboard.press("Shift+Tab")
    reach(page, "Regenerate", back=True)
    old_turn = chat.last.get_attribute("data-turn") or ""
    page.keyboard.press("Enter")
    expect(chat.last).not_to_have_attribute("data-turn", old_turn)
    chat.finish()


@pytest.mark.extended
def test_menus_open_and_close_by_keyboard_and_give_the_focus_back(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada")
    account = page.get_by_role("button", name="Account: ada")
    account.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("group", name="Account")
    expect(menu).to_be_visible()
    reach(page, "Dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(account).to_be_focused()

    page.keyboard.press("Control+Shift+O")
    page.wait_for_url(demo.url + "/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.llama
def test_a_screen_reader_hears_thinking_and_answer_ready_once_each(llama: Server, visits: Visits) -> None:
    chat = Chat(visits.open(llama, "ada"))
    announcer = chat.page.locator(".announcer")
    expect(announcer).to_have_attribute("aria-live", "polite")

    chat.ask_and_wait("Explain in detail how a transistor works.")
    expect(announcer).to_have_text("Answer ready")
    assert announcements(chat.page) == ["Thinking", "Answer ready"]
    expect(chat.page.get_by_role("log", name="Conversation")).to_have_attribute("aria-live", "off")
    chat.ask_and_wait("Think hard: how do I get to work fastest?")
    chat.button("Regenerate").click()
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_be_visible()
    chat.finish()
    assert announcements(chat.page) == ["Thinking", "Answer ready"] * 3


def test_everything_that_can_be_used_has_a_name(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "grace")
    chat = Chat(page)
    chat.ask_and_wait("explain")
    chat.settle()
    chat.button("Regenerate").click()
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_be_visible()
    named(page, "banner", "navigation", "main", "log", "textbox")
    expect(page.get_by_role("heading", level=1).first).to_have_text("explain")
    chat.button("Edit").click()
    named(page, "textbox")
    address = page.url
    page.goto(address + "debug/")
    named(page, "banner", "main", "textbox")
    page.get_by_role("button", name="Open the debug view").click()
    named(page, "banner", "main", "list")
    for path in ("/", "/password/", "/pages/help/"):
        page.goto(path)
        named(page, "main", "link")
    named(visits.open(demo, path="/sign-in/"), "main", "textbox", "button")


@pytest.mark.extended
def test_the_appearance_follows_the_system_and_the_readers_choice(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", color_scheme="dark")
    assert brightness(page) < 60
    page.get_by_role("button", name="Account: ada").click()
    page.get_by_role("button", name="Light", exact=True).click()
    assert brightness(page) > 200
    page.reload()
    assert brightness(page) > 200
    page.goto("/pages/help/")
    assert brightness(page) > 200
    page.get_by_role("button", name="Auto", exact=True).click()
    assert brightness(page) < 60


def reach(page: Page, name: str, *, back: bool = False) -> None:
    """Press Tab until the button with this name has the focus."""
    for _ in range(30):
        focused = page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText.trim()")
        if focused == name:
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{name} cannot be reached by Tab")


def announcements(page: Page) -> list[str]:
    """The announcements of the live region since the page was loaded."""
    announced: list[str] = page.evaluate("announced")
    return announced


def named(page: Page, *roles: str) -> None:
    """Check the accessibility tree: it has these roles, and every control has a name."""
    tree = page.locator("body").aria_snapshot()
    for role in roles:
        assert re.search(rf"^\s*- '?{role}\b", tree, re.MULTILINE), (page.url, role, tree)
    found = [line[0] for line in NAMELESS.finditer(tree) if not NEEDS_NO_NAME.match(line[0])]
    assert found == [], (page.url, tree)


def brightness(page: Page) -> float:
    """The brightness of the page's background, from 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", colour)][:3]
    return sum(numbers) / 3
