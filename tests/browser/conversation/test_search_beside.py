"""Results of a search stay beside the conversation that one of them leads to: marked, stepped through, after Back and after a load."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_talk, make_talks
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser


def search_for(page: Page, words: str) -> Locator:
    field(page).fill(words)
    expect(page.locator(".search-hit").first).to_be_visible()
    return page.locator(".search-hit")


def field(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search your conversations")


def current(page: Page) -> Locator:
    return page.locator(".search-hit[aria-current=page]")


def place(page: Page) -> Locator:
    return page.locator(".search-place")


def with_word(deployment: Deployment, count: int) -> str:
    """Make conversations with a question each that has this word; the newest has the highest number."""
    word = f"quoll{uuid4().hex[:8]}"
    make_talks(deployment, "ada", {f"Talk {number}": (f"Where do {word} {number} sleep?", "In dens.") for number in range(1, count + 1)})
    return word


def test_results_stay_and_the_open_one_is_marked(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    word = with_word(demo_deployment, 3)
    page = visits.open(demo, "ada")
    hits = search_for(page, word)
    expect(hits).to_have_count(3)
    expect(place(page)).to_have_text("3 results")
    hits.nth(1).click()
    page.wait_for_url("**#m-*")
    expect(hits).to_have_count(3)
    expect(current(page)).to_contain_text("Talk 2")
    expect(place(page)).to_have_text("Result 2 of 3")
    expect(Chat(page).box).to_be_focused()

    page.get_by_role("button", name="Next result").click()
    expect(page.locator(":target .question-text")).to_have_text(f"Where do {word} 1 sleep?")
    expect(place(page)).to_have_text("Result 3 of 3")
    expect(page.get_by_role("button", name="Next result")).to_be_disabled()
    page.go_back()
    expect(page.locator(":target .question-text")).to_have_text(f"Where do {word} 2 sleep?")
    expect(place(page)).to_have_text("Result 2 of 3")
    page.reload()
    expect(place(page)).to_have_text("Result 2 of 3")
    expect(field(page)).to_have_value(word)
    expect(current(page)).to_contain_text("Talk 2")
    expect(page.locator("conversation-list")).to_be_hidden()

    page.get_by_role("button", name="Close the search").click()
    expect(hits).to_have_count(0)
    expect(page.locator("conversation-list")).to_be_visible()
    expect(field(page)).to_be_focused()
    page.reload()
    expect(page.locator("conversation-list")).to_be_visible()
    expect(field(page)).to_have_value("")


def test_by_keyboard_and_where_results_end(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    word = with_word(demo_deployment, 2)
    page = visits.open(demo, "ada")
    search_for(page, word)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(place(page)).to_have_text("Result 1 of 2")
    page.keyboard.press("Alt+Shift+J")
    expect(place(page)).to_have_text("Result 2 of 2")
    expect(page.locator(":target .question-text")).to_have_text(f"Where do {word} 1 sleep?")
    page.keyboard.press("Alt+Shift+J")
    expect(page.get_by_text("There are no more results.")).to_be_visible()
    previous = page.get_by_role("button", name="Previous result")
    previous.focus()
    page.keyboard.press("Enter")
    expect(place(page)).to_have_text("Result 1 of 2")
    expect(page.get_by_role("button", name="Next result")).to_be_enabled()
    page.keyboard.press("Control+k")
    expect(field(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("conversation-list")).to_be_visible()
    page.keyboard.press("Alt+Shift+J")
    expect(place(page)).to_be_hidden()


def test_a_new_conversation_ends_the_search_and_another_person_finds_none_of_it(
    demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    word = with_word(demo_deployment, 1)
    page = visits.open(demo, "ada")
    search_for(page, word).first.click()
    expect(place(page)).to_have_text("Result 1 of 1")
    page.locator(".new-chat").click()
    page.wait_for_url(demo.url + "/")
    expect(page.locator("conversation-list")).to_be_visible()
    expect(field(page)).to_have_value("")

    search_for(page, word)
    page.reload()
    expect(place(page)).to_have_text("1 result")
    page.goto(f"{demo.url}/assistants/")
    page.get_by_role("link", name="Back to your conversations").click()
    expect(page.locator("conversation-list")).to_be_visible()
    expect(field(page)).to_have_value("")

    search_for(page, word)
    page.get_by_role("button", name="Ada").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('search'))") == []


def test_on_a_phone_the_list_shows_where_one_is(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    word = with_word(demo_deployment, 2)
    page = visits.open(demo, "ada")
    page.set_viewport_size({"width": 390, "height": 740})
    opener = page.get_by_role("button", name="Open the list of conversations")
    opener.click()
    search_for(page, word).first.click()
    expect(page.locator(":target .question-text")).to_have_text(f"Where do {word} 2 sleep?")
    expect(place(page)).not_to_be_in_viewport()
    opener.click()
    expect(place(page)).to_have_text("Result 1 of 2")
    page.get_by_role("button", name="Next result").click()
    expect(page.locator(":target .question-text")).to_have_text(f"Where do {word} 1 sleep?")


def test_results_of_further_pages_are_stepped_through(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    word = f"quoll{uuid4().hex[:8]}"
    make_talk(demo_deployment, "ada", *(f"{word} number {number}" for number in range(24)), title="A long talk")
    page = visits.open(demo, "ada")
    hits = search_for(page, word)
    expect(place(page)).to_have_text("at least 20 results")
    hits.nth(19).click()
    expect(place(page)).to_have_text("Result 20 of 20+")
    page.get_by_role("button", name="Next result").click()
    expect(place(page)).to_have_text("Result 21 of 24")
    page.reload()
    expect(place(page)).to_have_text("Result 21 of 24")
    expect(current(page)).to_be_in_viewport()
