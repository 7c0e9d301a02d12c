"""The thumbs below an answer: by mouse, by keyboard, on a phone and after a reload. Nothing is sent before the dialog says who reads it."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.support.served import Server

pytestmark = pytest.mark.browser

READS = "People who evaluate or train the models here can read your rating"


def answered(visits: Visits, demo: Server, **options: object) -> Chat:
    chat = Chat(visits.open(demo, "ada", **options))  # type: ignore[arg-type]
    chat.ask_and_wait("Hello")
    chat.settle()
    return chat


def is_pressed(chat: Chat, name: str, state: str) -> None:
    expect(chat.button(name)).to_have_attribute("aria-pressed", state)


def test_a_bad_answer_is_rated_with_a_reason_and_the_rating_withdrawn(demo: Server, visits: Visits) -> None:
    chat = answered(visits, demo)
    page = chat.page
    before = chat.last.bounding_box()
    chat.button("Bad answer").click()
    dialog = page.get_by_role("dialog", name="What is wrong with this answer?")
    expect(dialog).to_contain_text(READS)
    is_pressed(chat, "Bad answer", "false")
    dialog.get_by_label("It is wrong").check()
    dialog.get_by_label("Comment (optional)").fill("It is five.")
    dialog.get_by_role("button", name="Send rating").click()
    expect(page.locator(".toast")).to_contain_text("Thank you.")
    is_pressed(chat, "Bad answer", "true")
    is_pressed(chat, "Good answer", "false")
    assert chat.last.bounding_box() == before, "nothing moved"
    page.reload()
    is_pressed(chat, "Bad answer", "true")
    chat.button("Bad answer").click()
    is_pressed(chat, "Bad answer", "false")
    page.reload()
    is_pressed(chat, "Bad answer", "false")


def test_every_tab_shows_a_rating_immediately(demo: Server, visits: Visits) -> None:
    chat = answered(visits, demo)
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    elsewhere = Chat(visits.open(demo, "bela"))
    still(other.page)
    chat.button("Good answer").click()
    chat.page.get_by_role("button", name="Send rating").click()
    is_pressed(other, "Good answer", "true")
    is_pressed(other, "Bad answer", "false")
    other.button("Good answer").click()
    is_pressed(chat, "Good answer", "false")
    expect(elsewhere.page.locator(".thumbs")).to_have_count(0)
