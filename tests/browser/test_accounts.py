"""Signing in and out, and the accounts that invitations make, using only pages. The first one of all: ``staff/test_first_hour.py``."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import PASSWORD, Server

pytestmark = pytest.mark.browser

NEW_PASSWORD = "another horse battery"


def test_a_page_that_is_signed_out_from_another_browser_says_so_and_keeps_the_text(demo: Server, visits: Visits) -> None:
    chat, elsewhere = Chat(visits.open(demo)), visits.open(demo)
    sign_in(elsewhere, "sam", "not the password")
    expect(elsewhere.get_by_role("alert")).to_contain_text("correct username and password")
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


def test_a_typed_password_can_be_read_until_it_is_sent(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="/sign-in/")
    password = page.get_by_label("Password")
    password.fill("not the password")
    shows = page.get_by_role("button", name="Show Password")
    shows.click()
    expect(password).to_have_attribute("type", "text")
    expect(password).to_have_value("not the password")
    expect(shows).to_have_attribute("aria-pressed", "true")
    sent = """form => new Promise(done => {
      form.addEventListener("submit", event => { event.preventDefault(); done(form.elements.password.type); });
      form.requestSubmit();
    })"""
    page.get_by_label("Username").fill("sam")
    assert page.locator("form:has(.password)").evaluate(sent) == "password", "browsers keep passwords apart from other texts"


def test_a_sign_in_that_has_to_wait_is_sent_again_by_itself(demo: Server, visits: Visits) -> None:
    page, sent = visits.open(demo, path="/sign-in/?next=/sign-in/ways/"), list[str]()
    visits.allow("status of 429")
    told = "<main><form><div class=form-problem role=alert><p>Too many attempts. Wait 1 second, then try again.</p></div></form></main>"

    def answer(route: Route) -> None:
        if route.request.method != "POST" or len(sent) == 2:
            return route.continue_()
        sent.append(str(route.request.post_data))
        return route.fulfill(status=429, headers={"Retry-After": "1", "Content-Type": "text/html"}, body=told)

    page.route("**/sign-in/**", answer)
    sign_in(page, "sam")
    expect(page.get_by_role("alert")).to_contain_text("This page tries again by itself in")
    page.wait_for_url(demo.url + "/sign-in/ways/")
    assert len(sent) == 2 and sent[0] == sent[1] and "password=" in sent[0]


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


def test_what_a_link_fills_in_survives_the_sign_in(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="/?q=Is+it+raining%3F")
    sign_in(page, "ada")
    expect(page.locator("#composer-text")).to_have_value("Is it raining?")
    assert page.url == f"{demo.url}/"
    page.locator("#composer-text").fill("")


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
