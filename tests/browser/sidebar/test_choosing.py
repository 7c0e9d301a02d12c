"""Several conversations at once: chosen in the list with the mouse, keys and a finger, on a page without scripts, and undone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser


def talks(page: Page, *titles: str) -> None:
    """Conversations with these titles, of which the last is open."""
    chat = Chat(page)
    for title in titles:
        page.goto("/")
        chat.ask_and_wait(title)
    chat.settle()


def choose_several(page: Page, title: str) -> None:
    item = page.locator(".conversation-items .conversation-item", has_text=title)
    item.hover()
    item.locator(".conversation-more").click()
    page.locator("#conversation-menu").get_by_role("link", name="Choose several…").click()
    expect(page.get_by_role("checkbox", name=title)).to_be_checked()


def test_several_are_deleted_from_the_list_and_come_back(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "bela")
    talks(page, "First of several", "Second of several", "Third of several")
    choose_several(page, "First of several")
    address = page.url
    page.locator(".conversation-link", has_text="Second of several").click()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    assert page.url == address, "a click ticks the box, and opens nothing"
    page.locator(".sidebar .choose").get_by_role("button", name="Delete").click()
    for title in ("First of several", "Second of several"):
        expect(page.locator(".conversation-item", has_text=title)).to_have_count(0)
    expect(page.locator(".toast-text")).to_have_text("Moved 2 conversations to the bin.")
    expect(page.locator(".choose-box")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    for title in ("First of several", "Second of several"):
        expect(page.locator(".conversation-items .conversation-item", has_text=title)).to_have_count(1)


def test_they_are_chosen_and_moved_by_keys_and_the_folder_opens(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "bela", "/folders/new/")
    page.get_by_label("Name").fill("Of several")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/?folder=*")
    talks(page, "One for the folder", "Two for the folder")
    choose_several(page, "One for the folder")
    keys = page.keyboard
    expect(page.get_by_role("checkbox", name="One for the folder")).to_be_focused()
    page.get_by_role("checkbox", name="Two for the folder").focus()
    keys.press("Space")
    expect(page.get_by_text("2 chosen")).to_be_visible()
    keys.press("Escape")
    expect(page.locator(".choose-box")).to_have_count(0)

    choose_several(page, "Two for the folder")
    page.get_by_role("combobox", name="Folder").select_option("Of several")
    page.locator(".sidebar .choose").get_by_role("button", name="Move").press("Enter")
    inside = page.locator(".folder", has_text="Of several").locator(".conversation-item", has_text="Two for the folder")
    expect(inside).to_be_visible()
    expect(inside.locator("[aria-current=page]")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".conversation-items .conversation-item", has_text="Two for the folder").locator("[aria-current]")).to_be_visible()
    expect(inside).to_have_count(0)


def test_one_is_moved_into_a_new_folder_that_opens_and_undone(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "bela")
    talks(page, "A talk that moves")
    page.get_by_role("button", name="Options for this conversation").click()
    page.locator("#top-menu").get_by_role("link", name="Move to folder…").click()
    page.get_by_role("textbox", name="New folder").fill("Made while moving")
    page.get_by_role("button", name="Create and move").click()
    inside = page.locator(".folder", has_text="Made while moving").locator(".conversation-item", has_text="A talk that moves")
    expect(inside.locator("[aria-current=page]")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(inside).to_have_count(0)
    expect(page.locator(".conversation-items .conversation-item", has_text="A talk that moves").locator("[aria-current]")).to_be_visible()
