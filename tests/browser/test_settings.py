"""Personal settings in a real browser: without scripts, in all of the person's browsers, and on a phone."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_language import fits
from tests.browser.visits import PHONE, Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_settings_are_saved_without_scripts_and_count_in_every_browser(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "milo", path="/settings/", java_script_enabled=False)
    page.get_by_role("combobox", name="Appearance").select_option("Dark")
    page.get_by_label("Time zone").select_option("Pacific/Auckland")
    page.get_by_label("My instructions").fill("Call me Countess.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Your settings are saved.")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    other = visits.open(demo, "milo")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    other.locator(".account-button").click()
    other.get_by_role("button", name="Light").click()
    other.reload()
    expect(other.locator("html")).to_have_attribute("data-theme", "light")
    other.locator(".account-button").click()
    other.get_by_role("link", name="Settings").click()
    expect(other.get_by_label("My instructions")).to_have_value("Call me Countess.")
    other.get_by_role("button", name="Save").click()
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_page_fits_a_phone(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "milo", path="/settings/", **PHONE)
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    fits(page, 360)
