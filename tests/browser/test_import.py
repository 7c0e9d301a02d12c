"""A person imports the export of another product, reads the report, and opens a conversation with both versions of an answer."""

import re

import pytest
from playwright.sync_api import FilePayload, Route, expect

from tests.browser.visits import PHONE, Visits, until
from tests.chatui.transfer.other_products import samples
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_an_export_becomes_conversations_and_a_report_says_what_is_missing(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", **PHONE)
    page.get_by_role("button", name="Open the list of conversations").tap()
    page.get_by_role("button", name="Account: ada").tap()
    page.get_by_role("link", name="Settings").tap()
    page.get_by_role("link", name="My data").tap()
    page.get_by_role("link", name="Import conversations").tap()
    again = samples.OPEN_WEBUI | {"chat": samples.OPEN_WEBUI["chat"] | {"title": "A second loaf", "history": second_answer_open()}}
    file: FilePayload = {
        "name": "chats.json",
        "mimeType": "application/json",
        "buffer": samples.as_json([samples.OPEN_WEBUI, again, {"chat": 7}]),
    }
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Import").tap()
    expect(page.get_by_text("2 conversations were imported.")).to_be_visible()
    expect(page.get_by_role("heading", name="Hidden or left out")).to_be_visible()
    expect(page.get_by_text("1 conversation was not imported, because it could not be read.")).to_be_visible()
    expect(page.get_by_text("2 images were left out.")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")

    page.get_by_role("link", name="A second loaf").tap()
    expect(page.get_by_text("Give it five more minutes.")).to_be_visible()
    time = page.locator(".exchange").first.locator(".answer answer-time")
    expect(time).to_have_count(0)  # the export has no time
    expect(page.locator(".top-bar .imported-mark")).to_have_attribute("title", re.compile("from Open WebUI"))
    page.get_by_role("group", name="Versions of this answer").get_by_role("button", name="Previous version").tap()
    expect(page.get_by_text("The loaf is ready.")).to_be_visible()
    expect(time).to_contain_text("2023")
    # Not the whole page, as it also lists other conversations of this person.
    assert "SECRET" not in page.get_by_role("main").inner_html()


def test_a_person_looks_into_a_file_before_importing_it(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", path="/import/")
    text = "version: 2.2\n<|start|>user<|message|>Hi<|end|>\n<|start|>robot<|message|>SECRET<|end|>\n"
    page.get_by_label("File").set_input_files({"name": "talk.ocml", "mimeType": "text/plain", "buffer": text.encode()})
    page.get_by_role("button", name="Look into the file first").click()
    found = page.get_by_role("status")
    expect(found).to_contain_text("2 messages, 1 of them visible.")
    expect(found).to_contain_text("Message 2, line 3")
    expect(found).not_to_contain_text("SECRET")
    look = page.get_by_role("button", name="Look into the file first")
    waiting: list[Route] = []
    page.route("**/import/", lambda route: waiting.append(route))
    look.click()
    until(page, lambda: waiting)
    other: FilePayload = {"name": "other.ocml", "mimeType": "text/plain", "buffer": text.encode()}
    page.get_by_label("File").set_input_files(other)
    with page.expect_response("**/import/"):
        waiting[0].continue_()
    page.unroute("**/import/")
    expect(look).to_be_enabled()
    expect(found).to_be_empty()  # it would be about the other file
    page.get_by_role("button", name="Import", exact=True).click()  # the file is still chosen
    expect(page.get_by_text("1 conversation was imported.")).to_be_visible()


def test_a_question_that_came_without_an_answer_gets_one(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", path="/import/")
    written = b"version: 2.2\n<|start|>user<|message|>Hi, by any chance?<|end|>\n"
    page.get_by_label("File").set_input_files({"name": "talk.ocml", "mimeType": "text/plain", "buffer": written})
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="Hi, by any chance?").first.click()
    get = page.get_by_role("button", name="Get an answer")
    get.click()
    expect(page.locator(".exchange .answer-end answer-row")).to_be_visible(timeout=30_000)
    expect(page.locator(".exchange")).to_have_count(1)
    expect(get).to_be_hidden()
    page.reload()
    expect(page.locator(".exchange .answer-end answer-row")).to_be_visible()
    expect(get).to_have_count(0)


def second_answer_open() -> dict[str, object]:
    history: dict[str, object] = samples.OPEN_WEBUI["chat"]["history"]
    return history | {"currentId": "a2"}
