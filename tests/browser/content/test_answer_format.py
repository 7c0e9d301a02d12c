"""A schema for a conversation's answers in a real browser: set on its page, shown at the message box, and answers are shown as code."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

NOTE = "Answers here are JSON that matches a schema."
SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer", "minimum": 4}}, "required": ["sum"]}
OVERFLOWS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def set_schema(page: Page, text: str) -> None:
    page.get_by_role("button", name="Options for this conversation").click()
    expect(page.get_by_role("link", name="Answers as JSON…")).to_have_count(0)
    page.locator("#top-menu summary").click()  # the menu stays open
    page.get_by_role("link", name="Answers as JSON…").click()
    expect(page.get_by_role("heading", name="Answers as JSON")).to_be_visible()
    assert not page.evaluate(OVERFLOWS)
    page.get_by_label("JSON schema").fill(text)
    page.get_by_role("button", name=re.compile("Answer in JSON|Save")).click()


def test_answers_are_code_that_fits_until_the_schema_is_cleared(demo: Server, visits: Visits) -> None:
    visits.allow(r"400 \(Bad Request\)")
    chat = Chat(visits.open(demo, "ada"))
    page = chat.page
    chat.ask("Hello!")
    chat.finish()
    page.reload()
    expect(page.get_by_text(NOTE)).to_have_count(0)

    set_schema(page, '{"type": ')
    expect(page.locator(".field-problem")).to_have_text("This is not a JSON object. Check line 1, character 9.")
    page.get_by_label("JSON schema").fill(json.dumps(SCHEMA))
    page.get_by_role("button", name="Answer in JSON").click()

    expect(page.get_by_text(NOTE)).to_be_visible()
    assert not page.evaluate(OVERFLOWS)
    chat.ask("What is 2 + 2?")
    chat.finish()
    for _ in ("live", "after a reload"):
        code = chat.last.locator("pre code")
        expect(code).to_have_count(1)
        assert json.loads(code.inner_text()) == {"sum": 4}
        expect(chat.last.get_by_role("button", name="Copy").first).to_be_attached()
        page.reload()

    page.get_by_role("link", name="Change", exact=True).click()
    page.get_by_role("button", name="Switch back to text").click()
    expect(page.get_by_text(NOTE)).to_have_count(0)


def test_a_schema_is_set_before_the_first_message_and_holds_from_that_on(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    page = chat.page
    page.get_by_label("Message", exact=True).fill("What is 2 + 2?")
    expect(page.get_by_role("link", name="Answers as JSON…")).to_have_count(0)  # in the menu alone
    page.get_by_role("button", name="Options for this conversation").click()
    page.get_by_role("link", name="Answers as JSON…").click()
    page.get_by_label("JSON schema").fill(json.dumps(SCHEMA))
    page.get_by_role("button", name="Answer in JSON").click()

    expect(page.get_by_text(NOTE)).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("What is 2 + 2?")
    assert not page.evaluate(OVERFLOWS)
    chat.ask("What is 2 + 2?")
    chat.finish()
    assert json.loads(chat.last.locator("pre code").inner_text()) == {"sum": 4}
    expect(page.get_by_text(NOTE)).to_be_visible()
    expect(page.locator(".while-empty:visible")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("link", name="Change", exact=True)).to_be_visible()
    page.goto(demo.url)
    expect(page.get_by_text(NOTE)).to_have_count(0)
