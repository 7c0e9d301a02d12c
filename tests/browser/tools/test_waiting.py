"""A call that waits for approval is seen from elsewhere, the card says how long there is, and an expired one can be asked again."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.sidebar.test_folders import make
from tests.browser.visits import PHONE, Visits, still
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

ASK = "Keep a note about the trip in Oslo, please."
TEXT: FilePayload = {"name": "trip.txt", "mimeType": "text/plain", "buffer": b"Oslo, on Monday."}

POST = """async ([action, fields]) => {
  const headers = { "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content, Accept: "application/json" };
  await fetch(`${location.pathname}${action}/`, { method: "POST", headers, body: new URLSearchParams(fields) });
}"""
HOLD = """() => {
  const { fetch } = globalThis;
  globalThis.fetch = async (path, options) => {
    if (options?.method === "POST") await new Promise((done) => { globalThis.release = done; });
    return fetch(path, options);
  };
}"""


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, whose calls wait for a minute and some seconds."""
    with served(Deployment(tmp_path_factory.mktemp("patient"), CHATUI_TOOL_APPROVAL_SECONDS="66")) as server:
        yield server


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, whose calls wait for a second."""
    with served(Deployment(tmp_path_factory.mktemp("hasty"), CHATUI_TOOL_APPROVAL_SECONDS="1")) as server:
        yield server


def waits(page: Page) -> Locator:
    return page.locator(".conversation-item").get_by_text("Waits for your decision")


def entry(page: Page, chat: Chat) -> Locator:
    """The entry of the chat's conversation in the list of another page, which may list those of other tests."""
    return page.locator(f".conversation-item[data-conversation='{urlsplit(chat.page.url).path.split('/')[2]}']")


def test_the_list_and_the_titles_of_all_tabs_show_it_until_it_is_decided(patient: Server, visits: Visits) -> None:
    chat = Chat(visits.open(patient, "ada"))
    aside = chat.page.context.new_page()
    aside.goto("/")
    still(aside)
    before = aside.title()

    chat.ask(ASK)
    card = chat.page.locator("[data-waiting]")
    hint = card.locator(".approval-hint")
    expect(hint).to_have_text("Without a decision, the call is declined in 1 minute.")
    for page in (aside, chat.page):
        expect(waits(page)).to_be_attached()
        mark = page.locator(".conversation-waits")
        expect(mark).to_be_visible()
        assert mark.evaluate("mark => getComputedStyle(mark, '::before').content").startswith('"!"'), "not by its colour alone"
        expect(page.locator(".conversation-item .conversation-running")).to_be_hidden()
    expect(aside).to_have_title(f"(1) {before}")
    aside.reload()
    expect(waits(aside)).to_be_attached()
    expect(aside).to_have_title(f"(1) {before}")
    chat.page.locator(".approval-title").focus()
    expect(hint).to_have_text("Without a decision, the call is declined in less than a minute.")
    expect(chat.page.locator(".approval-title")).to_be_focused()
    expect(chat.page.locator(".announcer")).to_have_text("A tool waits for your decision.")

    card.get_by_role("button", name="Decline").click()
    chat.finish()
    for page in (aside, chat.page):
        expect(waits(page)).to_have_count(0)
    expect(aside).to_have_title(before)
    aside.reload()
    expect(entry(aside, chat)).to_be_attached()
    expect(waits(aside)).to_have_count(0)


def test_a_conversation_that_is_pinned_archived_or_restored_meanwhile_keeps_its_marks(patient: Server, visits: Visits) -> None:
    chat = Chat(visits.open(patient, "ada"))
    chat.ask(ASK)
    chat.settle()
    expect(waits(chat.page)).to_be_attached()
    aside = visits.open(patient, "ada", **PHONE)
    still(aside)
    opener = aside.get_by_role("button", name="Open the list of conversations")
    assert opener.evaluate("button => getComputedStyle(button, '::after').content").startswith('"!"'), "the list is closed"
    item = entry(aside, chat)
    for place in ("pinned", "archive", "list"):
        chat.page.evaluate(POST, ["put", {"place": place}])
        expect(item).to_have_count(0 if place == "archive" else 1)
        expect(waits(aside)).to_have_count(0 if place == "archive" else 1)
        expect(item.locator(".conversation-running")).to_have_count(0 if place == "archive" else 1)
    chat.page.get_by_role("button", name="Decline").click()
    chat.finish()
    expect(waits(aside)).to_have_count(0)
    assert opener.evaluate("button => getComputedStyle(button, '::after').content") == "none"


def test_of_two_tabs_that_decide_at_once_the_second_is_shown_what_was_decided(patient: Server, visits: Visits) -> None:
    visits.allow("409")
    chat = Chat(visits.open(patient, "ada"))
    chat.ask(ASK)
    chat.settle()
    other = chat.page.context.new_page()
    other.goto(chat.page.url)
    expect(other.locator("[data-waiting]")).to_be_visible()
    other.evaluate(HOLD)
    other.get_by_role("button", name="Allow once").click()
    other.wait_for_function("() => globalThis.release")
    chat.page.get_by_role("button", name="Decline").click()
    chat.finish()
    with other.expect_response(lambda response: response.status == 409), other.expect_response("**/calls/"):
        other.evaluate("() => globalThis.release()")
    other.evaluate("async () => { await fetch(location.pathname); await new Promise(requestAnimationFrame); }")
    expect(other.locator(".approval-done")).to_contain_text("You declined this call.")
    expect(other.locator(".toast")).to_have_count(0)


def test_nothing_waits_in_a_conversation_that_is_deleted_meanwhile(patient: Server, visits: Visits) -> None:
    visits.allow("404")
    chat = Chat(visits.open(patient, "ada"))
    chat.ask(ASK)
    chat.settle()
    buttons = chat.page.locator(".approval-form")
    expect(buttons).to_be_visible()
    expect(chat.page).to_have_title(re.compile(r"^\(1\) "))
    aside = visits.open(patient, "ada", path=urlsplit(chat.page.url).path)
    aside.evaluate(POST, ["delete", {}])
    expect(chat.last).to_have_attribute("data-state", "stopped")
    expect(chat.page).not_to_have_title(re.compile(r"^\(1\) "))
    expect(buttons).to_be_hidden()


@pytest.mark.extended
def test_a_call_in_a_temporary_chat_is_in_the_title(patient: Server, visits: Visits) -> None:
    chat = Chat(visits.open(patient, "ada"))
    chat.page.get_by_role("link", name="Temporary chat").click()
    chat.page.wait_for_url("**/?temporary*")
    before = chat.page.title()
    chat.ask(ASK)
    expect(chat.page).to_have_title(f"(1) {before}")
    chat.page.get_by_role("button", name="Decline").click()
    chat.finish()
    expect(chat.page).to_have_title(before)


@pytest.mark.extended
def test_a_folder_with_such_a_call_shows_it_open_and_folded(patient: Server, visits: Visits) -> None:
    page = visits.open(patient, "ada")
    make(page, "Trips")
    chat = Chat(page)
    chat.ask(ASK)
    chat.settle()
    expect(page.locator("[data-waiting]")).to_be_visible()
    aside = visits.open(patient, "ada")
    expect(aside.locator(".folder-items").get_by_text("Waits for your decision")).to_be_attached()
    expect(aside.locator(".conversation-waits")).to_be_visible()
    aside.locator(".folder-head").click()
    head = aside.locator(".folder-head").evaluate("head => getComputedStyle(head, '::after').content")
    assert head.startswith('"!"')
    page.get_by_role("button", name="Decline").click()
    for tab in (page, aside):
        expect(waits(tab)).to_have_count(0)
    chat.finish()


def test_after_the_time_ran_out_the_same_words_and_files_can_be_asked_again(hasty: Server, visits: Visits) -> None:
    chat = Chat(visits.open(hasty, "ada"))
    page = chat.page
    still(page)
    page.locator("chat-composer [type=file]").first.set_input_files(TEXT)
    expect(page.locator("chat-composer .chip[data-state=ready]")).to_be_visible()
    chat.ask(ASK)
    line = page.locator(".approval-lapsed")
    expect(line.first).to_contain_text("Nobody decided in time, so the call was declined.")
    chat.finish()
    expect(page.locator(".conversation-waits")).to_have_count(0)
    page.reload()
    chat.box.fill("unsent words")
    page.get_by_role("button", name="Ask again").click()

    expect(chat.exchanges).to_have_count(2)
    for exchange in chat.exchanges.all():
        expect(exchange.locator(".question-text")).to_contain_text("Keep a note about the trip")
        expect(exchange.locator(".question")).to_contain_text("trip.txt")
        expect(exchange.locator(".siblings")).to_have_count(0)
    expect(line.first).to_be_visible()
    expect(chat.box).to_have_value("unsent words")
    expect(line).to_have_count(2)
    chat.finish()
