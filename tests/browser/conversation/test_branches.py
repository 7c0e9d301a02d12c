"""Edits and regenerated answers become new branches, and no branch is ever lost."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = [pytest.mark.browser, pytest.mark.llama]


def test_an_edited_question_is_a_branch_and_the_old_one_can_be_shown_again(llama: Server, visits: Visits) -> None:
    chat = Chat(visits.open(llama, "bela"))
    chat.ask_and_wait("Hello!")
    chat.ask_and_wait("What is 2 + 2?")
    first = chat.exchanges.first

    edit(first, "ping")
    expect(chat.exchanges).to_have_count(1)
    expect(chat.question).to_have_text("ping")
    chat.finish()
    expect(chat.answer).not_to_be_empty()
    versions = first.get_by_role("group", name="Versions of your message")
    expect(versions).to_contain_text("2 of 2")

    versions.get_by_role("button", name="Previous version").click()
    expect(chat.exchanges).to_have_count(2)
    expect(first.locator(".question-text")).to_have_text("Hello!")
    expect(chat.question).to_have_text("What is 2 + 2?")
    expect(chat.answer).to_contain_text("4")
    expect(versions.get_by_role("button", name="Next version")).to_be_focused()

    chat.page.reload()
    expect(chat.exchanges).to_have_count(2)
    versions.get_by_role("button", name="Next version").click()
    expect(chat.question).to_have_text("ping")
    chat.page.reload()
    expect(chat.question).to_have_text("ping")
    expect(chat.exchanges).to_have_count(1)


def test_a_regenerated_answer_stands_beside_the_old_one(llama: Server, visits: Visits) -> None:
    chat = Chat(visits.open(llama, "bela"))
    chat.ask_and_wait("Hello!")
    old_turn = chat.last.get_attribute("data-turn") or ""

    chat.button("Regenerate").click()
    expect(chat.last).not_to_have_attribute("data-turn", old_turn)
    chat.finish()
    expect(chat.exchanges).to_have_count(1)
    versions = chat.last.get_by_role("group", name="Versions of this answer")
    expect(versions).to_contain_text("2 of 2")
    new_turn = chat.last.get_attribute("data-turn") or ""
    versions.get_by_role("button", name="Previous version").click()
    expect(chat.last).to_have_attribute("data-turn", old_turn)
    expect(versions).to_contain_text("1 of 2")

    # A new message continues the version that is shown, and the other version stays.
    chat.ask_and_wait("What is 2 + 2?")
    chat.page.reload()
    expect(chat.exchanges).to_have_count(2)
    chat.exchanges.first.get_by_role("button", name="Next version").click()
    expect(chat.exchanges).to_have_count(1)
    expect(chat.last).to_have_attribute("data-turn", new_turn)
    chat.last.get_by_role("button", name="Previous version").click()
    expect(chat.exchanges).to_have_count(2)


def edit(exchange: Locator, text: str) -> None:
    exchange.hover()
    exchange.get_by_role("button", name="Edit", exact=True).click()
    exchange.get_by_role("textbox", name="Your message").fill(text)
    exchange.get_by_role("textbox", name="Your message").press("Enter")
