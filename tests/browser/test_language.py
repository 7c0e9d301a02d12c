"""The language of the pages in a real browser: chosen by keyboard and without scripts, every language on a phone, and right to left."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visits import PHONE, Visits, still
from tests.support.cases import extended
from tests.support.served import Server

pytestmark = pytest.mark.browser

WIDE = """() => [...document.querySelectorAll("body *")]
  .filter(element => element.checkVisibility() && !element.closest("pre, table, .visually-hidden, .skip-link, .menu"))
  .map(element => [element, element.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && (box.right > innerWidth + 1 || box.left < -1))
  .slice(0, 3).map(([element]) => element.outerHTML.slice(0, 120))"""


def test_a_stranger_chooses_a_language_by_keys_and_without_scripts(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="/sign-in/", java_script_enabled=False, locale="en-GB")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    choice = page.get_by_label("Language")
    choice.focus()
    page.keyboard.press("d")
    page.keyboard.press("e")
    expect(choice).to_have_value("de")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Anmelden")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_label("Sprache").select_option("")
    page.get_by_role("button", name="Wählen").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_choice_in_the_menu_counts_in_every_browser_of_the_person_and_for_nobody_else(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "bela", locale="de-DE")
    expect(page.get_by_placeholder("Nachricht schreiben")).to_be_visible()
    page.locator(".account-button").click()
    page.get_by_label("Sprache").select_option(label="한국어")
    expect(page.get_by_placeholder("메시지 입력")).to_be_visible()
    other_browser = visits.open(demo, "bela", locale="de-DE")
    expect(other_browser.get_by_placeholder("메시지 입력")).to_be_visible()
    somebody_else = visits.open(demo, "ada", locale="en-GB")
    expect(somebody_else.get_by_placeholder("Write a message")).to_be_visible()
    page.locator(".account-button").click()
    page.get_by_label("언어").select_option("")
    expect(page.get_by_placeholder("Nachricht schreiben")).to_be_visible()


def test_a_choice_by_keys_applies_when_it_is_made_and_not_at_each_arrow(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="/sign-in/", locale="en-GB")
    still(page)
    page.locator("[name=username]").fill("ada")
    choice, html = page.get_by_label("Language"), page.locator("html")
    expect(page.locator(".language-set")).to_be_hidden()
    choice.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(choice).to_have_value("de")
    page.wait_for_timeout(300)
    expect(html).to_have_attribute("lang", "en")
    page.keyboard.press("Tab")
    expect(html).to_have_attribute("lang", "de")
    expect(page.locator("[name=username]")).to_have_value("ada")


@pytest.mark.parametrize("locale", ["de-DE", *map(extended, ["zh-CN", "ko-KR"])])
def test_every_language_fits_a_phone(locale: str, demo: Server, visits: Visits) -> None:
    stranger = visits.open(demo, path="/sign-in/", locale=locale, **PHONE)
    fits(stranger, 360)
    page = visits.open(demo, "grace", locale=locale, **PHONE)
    for path in ("/", "/bin/", "/import/", "/audit/", "/pages/terms/", "/debug/requests/"):
        page.goto(path)
        fits(page, 360)


def fits(page: Page, width: int) -> None:
    """Check that nothing scrolls sideways or sticks out of the page."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, page.evaluate(WIDE))


def test_a_form_that_is_out_of_date_leads_back_to_its_page(demo: Server, visits: Visits) -> None:
    visits.allow("403")
    page = visits.open(demo, path="/sign-in/?next=/bin/", locale="ko-KR", **PHONE)
    page.locator("form:has([name=username]) [name=csrfmiddlewaretoken]").evaluate("field => { field.value = 'x'; }")
    page.locator("[name=username]").fill("ada")
    page.locator("[name=password]").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator(".error-status")).to_have_text("403")
    page.get_by_role("link", name="페이지 다시 열기").tap()
    expect(page.locator("[name=username]")).to_be_visible()
    assert page.url.endswith("/sign-in/?next=/bin/")
