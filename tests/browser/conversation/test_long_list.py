"""The list of conversations loads more on scrolling, by keyboard, and after a failure."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_phone import fits
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server

pytestmark = [pytest.mark.browser]

MANY = 150
_MAKE = """
from datetime import timedelta
from django.utils import timezone
from chatui.models import Conversation, User
sam = User.objects.get(username="sam")
Conversation.objects.filter(owner=sam).delete()
rows = Conversation.objects.bulk_create([Conversation(owner=sam, title=f"Talk {number}") for number in range(%d)])
for number, row in enumerate(rows):
    row.active_at = timezone.now() - timedelta(hours=len(rows) - number)
Conversation.objects.bulk_update(rows, ["active_at"])
"""

_FRACTION = """
const sheet = new CSSStyleSheet();
sheet.replaceSync(".conversation-list { padding-top: 0.4px }");
document.adoptedStyleSheets.push(sheet);
"""


@pytest.fixture
def page(demo_deployment: Deployment, visits: Visits, demo: Server) -> Page:
    demo_deployment.manage("shell", "--no-imports", "-c", _MAKE % MANY)
    return visits.open(demo, "sam")


def count(page: Page) -> int:
    return page.locator(".conversation-item").count()


def test_scrolling_reaches_the_oldest_conversation(page: Page) -> None:
    assert count(page) < MANY
    page.wait_for_load_state()
    while count(page) < MANY:
        before = count(page)
        page.locator(".conversation-list").evaluate("list => list.scrollTo({ top: list.scrollHeight })")
        page.wait_for_function("before => document.querySelectorAll('.conversation-item').length > before", arg=before)
    titles = page.locator(".conversation-title").all_text_contents()
    assert titles == [f"Talk {number}" for number in range(MANY - 1, -1, -1)]
    expect(page.locator(".conversation-page")).to_have_count(0)
    expect(page.locator(".conversation-group").first).to_be_attached()
    assert page.locator(".conversation-group").count() <= 3, "groups continue across pages of the list"


@pytest.mark.parametrize("place", [0, 20])
def test_a_page_shows_its_conversation_in_the_list_without_scrolling_itself(place: int, page: Page) -> None:
    # By the time of day, there is another heading above: its height is a fraction of a pixel.
    page.add_init_script(_FRACTION)
    page.goto(page.locator(".conversation-link").nth(place).get_attribute("href") or "")
    link = page.locator(".conversation-link[aria-current]")
    page.wait_for_load_state()
    expect(link).to_have_text(f"Talk {MANY - 1 - place}")
    expect(link).to_be_in_viewport(ratio=1)
    assert (page.locator(".conversation-list").evaluate("list => list.scrollTop") > 0) == (place > 0)
    assert page.evaluate("scrollX + scrollY + document.body.scrollTop + document.querySelector('.scroller').scrollTop") == 0
    page.set_viewport_size(PHONE["viewport"])
    page.reload()
    page.wait_for_load_state()
    assert page.evaluate("scrollX + scrollY + document.body.scrollLeft") == 0
    page.get_by_role("button", name="Conversations").first.click()
    expect(link).to_be_in_viewport(ratio=1)


@pytest.mark.extended
def test_a_page_that_fails_is_asked_for_again_by_keyboard(page: Page, visits: Visits) -> None:
    visits.allow("503")
    page.route("**/conversations/**", lambda route: route.fulfill(status=503))
    page.locator(".conversation-list").evaluate("list => list.scrollTo({ top: list.scrollHeight })")
    place = page.locator(".conversation-page")
    expect(place.get_by_role("alert")).to_have_text("The server could not do that. Please try again.")
    before = count(page)
    page.unroute_all()
    place.get_by_role("link", name="Try again").press("Enter")
    page.wait_for_function("before => document.querySelectorAll('.conversation-item').length > before", arg=before)
    expect(page.locator(".conversation-link").nth(before)).to_be_focused()


@pytest.mark.extended
def test_on_a_phone_the_list_goes_on_in_its_drawer(page: Page, visits: Visits, demo: Server) -> None:
    phone = visits.open(demo, "sam", **PHONE)
    phone.get_by_role("button", name="Open the list of conversations").click()
    before = count(phone)
    phone.locator(".conversation-list").evaluate("list => list.scrollTo({ top: list.scrollHeight })")
    phone.wait_for_function("before => document.querySelectorAll('.conversation-item').length > before", arg=before)
    fits(phone)
