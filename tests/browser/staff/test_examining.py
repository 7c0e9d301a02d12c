"""Staff connect a model server, and examine it from its page: the page updates by itself, and without scripts on reload."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_phone import fits
from tests.browser.visits import PHONE, Visits
from tests.chatui.operations.doctor.peers import answering
from tests.chatui.operations.doctor.test_served import FAULTY, PAGE, deployed

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
