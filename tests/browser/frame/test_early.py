"""What a person does before the page's scripts have loaded is not lost."""

import pytest
from playwright.sync_api import Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, until
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_enter_before_the_scripts_are_there_sends_the_message_once_they_are(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", "about:blank"))
    page = chat.page
    held: list[Route] = []
    page.route("**/js/chat/page.*", lambda route: held.append(route))
    page.goto("/", wait_until="commit")
    until(page, lambda: held)
    chat.box.fill("I could not wait")
    chat.box.press("Enter")
    chat.box.press("Enter")
    expect(chat.box).to_have_value("I could not wait")
    assert page.url == f"{demo.url}/", "the premise: the page has no scripts yet"
    for route in held:
        route.continue_()

    chat.finish()
    expect(chat.question).to_have_text("I could not wait")
    expect(chat.exchanges).to_have_count(1)
    expect(chat.box).to_have_value("")


def test_what_was_typed_before_the_scripts_are_there_stays_in_the_box(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", "about:blank"))
    held: list[Route] = []
    chat.page.route("**/js/chat/page.*", lambda route: held.append(route))
    chat.page.goto("/", wait_until="commit")
    until(chat.page, lambda: held)
    chat.box.fill("Two\nlines")
    for route in held:
        route.continue_()

    expect(chat.send).to_be_enabled()
    expect(chat.box).to_have_value("Two\nlines")
    expect(chat.exchanges).to_have_count(0)


def test_a_new_conversation_is_seen_when_all_of_its_middle_is_there_and_takes_what_is_typed_before(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada")
    whole = page.content()
    middle = page.locator(".main")
    expect(middle).to_have_css("opacity", "1")
    cut = whole.index('<div class="composer-row"')
    assert whole.index('class="main"') < cut < whole.index("announcer"), "the premise: it is cut in the middle"
    page.route("**/js/chat/page.*", lambda route: route.abort())
    visits.allow("ERR_FAILED")
    page.route(f"{demo.url}/", lambda route: route.fulfill(body=whole[:cut], content_type="text/html"))
    page.reload()
    expect(middle).to_have_css("opacity", "0")
    page.keyboard.type("Early")
    expect(page.locator("#composer-text")).to_have_value("Early")
