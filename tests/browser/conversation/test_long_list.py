"""The list of conversations loads more on scrolling, by keyboard, and after a failure."""

import pytest
from playwright.sync_api import Page, expect

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


def test_a_page_shows_its_conversation_in_the_list_without_scrolling_itself(page: Page) -> None:
    # By the time of day, there is another heading above: its height is a fraction of a pixel.
    page.add_init_script(_FRACTION)
    page.goto(page.locator(".conversation-link").nth(20).get_attribute("href") or "")
    link = page.locator(".conversation-link[aria-current]")
    page.wait_for_load_state()
    expect(link).to_have_text(f"Talk {MANY - 21}")
    expect(link).to_be_in_viewport(ratio=1)
    assert page.locator(".conversation-list").evaluate("list => list.scrollTop") > 0
    assert page.evaluate("scrollX + scrollY + document.body.scrollTop + document.querySelector('.scroller').scrollTop") == 0
    page.set_viewport_size(PHONE["viewport"])
    page.reload()
    page.wait_for_load_state()
    assert page.evaluate("scrollX + scrollY + document.body.scrollLeft") == 0
    page.get_by_role("button", name="Conversations").first.click()
    expect(link).to_be_in_viewport(ratio=1)
