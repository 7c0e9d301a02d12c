"""The bin: opened from the menu; it restores a conversation in the list of every tab, and deletes one for good after confirmation."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.sidebar.conftest import Patient
from tests.browser.visits import Visits, until
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_a_deleted_conversation_is_found_in_the_bin_brought_back_and_deleted_for_good(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "bela"))
    chat.ask_and_wait("A talk for the bin")
    chat.settle()
    address = chat.page.url
    aside = chat.page.context.new_page()
    connected(aside, "/")
    page = chat.page
    page.get_by_role("button", name="Options for this conversation").click()
    page.locator("#top-menu").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/?deleted=*")
    expect(aside.locator(".conversation-item", has_text="A talk for the bin")).to_have_count(0)

    page.get_by_role("button", name="Account: bela").click()
    page.get_by_role("link", name="Bin", exact=True).click()
    item = page.locator(".aside-item", has_text="A talk for the bin")
    expect(item).to_contain_text("It will be permanently removed on")
    item.get_by_role("button", name="Restore").click()
    page.wait_for_url(address)
    expect(aside.locator(".conversation-item", has_text="A talk for the bin")).to_have_count(1)

    page.get_by_role("button", name="Options for this conversation").click()
    page.locator("#top-menu").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/?deleted=*")
    page.goto("/bin/")
    page.get_by_role("link", name="Delete permanently “A talk for the bin”").click()
    page.get_by_role("link", name="Keep it in the bin").click()
    expect(item).to_be_visible()
    page.get_by_role("link", name="Delete permanently “A talk for the bin”").click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("status")).to_have_text("The conversation was permanently deleted.")
    expect(item).to_have_count(0)
    visits.allow("404")
    gone = page.goto(address)
    assert gone is not None and gone.status == 404


@pytest.mark.extended
def test_a_tab_whose_running_conversation_is_deleted_shows_no_refusal_that_nobody_asked_for(patient: Server, visits: Visits) -> None:
    chat = Chat(visits.open(patient, "ada"))
    chat.ask("A sum that is not wanted")
    chat.settle()
    other = Chat(chat.page.context.new_page())
    frames = connected(other.page, chat.page.url)
    expect(other.answer).to_contain_text("Two and two")
    chat.page.get_by_role("button", name="Options for this conversation").click()
    chat.page.locator("#top-menu").get_by_role("button", name="Delete").click()
    gone = other.page.locator(".banner-deleted")
    expect(gone).to_be_visible()
    until(other.page, lambda: any("E-X-NOT-FOUND" in frame for frame in frames))
    other.page.wait_for_timeout(100)
    expect(other.problem).to_be_empty()

    Patient.going.set()
    other.ask("Is it still there?")
    expect(other.problem).to_have_text("This does not exist, or you do not have access to it.")
    gone.get_by_role("button", name="Undo").click()
    expect(gone).to_be_hidden()
    expect(other.problem).to_be_empty()
    expect(other.box).to_have_value("Is it still there?")
    expect(other.last).not_to_have_attribute("data-state", "running")
    other.box.press("Enter")
    expect(other.exchanges).to_have_count(2)
    other.finish()


def connected(page: Page, address: str) -> list[str]:
    """Open a page and wait for its socket: it is not told what changed before that. Returns the frames that it receives, as they come."""
    frames: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: frames.append(str(data))))
    page.goto(address)
    until(page, lambda: frames)
    return frames
