"""Everything that people and staff do, by keyboard only: Tab reaches it, Enter does it, and Escape closes it."""

from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility.model import WRITES
from tests.browser.accessibility.world import REASON, World
from tests.browser.chat import Chat, wait_for_clipboard

pytestmark = pytest.mark.browser
NAMED = """name => {
  const element = document.activeElement;
  const label = element.ariaLabel ?? element.labels?.[0]?.textContent ?? element.textContent;
  return element !== document.body && new RegExp(name).test(label.trim().replace(/\\s+/g, " "));
}"""
THERE = """name => [...document.querySelectorAll("a, button, input, select, summary, textarea, [tabindex]")].some(element => {
  const label = element.ariaLabel ?? element.labels?.[0]?.textContent ?? element.textContent;
  return element.checkVisibility() && new RegExp(name).test(label.trim().replace(/\\s+/g, " "));
})"""
MAX_STOPS = 120


def tab_to(page: Page, name: str, *, back: bool = False) -> None:
    """Press Tab until the element with that name has the focus. ``name`` is a regular expression."""
    # Tab would skip an element that only a pending reply of the server adds, such as an Undo button.
    page.wait_for_function(THERE, arg=name)
    for _ in range(MAX_STOPS):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(NAMED, name):
            return
    raise AssertionError(f"Tab does not lead to {name!r}")


def press(page: Page, *names: str, back: bool = False) -> None:
    """Reach each of these in turn, and press Enter."""
    for name in names:
        tab_to(page, name, back=back)
        page.keyboard.press("Enter")


@pytest.fixture
def chat(world: World) -> Chat:
    """A conversation with one answer; the focus is in the message box."""
    page = world.page_of("ada")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/")
    page.wait_for_load_state()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.type("A question by keys")
    page.keyboard.press("Enter")
    chat = Chat(page)
    expect(chat.exchanges).to_have_count(1)
    chat.finish()
    chat.settle()
    expect(chat.box).to_be_focused()
    return chat


def test_stopping_continuing_versions_editing_and_copying(world: World, chat: Chat) -> None:
    page = chat.page
    world.model.hold()
    page.keyboard.type(WRITES)
    page.keyboard.press("Enter")
    expect(chat.answer).to_contain_text("Two and two")
    press(page, "^Stop$")
    chat.finish("stopped")
    expect(chat.box).to_be_focused()
    world.model.resume()

    press(page, "^Regenerate$", back=True)
    chat.finish()
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_contain_text("2 of 2")
    press(page, "^Previous version$")
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_contain_text("1 of 2")

    page.goto(chat.page.url)
    chat.finish("stopped")
    chat.box.focus()
    press(page, "^Edit$", back=True)
    editor = chat.last.get_by_role("textbox", name="Your message")
    expect(editor).to_be_focused()
    page.keyboard.press("Escape")
    expect(editor).to_have_count(0)
    expect(chat.button("Edit")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("A better question")
    page.keyboard.press("Enter")
    expect(chat.question).to_have_text("A better question")
    chat.finish()
    press(page, "^Copy$")
    wait_for_clipboard(page, "Two and two are four.")


@pytest.mark.extended
def test_renaming_pinning_archiving_and_deleting_from_the_list(chat: Chat) -> None:
    page = chat.page
    menu = page.locator("#conversation-menu")
    press(page, "^Options for “A question by keys")
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    assert page.evaluate(NAMED, "^Options for “A question by keys"), "the focus is where it was"

    page.keyboard.press("Enter")
    press(page, "^Rename$")
    page.keyboard.press("ControlOrMeta+A")
    # A first attempt of this test may have left one with the same name.
    title = f"Renamed by keys {uuid4().hex[:6]}"
    page.keyboard.type(title)
    page.keyboard.press("Enter")
    item = page.locator(".conversation-item", has_text=title)
    expect(item).to_be_visible()

    for act, place in (("^Pin$", "[data-pinned]"), ("^Unpin$", ":not([data-pinned])")):
        press(page, f"^Options for “{title}", act)
        expect(page.locator(f".conversation-item{place}", has_text=title)).to_be_visible()
    for act in ("^Archive$", "^Delete$"):
        page.goto("/")
        page.wait_for_load_state()
        press(page, f"^Options for “{title}", act, "^Undo$")
        expect(item).to_be_visible()


def test_finding_and_searching(chat: Chat) -> None:
    page = chat.page
    press(page, "^Options for this conversation$", "^Find…$")
    expect(page.locator(".find-text")).to_be_focused()  # the bar is loaded on first use
    page.keyboard.type("four")
    expect(page.locator(".find-status")).to_contain_text("1 of")
    page.keyboard.press("Escape")
    expect(page.locator(".find-bar")).to_be_hidden()
    expect(page.locator(":focus")).to_be_visible()

    tab_to(page, "^Search your conversations$", back=True)
    page.keyboard.type("question by")
    expect(page.locator(".search-hit").first).to_be_visible()
    press(page, "A question by keys")
    page.wait_for_url("**at=**")


@pytest.mark.extended
def test_staff_ask_for_the_debug_view_filter_the_audit_log_and_change_an_account(world: World, chat: Chat) -> None:
    page = world.page_of("grace")
    page.goto(chat.page.url + "debug/")
    tab_to(page, "^Reason")
    page.keyboard.type(REASON)
    tab_to(page, "^15 minutes")
    page.keyboard.press("ArrowDown")
    press(page, "^Request the debug view$")
    expect(page.get_by_role("heading", name="Waiting for a second person")).to_be_visible()
    press(page, "^Withdraw the request$")
    page.wait_for_url(world.server.url + "/")

    page.goto("/audit/")
    press(page, "^Filter$")
    tab_to(page, "^Who$")
    page.keyboard.type("nobody")
    press(page, "^Apply filter$")
    expect(page.get_by_text("No matching lines.")).to_be_visible()

    page.goto("/manage/people/?q=newcomer")
    press(page, "^newcomer$")
    tab_to(page, "^guides")
    page.keyboard.press("Space")
    press(page, "^Save$")
    expect(page.locator(".manage-done")).to_be_visible()


def test_a_message_is_written_and_read_in_a_window_zoomed_to_400_percent(chat: Chat) -> None:
    page = chat.page
    page.set_viewport_size({"width": 320, "height": 256})
    chat.box.focus()
    page.keyboard.type("Words that need more than the one line that a small window has for them")
    expect(chat.box).to_be_in_viewport(ratio=0.5)
    page.keyboard.press("Enter")
    expect(chat.exchanges).to_have_count(2)
    chat.finish()
    expect(chat.scroller).to_be_in_viewport(ratio=1)
    assert (chat.scroller.bounding_box() or {"height": 0})["height"] >= 64, "several lines are visible at a time"
    tab_to(page, "^Send$|^Reasoning effort$")
    expect(page.locator(":focus")).to_be_in_viewport(ratio=0.9)
