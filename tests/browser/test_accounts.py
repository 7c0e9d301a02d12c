"""From an empty installation to a second person who signs in, using only pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import PASSWORD, NewDeployment, Server

pytestmark = pytest.mark.browser

NEW_PASSWORD = "another horse battery"


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has just been installed."""
    deployment = NewDeployment(tmp_path_factory.mktemp("empty"))
    try:
        yield deployment.start()
    finally:
        deployment.stop()


def test_the_first_account_is_made_with_the_consoles_code_and_makes_the_next_one(empty: Server, visits: Visits) -> None:
    page = visits.open(empty)
    page.wait_for_url("**/setup/")
    create_first(page, "WRON-GCOD-EWRO-NGCO-DE00")
    expect(page.get_by_text("This is not the code that the server printed.", exact=True)).to_be_visible()
    create_first(page, empty.first_account_code)
    expect(Chat(page).box).to_be_focused()
    expect(page.get_by_role("button", name="Account: olga")).to_be_visible()

    sign_out(page)
    page.goto("/")
    page.wait_for_url("**/sign-in/**")
    sign_in(page, "olga", "not the password")
    expect(page.get_by_role("alert")).to_contain_text("correct username and password")
    sign_in(page, "olga")
    page.wait_for_url(empty.url + "/")
    page.get_by_role("button", name="Account: olga").click()
    page.get_by_role("link", name="Administration").click()
    page.get_by_role("navigation", name="Administration").get_by_role("link", name="Current settings", exact=True).click()
    expect(page.get_by_text("CHATUI_DATA_DIR", exact=True)).to_be_visible()
    page.get_by_role("navigation", name="Administration").get_by_role("link", name="People").click()
    page.get_by_role("link", name="Invite people").click()
    page.get_by_label("Whom to invite").fill("bela")
    page.get_by_role("button", name="Create links").click()
    link = page.locator(".manage-link").inner_text()

    visitor_page = visits.open(empty)
    visitor_page.goto(link)
    expect(visitor_page.get_by_label("Username")).to_have_value("bela")
    visitor_page.get_by_label("Password", exact=True).fill(PASSWORD)
    visitor_page.get_by_label("Password confirmation").fill(PASSWORD)
    visitor_page.get_by_role("button", name="Create account").click()
    visitor_page.wait_for_url(empty.url + "/")
    chat = Chat(visitor_page)
    chat.ask_and_wait("Hello!")
    visitor_page.get_by_role("button", name="Account: bela").click()
    expect(visitor_page.get_by_role("link", name="Help")).to_be_visible()
    expect(visitor_page.get_by_role("link", name="Administration")).to_have_count(0)
    visitor_page.goto("/setup/")
    expect(chat.box).to_be_visible()


def test_a_page_that_is_signed_out_from_another_browser_says_so_and_keeps_the_text(demo: Server, visits: Visits) -> None:
    chat, elsewhere = Chat(visits.open(demo)), visits.open(demo)
    for page in (chat.page, elsewhere):
        sign_in(page, "sam")
        page.wait_for_url(demo.url + "/")

    elsewhere.goto("/sign-in/ways/")
    elsewhere.get_by_role("button", name="Sign out everywhere else").click()

    expect(chat.banner).to_contain_text("Sign in again")
    chat.ask("Is anybody there?")
    expect(chat.problem).to_have_text(re.compile("signed out"))
    expect(chat.exchanges).to_have_count(0)
    chat.banner.get_by_role("link", name="Sign in again").click()
    sign_in(chat.page, "sam")
    expect(chat.box).to_have_value("Is anybody there?")


def test_an_invited_person_creates_the_account_and_later_sets_a_new_password(demo: Server, visits: Visits) -> None:
    """With the referrer policy of the pages behind both links, a browser may send another ``Origin`` than from other pages."""
    admin = visits.open(demo, "grace", "/manage/people/invite/")
    admin.locator("textarea").fill("Pam from the shop")
    admin.get_by_role("button", name="Create links").click()
    invitation = admin.locator(".manage-link").inner_text()
    page = visits.open(demo, path=invitation.removeprefix(demo.url))
    page.get_by_label("Username").fill("pam")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(Chat(page).box).to_be_visible()
    sign_out(page)

    admin.goto("/manage/people/?q=pam")
    admin.get_by_role("link", name="pam").first.click()
    admin.get_by_role("link", name="Password reset link").click()
    admin.get_by_role("button", name="Create the link").click()
    page.goto(admin.locator(".manage-link").inner_text())
    for field in page.locator("input[type=password]").all():
        field.fill(NEW_PASSWORD)
    page.get_by_role("button", name="Set the password").click()
    page.wait_for_url("**/sign-in/**")
    sign_in(page, "pam", NEW_PASSWORD)
    expect(Chat(page).box).to_be_visible()


def create_first(page: Page, code: str) -> None:
    page.get_by_label("Code from the server's console").fill(code)
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_out(page: Page, *unsent: str) -> None:
    """Sign out. ``unsent``: the texts that the page says it will delete, in its order; without any, it asks nothing."""
    press_sign_out(page)
    if unsent:
        dialog = page.get_by_role("dialog", name="Sign out and delete this unsent text?")
        expect(dialog.locator(".loss-text")).to_have_text(unsent)
        dialog.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")


def press_sign_out(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Account: ")).click()
    page.get_by_role("button", name="Sign out").click()
