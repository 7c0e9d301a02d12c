"""What is typed right after a click on a conversation stands in that one's message box, and never in the box that was left."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, until
from tests.support.served import Server

pytestmark = pytest.mark.browser

DRAFT = "half a thought"
NEVER_OPENED = """() => {
  const own = globalThis.fetch;
  globalThis.fetch = (to, ...all) => String(to).startsWith("http") ? new Promise(() => {}) : own(to, ...all);
}"""
"""The page that a link leads to never comes."""


@pytest.fixture
def two(demo: Server, visits: Visits) -> tuple[Chat, str, str]:
    """A page with one of two conversations open, in which something is half written, and the addresses of both."""
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("About wombats")
    chat.settle()
    other = chat.page.url
    chat.page.goto("/")
    chat.ask_and_wait("About quokkas")
    chat.settle()
    chat.box.fill(DRAFT)
    return chat, chat.page.url, other


def held(page: Page, address: str) -> list[Route]:
    """The requests for a page, which wait until they are let go."""
    routes: list[Route] = []
    page.route(address, lambda route: routes.append(route))
    return routes


def link(address: str) -> str:
    return f'.conversation-link[href="{urlsplit(address).path}"]'


@pytest.mark.parametrize("delay", [15, 40, 90])
def test_letters_typed_after_a_click_stand_in_the_box_of_that_conversation(two: tuple[Chat, str, str], delay: int) -> None:
    chat, first, second = two
    waiting = held(chat.page, second)
    chat.page.locator(link(second)).click(no_wait_after=True)
    chat.page.keyboard.type("typed at", delay=delay)
    until(chat.page, lambda: waiting)
    assert chat.page.url == first, "the premise: the other page is not there yet"
    waiting[0].continue_()
    chat.page.wait_for_url(second)
    expect(chat.question).to_have_text("About wombats")
    expect(chat.box).to_have_value("typed at")
    expect(chat.box).to_be_focused()
    chat.page.keyboard.type(" once")
    expect(chat.box).to_have_value("typed at once")
    chat.page.unroute_all()
    chat.page.goto(first)
    expect(chat.box).to_have_value(DRAFT)
    expect(chat.exchanges).to_have_count(1)


def test_what_is_submitted_after_a_click_is_sent_to_that_conversation(two: tuple[Chat, str, str]) -> None:
    chat, first, second = two
    waiting = held(chat.page, second)
    chat.page.locator(link(second)).click(no_wait_after=True)
    chat.page.keyboard.type("And echidnas?")
    chat.page.keyboard.press("Enter")
    until(chat.page, lambda: waiting)
    waiting[0].continue_()
    chat.page.wait_for_url(second)
    expect(chat.exchanges).to_have_count(2)
    expect(chat.question).to_have_text("And echidnas?")
    chat.finish()
    expect(chat.box).to_have_value("")
    chat.page.unroute_all()
    chat.page.goto(first)
    expect(chat.exchanges).to_have_count(1)
    expect(chat.box).to_have_value(DRAFT)


def test_what_is_typed_while_the_other_page_starts_is_added_to_it(two: tuple[Chat, str, str]) -> None:
    chat, _, second = two
    chat.page.locator(link(second)).evaluate("link => link.search = '?all=1'")  # that is loaded
    second += "?all=1"
    waiting, scripts = held(chat.page, second), held(chat.page, "**/js/chat/page.*")
    chat.page.locator(f'.conversation-link[href$="{urlsplit(second).path}?all=1"]').click(no_wait_after=True)
    chat.page.keyboard.type("typed ")
    until(chat.page, lambda: waiting)
    waiting[0].continue_()
    chat.page.wait_for_url(second, wait_until="commit")
    until(chat.page, lambda: scripts)
    expect(chat.box).to_have_value("")
    chat.page.keyboard.type("at once")
    expect(chat.box).to_have_value("at once")
    for script in scripts:
        script.continue_()
    expect(chat.box).to_have_value("typed at once")


def test_a_new_conversation_gets_what_is_typed_after_the_click_that_opens_it(two: tuple[Chat, str, str]) -> None:
    chat, first, _ = two
    waiting = held(chat.page, f"{first.split('/c/')[0]}/")
    chat.page.locator(".new-chat").click(no_wait_after=True)
    chat.page.keyboard.type("something new")
    until(chat.page, lambda: waiting)
    waiting[0].continue_()
    chat.page.wait_for_url(lambda address: urlsplit(address).path == "/")
    expect(chat.box).to_have_value("something new")
    chat.page.goto(first)
    expect(chat.box).to_have_value(DRAFT)


def test_each_click_gives_the_box_to_its_conversation_and_escape_gives_it_back(two: tuple[Chat, str, str]) -> None:
    chat, first, second = two
    here, there = (chat.page.locator(link(address)) for address in (first, second))
    chat.page.evaluate(NEVER_OPENED)
    chat.box.press("Control+Enter")
    there.click()
    chat.page.keyboard.type("for wombats")
    expect(chat.exchanges).to_have_count(2)
    chat.finish()
    expect(chat.question).to_have_text(DRAFT)
    expect(chat.box).to_have_value("for wombats")
    here.click()
    expect(chat.box).to_have_value("")
    chat.page.keyboard.type("for quokkas")
    there.click()
    expect(chat.box).to_have_value("for wombats")
    chat.page.keyboard.type("!")
    chat.page.keyboard.press("Escape")
    chat.page.keyboard.type("here ")
    chat.page.goto(second)
    expect(chat.box).to_have_value("for wombats!")


@pytest.mark.parametrize("how", ["Control", "middle"])
def test_a_click_that_opens_another_tab_leaves_the_box_as_it_is(two: tuple[Chat, str, str], how: str) -> None:
    chat, first, second = two
    with chat.page.context.expect_page() as opened:
        if how == "middle":
            chat.page.locator(link(second)).click(button="middle")
        else:
            chat.page.locator(link(second)).click(modifiers=["Control"])
    opened.value.wait_for_url(second)
    chat.box.press("End")
    chat.page.keyboard.type(", still here")
    expect(chat.box).to_have_value(f"{DRAFT}, still here")
    assert chat.page.url == first
