"""Searching conversations and sharing one: by keyboard, on a phone, and as a visitor who has only the link."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, Wire
from tests.support.served import Server

pytestmark = [pytest.mark.browser]

HIDDEN = ("page nervous", "gap name", "search_notes", "twelve people starts", "canary 5521")
"""Words from the demo's hidden reasoning about a launch, its tool call and reply, and the developer message."""


def talk(visits: Visits, demo: Server, question: str, name: str = "ada", **options: Any) -> Chat:
    chat = Chat(visits.open(demo, name, **options))
    chat.ask_and_wait(question)
    chat.settle()
    return chat


def search_field(page: Page):
    return page.get_by_role("searchbox", name="Search your conversations")


def hits(page: Page):
    return page.locator(".search-hit")


def shared_link(page: Page) -> str:
    """Create a link on the conversation's page and return its address."""
    page.get_by_role("button", name="Options for this conversation").click()
    page.get_by_role("link", name="Share…").click()
    expect(page.get_by_role("heading", name="This is what they will see")).to_be_visible()
    page.get_by_role("button", name="Create link").click()
    page.wait_for_url("**/share/?made=*")
    return page.locator(".share-link-new .share-link-address").input_value()


def test_a_conversation_is_found_by_keyboard_alone(visits: Visits, demo: Server) -> None:
    chat = talk(visits, demo, "Where do the quokkas winter?")
    page = chat.page
    page.goto("/")
    page.keyboard.press("Control+k")
    expect(search_field(page)).to_be_focused()
    page.keyboard.type("quokk winter")
    expect(hits(page)).to_have_count(1)
    expect(hits(page).locator("mark")).to_have_text(["quokkas", "winter"])
    expect(page.locator(".search-status")).to_have_text("1 result")
    expect(page.locator("conversation-list")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(hits(page).first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(search_field(page)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/*/*#m-*")
    expect(page.locator(":target .question-text")).to_have_text("Where do the quokkas winter?")
    expect(page.locator(":target")).to_be_in_viewport()


def test_what_was_found_stays_in_view_in_a_long_conversation(visits: Visits, demo: Server) -> None:
    chat = talk(visits, demo, "Explain the first armadillo")
    for number in range(3):
        chat.ask_and_wait(f"Explain it again, number {number}")
    search_field(chat.page).fill("armadillo")
    hits(chat.page).first.click()
    chat.page.wait_for_url("**/c/*/*#m-*")
    expect(chat.page.locator(":target .question-text")).to_be_in_viewport()
    expect(chat.page.get_by_role("button", name="Jump to the latest")).to_be_visible()
    chat.page.wait_for_timeout(1000)
    expect(chat.page.locator(":target .question-text")).to_be_in_viewport()


def test_nothing_that_the_model_thought_is_found(visits: Visits, demo: Server) -> None:
    wire = Wire()
    chat = talk(visits, demo, "Plan the launch of our chat", wire=wire)
    search_field(chat.page).fill("plan launch")
    expect(hits(chat.page).first).to_be_visible()
    for words in HIDDEN:
        search_field(chat.page).fill(words)
        expect(chat.page.locator(".search-none")).to_be_visible()


def test_a_stranger_reads_what_was_shared_and_nothing_else(visits: Visits, demo: Server) -> None:
    chat = talk(visits, demo, "Explain how reasoning stays out of sight")
    link = shared_link(chat.page)
    preview = chat.page.locator("article.shared .part").first.inner_text()
    wire = Wire()
    stranger = visits.open(demo, None, urlsplit(link).path, wire=wire)
    expect(stranger.get_by_role("heading", name="Explain how reasoning stays out of sight", level=1)).to_be_visible()
    assert stranger.locator("article.shared .part").first.inner_text().split()[:60] == preview.split()[:60]
    expect(stranger.locator(".code-head").first).to_be_visible()
    expect(stranger.locator(".katex").first).to_be_attached()
    assert stranger.context.cookies() == []
    everything = b"\n".join(wire.received).decode("utf-8", "replace")
    conversation = re.search(r"/c/([0-9a-f-]{36})/", chat.page.url)
    assert conversation and conversation[1] not in everything and "data-message" not in stranger.content()
    assert "DEVELOPER-CANARY" not in everything


def test_a_link_is_copied_and_taken_back(visits: Visits, demo: Server) -> None:
    chat = talk(visits, demo, "A short one, please")
    link = shared_link(chat.page)
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    parts = [each.bounding_box() for each in chat.page.locator(".share-form > :visible").all()]
    ends = [round(part["y"] + part["height"]) for part in parts if part]
    assert len(ends) == 3 and len(set(ends)) == 1, "choices and button are in one row"
    row = chat.page.locator(".share-link-new")
    row.get_by_role("button", name="Copy").click()
    expect(row.get_by_role("button", name="Copied")).to_be_visible()
    assert chat.page.evaluate("navigator.clipboard.readText()") == link
    chat.page.goto("/shares/")
    own_link = chat.page.locator(".share-link").filter(has=chat.page.locator(f'[value="{link}"]'))
    own_link.get_by_role("button", name="Revoke").click()
    chat.page.wait_for_url("**/shares/")
    expect(chat.page.locator(f'[value="{link}"]')).to_have_count(0)
    visits.allow("404")
    stranger = visits.open(demo, None, urlsplit(link).path)
    expect(stranger.get_by_text("This link does not work: it has expired, was revoked, or never existed.")).to_be_visible()
    expect(stranger.get_by_text("Back to your conversations")).to_have_count(0)


def test_a_hidden_tab_shows_that_an_answer_is_ready_and_no_text_of_it(visits: Visits, demo: Server) -> None:
    chat = talk(visits, demo, "Hello there")
    expect(chat.page).to_have_title(re.compile("^Hello there"))
    title = chat.page.title()
    chat.page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    chat.ask_and_wait("And again")
    expect(chat.page).to_have_title(f"Answer ready · {title}")
    chat.page.evaluate("() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); }")
    expect(chat.page).to_have_title(title)
    chat.ask_and_wait("And once more")
    expect(chat.page).to_have_title(title)
