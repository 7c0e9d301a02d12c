"""Collections of documents in a browser: made, filled, chosen beside the message box and asked, also on a phone."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

_CLEAR = 'from chatui.models import Collection; Collection.objects.filter(owner__username="bela").delete()'
RULES = FilePayload(name="rules.txt", mimeType="text/plain", buffer=b"Holidays are requested in writing.")
NEW_RULES = FilePayload(name="rules.txt", mimeType="text/plain", buffer=b"Holidays are requested online.")


@pytest.fixture
def page(demo_deployment: Deployment, visits: Visits, demo: Server) -> Page:
    demo_deployment.manage("shell", "--no-imports", "-c", _CLEAR)
    return visits.open(demo, "bela", "about:blank")


def make(page: Page) -> None:
    page.goto("/collections/")
    page.get_by_role("link", name="New collection").click()
    page.get_by_label("Name", exact=True).fill("Handbook")
    page.get_by_label("Description").fill("The rules of the office")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Files").set_input_files(files=[RULES])
    page.get_by_role("button", name="Add", exact=True).click()
    said = page.get_by_role("status")
    expect(said).to_have_text("1 file was added.")
    expect(said).to_be_in_viewport()


def test_one_is_made_and_asked_in_a_new_conversation(page: Page) -> None:
    make(page)
    page.get_by_role("link", name="rules.txt").click()
    expect(page.locator("mark")).to_have_text("Holidays are requested in writing.")
    page.goto("/collections/")
    page.goto("/")
    page.locator("#composer-text").fill("A draft that stays.")
    page.get_by_role("link", name="Documents to ask").click()
    page.get_by_label("Handbook").check()
    page.get_by_role("button", name="Use them").click()
    expect(page.locator(".composer-note")).to_contain_text("Asks: Handbook.")
    expect(page.locator("#composer-text")).to_have_value("A draft that stays.")
    page.keyboard.press("Enter")
    Chat(page).finish()
    # Not that of a new conversation, which it was when the page was loaded.
    begun = page.url
    page.locator(".composer-note").get_by_role("link", name="Change").click()
    page.get_by_role("button", name="Use them").click()
    expect(page.locator(".composer-note")).to_contain_text("Asks: Handbook.")
    assert page.url == begun
    page.get_by_role("link", name="Documents to ask").click()
    page.get_by_label("Handbook").uncheck()
    page.get_by_role("button", name="Use them").click()
    expect(page.locator("#composer-text")).to_be_visible()
    expect(page.locator(".composer-note")).to_have_count(0)


def test_a_conversation_begins_where_the_documents_are(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 480})
    make(page)
    page.get_by_role("link", name="New conversation").click()
    expect(page.locator(".composer-note")).to_contain_text("Asks: Handbook.")


def test_a_temporary_chat_offers_them_before_its_first_message_and_then_nothing_that_leads_out_of_it(page: Page) -> None:
    make(page)
    page.goto("/?temporary=1")
    page.get_by_role("link", name="Documents to ask").click()
    page.get_by_label("Handbook").check()
    page.get_by_role("button", name="Use them").click()
    note = page.locator(".composer-note")
    expect(note).to_contain_text("Asks: Handbook.")
    expect(note.get_by_role("link", name="Change")).to_be_visible()
    Chat(page).ask_and_wait("Hello")
    for _ in range(2):
        expect(note).to_contain_text("Asks: Handbook.")
        for name in ("Documents to ask", "Change"):
            expect(page.get_by_role("link", name=name)).to_have_count(0)
        page.reload()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_page(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 390, "height": 844})
    make(page)
    page.get_by_label("Files").set_input_files(files=[NEW_RULES])
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("1 earlier version")).to_be_visible()
    for address in (page.url, "/collections/", "/collections/new/", "/collections/choose/", "/"):
        page.goto(address)
        wide = page.evaluate("() => document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, address
