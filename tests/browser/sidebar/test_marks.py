"""The marks in the list: an answer is being written, or one has ended that the person has not seen."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.sidebar.conftest import Patient
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

HIDE = "Object.defineProperty(document, 'hidden', { value: true, configurable: true })"
SHOW = "() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); }"


def entry(page: Page, title: str) -> Locator:
    return page.locator(".conversation-item").filter(has_text=title)


def running(page: Page, title: str) -> Locator:
    return entry(page, title).get_by_text("Thinking or writing")


def new(page: Page, title: str) -> Locator:
    return entry(page, title).get_by_text("New answer")


def beside(chat: Chat, path: str = "/") -> Page:
    """Another tab of the same person."""
    page = chat.page.context.new_page()
    page.goto(path)
    page.wait_for_load_state()
    return page


def test_every_tab_and_a_reload_show_where_an_answer_is_written_and_where_one_is_new(patient: Server, visits: Visits) -> None:
    chat = Chat(visits.open(patient, "ada"))
    aside, third = beside(chat), beside(chat)
    chat.ask("Unseen sums")
    chat.settle()
    expect(chat.answer).to_contain_text("Two and two")
    address = chat.page.url
    for page in (chat.page, aside):
        expect(running(page, "Unseen sums")).to_be_attached()
    aside.reload()
    expect(running(aside, "Unseen sums")).to_be_attached()

    chat.page.evaluate(HIDE)
    Patient.going.set()
    chat.finish()
    for page in (aside, third):
        expect(running(page, "Unseen sums")).to_have_count(0)
        expect(new(page, "Unseen sums")).to_be_attached()
    aside.reload()
    expect(new(aside, "Unseen sums")).to_be_attached()
    mark = entry(aside, "Unseen sums").locator(".conversation-new")
    expect(mark).to_be_visible()

    aside.goto(address)
    for page in (third, chat.page, aside):
        expect(new(page, "Unseen sums")).to_have_count(0)
    third.reload()
    expect(third.locator(".conversation-new")).to_have_count(0)


def test_a_tab_that_shows_the_answer_or_comes_back_to_it_leaves_no_mark(patient: Server, visits: Visits) -> None:
    chat = Chat(visits.open(patient, "ada"))
    aside = beside(chat)
    Patient.going.set()
    chat.ask_and_wait("Sums that are watched")
    expect(entry(aside, "Sums that are watched")).to_be_attached()
    expect(aside.locator(".conversation-mark")).to_have_count(0)

    chat.settle()
    chat.page.evaluate(HIDE)
    chat.ask_and_wait("And again")
    expect(new(aside, "Sums that are watched")).to_be_attached()
    chat.page.evaluate(SHOW)
    expect(new(aside, "Sums that are watched")).to_have_count(0)
