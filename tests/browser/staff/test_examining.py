"""Staff connect a model server, and examine it from its page: the page updates by itself, and without scripts on reload."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.test_phone import fits
from tests.browser.visits import PHONE, Visits
from tests.chatui.operations.doctor.peers import MODEL, answering, chat_answers
from tests.chatui.operations.doctor.test_served import FAULTY, KEEPER, KEY, PAGE, SILENT, deployed
from tests.support.served import Deployment

pytestmark = pytest.mark.browser


def picture(page: Page, name: str) -> None:
    """Save a screenshot, if a directory for them is configured."""
    if directory := os.environ.get("PICTURES"):
        page.screenshot(path=Path(directory) / f"{name}.png", full_page=True)


def test_the_page_follows_the_examination_and_shows_the_report(tmp_path: Path, visits: Visits) -> None:
    with answering(FAULTY) as peer, deployed(tmp_path, peer.url) as (_, server):
        page = visits.open(server, "kim", "/manage/servers/")
        page.get_by_role("link", name="Examine… main").click()
        page.get_by_role("button", name="Examine").click()
        expect(page.get_by_role("status")).to_have_text("It works with these settings, but with the faults listed below.", timeout=60_000)
        expect(page.get_by_role("heading", name="Report of")).to_be_visible()
        expect(page.get_by_text("cut-unsaid")).to_be_hidden()
        page.locator("li").filter(has_text="cut-unsaid").get_by_text("Details").click()
        expect(page.get_by_text("cut-unsaid")).to_be_visible()
        expect(page.get_by_role("button", name="Examine again")).to_be_visible()
        picture(page, "report-light")
        for scheme in ("light", "dark"):
            phone = visits.open(server, "sam", PAGE, **PHONE | {"color_scheme": scheme, "viewport": {"width": 360, "height": 740}})
            expect(phone.get_by_role("heading", name="Report of")).to_be_visible()
            expect(phone.get_by_role("button", name="Examine again")).to_have_count(0)
            fits(phone)
            picture(phone, f"report-{scheme}-360")


def test_a_server_with_a_key_is_connected_with_five_clicks_and_two_texts(tmp_path: Path, visits: Visits) -> None:
    deployment = Deployment(tmp_path)
    try:
        server = deployment.start()
        deployment.make_people(kim=(True, [*KEEPER, "add_storedbackend", "view_hidden_channels"]), ada=(False, []))
        with answering(chat_answers()) as peer:
            page = visits.open(server, "kim")
            page.get_by_role("button", name="kim").click()
            page.get_by_role("link", name="Administration").click()
            page.get_by_role("link", name="Model servers").first.click()
            page.get_by_label("Address").fill(peer.url)
            page.get_by_label("API key").fill(KEY)
            page.get_by_role("button", name="Test").click()
            expect(page.get_by_role("status")).to_have_text("The test has passed.", timeout=40_000)
            expect(page.get_by_text(MODEL)).to_be_visible()
            picture(page, "tested-light")
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_text("Offered to people")).to_be_visible()
            assert peer.requests and all(request.headers.get("authorization") == f"Bearer {KEY}" for request in peer.requests)
            chat = Chat(visits.open(server, "ada"))
            chat.ask_and_wait("How much is that?")
            expect(chat.last).to_contain_text("4")
            chat.page.close()
        for scheme in ("light", "dark"):
            phone = visits.open(
                server, "kim", "/manage/servers/", **PHONE | {"color_scheme": scheme, "viewport": {"width": 360, "height": 740}}
            )
            phone.locator("summary").click()
            fits(phone)
            picture(phone, f"connect-{scheme}-360")
        assert KEY not in server.console
    finally:
        deployment.stop()


@pytest.mark.extended
def test_without_scripts_people_look_again(tmp_path: Path, visits: Visits) -> None:
    with answering(SILENT) as peer, deployed(tmp_path, peer.url) as (_, server):
        page = visits.open(server, "kim", PAGE, java_script_enabled=False)
        page.get_by_role("button", name="Examine").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_role("link", name="Refresh").click()
        expect(page.get_by_role("status")).to_contain_text("Examining:")
        picture(page, "examining-light")
