"""Signing out in one tab deletes the drafts of all tabs from the browser, and no tab stores them again."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

# The person has been asked. The form is not submitted, because other tests share the session.
LEAVE = """() => {
  const form = document.querySelector('form[data-sign-out]');
  form.dataset.sure = '';
  form.dispatchEvent(new Event('submit', { bubbles: true }));
}"""
STORED = "() => [localStorage, sessionStorage].flatMap(storage => Object.entries(storage)).join()"


def is_stored(page: Page, text: str) -> bool:
    return text in page.evaluate(STORED)


def two_tabs(server: Server, visits: Visits) -> tuple[Chat, Chat]:
    """Two tabs of one browser, with unsent text in the second."""
    one = Chat(visits.open(server, "ada"))
    one.ask_and_wait("Hello!")
    one.settle()
    two = Chat(one.page.context.new_page())
    two.page.goto(one.page.url)
    two.page.wait_for_load_state()
    two.box.fill("half a thought")
    expect(one.box).to_have_value("half a thought")
    assert is_stored(one.page, "half a thought")
    return one, two


def test_another_tab_stores_nothing_after_the_person_has_left(demo: Server, visits: Visits) -> None:
    one, two = two_tabs(demo, visits)
    two.page.evaluate("""() => sessionStorage.setItem("chatui:form", '{"text": "half a thought"}')""")

    one.page.evaluate(LEAVE)

    two.page.wait_for_function("() => !JSON.stringify(localStorage).includes('chatui:draft') && !sessionStorage.length")
    expect(two.page.get_by_role("heading", level=1)).to_have_text("You have been signed out.")
    one.box.press_sequentially("more of it")
    one.page.wait_for_timeout(600)
    two.page.evaluate("() => dispatchEvent(new PageTransitionEvent('pagehide'))")
    for tab in (one, two):
        assert not is_stored(tab.page, "thought") and not is_stored(tab.page, "more of it")


def test_the_sign_in_page_after_a_sign_out_deletes_what_no_script_could(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="/sign-in/")
    page.evaluate("() => { localStorage['chatui:draft:x:new'] = 'unsent'; localStorage['chatui:theme'] = 'dark'; }")
    page.reload()
    page.wait_for_load_state()
    assert is_stored(page, "unsent"), "a session that has merely ended costs nobody their draft"

    page.goto("/sign-in/?signed-out")

    page.wait_for_load_state()
    assert not is_stored(page, "unsent") and is_stored(page, "dark")
