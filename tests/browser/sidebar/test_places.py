"""Pinning and archiving, from both menus, in every tab."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.connection.test_turn_events import nothing_fetched
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

_MAKE = """
from datetime import timedelta
from django.utils import timezone
from chatui.models import Conversation, User
sam = User.objects.get(username="sam")
Conversation.objects.filter(owner=sam).delete()
for number in range(3):
    row = Conversation.objects.create(owner=sam, title=f"Talk {number}")
    Conversation.objects.filter(pk=row.pk).update(active_at=timezone.now() - timedelta(days=3 - number))
"""


@pytest.fixture
def page(demo_deployment: Deployment, visits: Visits, demo: Server) -> Page:
    demo_deployment.manage("shell", "--no-imports", "-c", _MAKE)
    return visits.open(demo, "sam")


def shows(page: Page, *titles: str) -> None:
    expect(page.locator(".conversation-title")).to_have_text(list(titles))


def choose(page: Page, title: str, action: str) -> None:
    page.locator(".conversation-item").filter(has_text=title).hover()
    page.get_by_role("button", name=f"Options for “{title}”").click()
    page.locator("#conversation-menu").get_by_role("button", name=action, exact=True).click()


def choose_on_top(page: Page, action: str) -> None:
    page.get_by_role("button", name="Options for this conversation").click()
    page.locator("#top-menu").get_by_role("button", name=action, exact=True).click()


def test_in_every_tab_a_pinned_conversation_stands_on_top_and_an_archived_one_leaves_the_list_and_comes_back(page: Page) -> None:
    aside = page.context.new_page()
    aside.goto("/")
    aside.wait_for_load_state()
    page.wait_for_load_state()
    shows(page, "Talk 2", "Talk 1", "Talk 0")
    choose(page, "Talk 0", "Pin")
    for tab in (page, aside):
        shows(tab, "Talk 0", "Talk 2", "Talk 1")
        expect(tab.locator(".conversation-group").first).to_have_text("Pinned")
    aside.reload()
    shows(aside, "Talk 0", "Talk 2", "Talk 1")
    choose(aside, "Talk 0", "Unpin")
    for tab in (page, aside):
        shows(tab, "Talk 2", "Talk 1", "Talk 0")

    page.get_by_role("link", name="Talk 1").click()
    page.wait_for_url("**/c/*/")
    page.wait_for_load_state()
    mark = page.locator(".archived-mark")
    expect(mark).to_be_hidden()
    choose(aside, "Talk 1", "Archive")
    for tab in (page, aside):
        shows(tab, "Talk 2", "Talk 0")
    expect(mark).to_be_visible()
    expect(page.locator(".banner-deleted")).to_be_hidden()
    aside.get_by_role("button", name="Undo").click()
    for tab in (page, aside):
        shows(tab, "Talk 2", "Talk 1", "Talk 0")
    expect(mark).to_be_hidden()

    with nothing_fetched(aside):
        choose_on_top(page, "Archive")
        shows(aside, "Talk 2", "Talk 0")
    page.goto("/archived/")
    page.get_by_role("link", name="Talk 1").click()
    expect(page.locator(".archived-mark")).to_be_visible()
    choose_on_top(page, "Move to the list")
    shows(aside, "Talk 2", "Talk 1", "Talk 0")
    choose_on_top(page, "Archive")
    expect(page.locator(".archived-mark")).to_be_visible()
    shows(aside, "Talk 2", "Talk 0")
    Chat(page).ask_and_wait("Back with you")
    for tab in (page, aside):
        shows(tab, "Talk 1", "Talk 2", "Talk 0")
    expect(page.locator(".archived-mark")).to_be_hidden()
    page.goto("/archived/")
    expect(page.locator("main")).to_contain_text("Nothing is archived.")
