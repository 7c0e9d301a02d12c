"""Personal settings in a real browser: without scripts, and in all of the person's browsers."""

import re

import pytest
from playwright.sync_api import Page, expect

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


def test_a_long_form_is_saved_without_scrolling_and_asks_for_the_appearance_once(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "milo", path="/settings/")
    expect(page.get_by_role("button", name="Save")).to_be_in_viewport()
    expect(page.get_by_role("combobox", name="Appearance")).to_be_visible()
    expect(page.locator("theme-toggle")).to_have_count(0)


def test_whether_enter_sends_is_chosen_in_the_settings_too(demo: Server, visits: Visits) -> None:
    """A phone has no key that opens the sheet of shortcuts."""
    page = visits.open(demo, "milo", path="/settings/", **PHONE)
    enter = page.get_by_role("checkbox", name="Enter sends the message in this browser")
    expect(enter).not_to_be_checked()
    enter.check()
    page.reload()
    expect(enter).to_be_checked()
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-enter", "send")


@pytest.mark.extended
def test_the_appearance_follows_the_system_and_the_readers_choice(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", color_scheme="dark")
    assert brightness(page) < 60
    page.get_by_role("button", name="Account: ada").click()
    page.get_by_role("button", name="Light", exact=True).click()
    assert brightness(page) > 200
    page.reload()
    assert brightness(page) > 200
    page.goto("/pages/help/")
    assert brightness(page) > 200
    page.get_by_role("button", name="Auto", exact=True).click()
    assert brightness(page) < 60


def brightness(page: Page) -> float:
    """The brightness of the page's background, from 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", colour)][:3]
    return sum(numbers) / 3
