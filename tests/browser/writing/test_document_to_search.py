"""A document that does not fit the context of a real server: the person chooses what the model reads, or lets it search."""

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.browser.writing.test_documents import attach
from tests.support.served import Server

pytestmark = pytest.mark.browser

LONG: FilePayload = {"name": "long.txt", "mimeType": "text/plain", "buffer": b"A word and another. " * 60_000}


def test_the_model_searches_a_document_if_its_person_chooses_so(llama: Server, visits: Visits) -> None:
    chat = Chat(visits.open(llama, "bela"))
    attach(chat.page, LONG)
    chip = chat.page.locator(".chip")
    expect(chip).to_contain_text("over the limit")
    choice = chat.page.get_by_label("What the model reads of long.txt")
    expect(choice.locator("option")).to_have_text(["The beginning, up to the limit", "Search only: the model looks things up"])
    choice.select_option(label="Search only: the model looks things up")
    chat.ask("ping")
    documents = chat.last.get_by_role("region", name="Documents").get_by_role("listitem")
    expect(documents).to_contain_text(["search only"])
    expect(chip).to_have_count(0)
    # How the tiny model uses a tool that it does not know does not matter here: the turn ends and can be asked again like any other.
    expect(chat.last).not_to_have_attribute("data-state", "running")
    chat.settle()
    chat.page.reload()
    expect(documents).to_contain_text(["search only"])
