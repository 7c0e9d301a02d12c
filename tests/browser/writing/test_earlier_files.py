"""The dialog with earlier files: a person finds one by its name, by keyboard alone or on a phone, and sends it again."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.browser.writing.test_documents import NOTES, TABLE, attach, opened
from tests.support.served import Server

pytestmark = pytest.mark.browser


def with_two_sent(demo: Server, visits: Visits, **options: Any) -> Chat:
    """The page of a new conversation, of a person who has sent two files before."""
    chat = opened(demo, visits, **options)
    attach(chat.page, NOTES, TABLE)
    expect(chat.page.locator(".chip")).to_contain_text(["of the limit", "of the limit"])
    chat.ask_and_wait("What is in them?")
    chat.settle()
    chat.page.goto("/")
    still(chat.page)
    return chat


def test_an_earlier_file_is_found_with_keys_alone_and_sent_again(demo: Server, visits: Visits) -> None:
    chat = with_two_sent(demo, visits)
    chat.page.get_by_role("button", name="Earlier files").focus()
    chat.page.keyboard.press("Enter")
    dialog = chat.page.get_by_role("dialog", name="Earlier files")
    files = dialog.get_by_role("listitem").get_by_role("button")
    expect(files.filter(has_text="figures.csv")).to_have_count(1)
    expect(dialog.get_by_role("searchbox")).to_be_focused()
    chat.page.keyboard.type("no such")
    expect(dialog.get_by_role("status")).to_have_text("No matching files.")
    expect(files).to_have_count(0)
    chat.page.keyboard.press("ControlOrMeta+a")
    chat.page.keyboard.type("fig")
    expect(files).to_have_count(1)
    chat.page.keyboard.press("Tab")
    expect(files).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(chat.box).to_be_focused()
    chips = chat.page.locator(".chip")
    expect(chips).to_contain_text(["figures.csv"])
    chat.page.keyboard.type("And again?")
    chat.page.keyboard.press("Enter")
    chat.finish()
    expect(chat.last.get_by_role("region", name="Documents").get_by_role("listitem")).to_contain_text(["figures.csv"])
    expect(chips).to_have_count(0)
