"""The row below an answer is the same as after a reload."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

BELOW = """(place) => place.innerHTML.replace(/\\s+/g, " ").replaceAll("> <", "><").trim()"""


def below(chat: Chat) -> str:
    shown: str = chat.last.locator(".answer-end").evaluate(BELOW)
    return shown


def test_the_row_is_the_same_after_a_reload(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", locale="ko-KR")
    for text in ("Hello", "And again"):
        page.locator("#composer-text").fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".answer-tools")).to_have_count(1 if text == "Hello" else 2)
    page.wait_for_url("**/c/*/")
    chat = Chat(page)
    live = below(chat)
    assert live.count("<button") == 5
    page.reload()
    chat.finish()
    assert below(chat) == live


def test_a_temporary_chat_has_no_thumbs_at_once_and_after_a_reload(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", "/?temporary"))
    chat.ask_and_wait("Hello")
    chat.settle()
    live = below(chat)
    assert "thumbs" not in live and "copy-answer" in live
    chat.page.reload()
    chat.finish()
    assert below(chat) == live
