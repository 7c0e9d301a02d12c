"""Open pages show a turn from socket events alone: they fetch nothing, and each looks the same as after a reload."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

# What a page shows of its conversation besides the text: labels of buttons, addresses, states, order. Only what a reload shows as well.
LOOKS = """() => {
  const text = (selector) => [...document.querySelectorAll(selector)].map((each) => each.innerText.replace(/\\s+/g, " ").trim());
  const all = (selector, name) => [...document.querySelectorAll(selector)].map((each) => each.getAttribute(name));
  return {
    title: document.title,
    bar: [text(".top-title"), all(".top-bar a, .top-bar button", "href"), all(".top-bar .menu-item", "href")],
    list: [".conversation-item", ".conversation-link"].map((each) =>
      ["data-conversation", "data-path", "href", "aria-current"].map((name) => all(each, name))),
    titles: text(".conversation-title"),
    marks: text(".imported-mark, .copy-mark"),
    exchanges: ["data-question", "data-turn", "data-state"].map((name) => all("chat-transcript > .exchange", name)),
    questions: text(".question-text"),
    ids: all(".question", "id"),
    sources: [...document.querySelectorAll("chat-transcript .question-source")].map((each) => each.content.textContent),
    tools: text(".question-tools"),
    thoughts: text(".before"),
    ends: text(".answer-end"),
    below: [...document.querySelectorAll(".answer-end")].map((each) => {
      const copy = each.cloneNode(true);  // forms of a loaded page contain the CSRF token; scripts send it another way
      for (const hidden of copy.querySelectorAll("input[type=hidden]")) hidden.remove();
      return copy.innerHTML.replace(/\\s+/g, " ").replaceAll("> <", "><").trim();
    }),
    actions: all(".answer-end [data-action]", "data-action"),
    copies: all(".answer-end [data-source]", "data-source"),
    versions: all("chat-transcript .siblings button", "value"),
    branches: all("chat-transcript .siblings", "action"),
  };
}"""


@contextmanager
def nothing_fetched(*pages: Page) -> Iterator[None]:
    """Check that meanwhile no page fetches anything except scripts and styles, which it loads on first use."""
    requested: list[str] = []

    def note(request: Request) -> None:
        path = urlsplit(request.url).path
        if not path.startswith("/static/"):
            requested.append(f"{request.method} {path}")

    for page in pages:
        page.on("request", note)
    yield
    for page in pages:
        page.evaluate("() => fetch('/healthz').then((response) => response.status)")
        page.remove_listener("request", note)
    assert requested == ["GET /healthz"] * len(pages), "the probe at the end proves that requests are recorded"


def looks(page: Page) -> object:
    return page.evaluate(LOOKS)


def agrees_with_a_reload(chat: Chat, *others: Chat) -> None:
    """Check that the page, and other tabs with the same conversation, look the same as a freshly loaded page."""
    fresh = Chat(chat.page.context.new_page())
    fresh.page.goto(chat.page.url)
    expect(fresh.page.locator(".conversation-group").first).to_be_visible()
    for tab in (chat, *others):
        assert looks(tab.page) == looks(fresh.page)
    fresh.page.close()


def test_the_first_turn_of_a_conversation_needs_no_fetch_in_any_tab(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    aside = Chat(chat.page.context.new_page())
    aside.page.goto("/")
    expect(aside.box).to_be_visible()
    stranger = Chat(visits.open(demo, "bela"))
    before = stranger.links.count()

    with nothing_fetched(chat.page, aside.page):
        chat.ask_and_wait("Show me *one* turn\nin <b>two</b> lines")
        chat.settle()
        expect(chat.links.first).to_have_attribute("aria-current", "page")
        expect(aside.links.first).to_have_text("Show me *one* turn")
        assert aside.links.first.get_attribute("href") == urlsplit(chat.page.url).path
        expect(aside.page).to_have_title("chatui")
        expect(aside.exchanges).to_have_count(0)

    agrees_with_a_reload(chat)
    expect(stranger.links).to_have_count(before)
    chat.page.get_by_role("button", name="Options for this conversation").click()
    expect(chat.page.get_by_role("link", name="Download as Markdown")).to_be_visible()


def test_later_turns_edits_and_regenerations_need_no_fetch_in_any_tab(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("The first question")
    chat.settle()
    elsewhere = Chat(chat.page.context.new_page())
    elsewhere.page.goto("/")
    elsewhere.ask_and_wait("Another conversation, for a while on top")
    twin = Chat(chat.page.context.new_page())
    twin.page.goto(chat.page.url)
    twin.finish()

    with nothing_fetched(chat.page, twin.page, elsewhere.page):
        chat.ask_and_wait("The second question")
        expect(elsewhere.page.locator(".conversation-title").first).to_have_text("The first question")
        expect(twin.question).to_have_text("The second question")
        twin.finish()
        chat.button("Regenerate").click()
        for tab in (chat, twin):
            expect(tab.last.get_by_role("group", name="Versions of this answer")).to_contain_text("2 of 2")
        chat.last.locator(".question").hover()
        chat.button("Edit").click()
        chat.last.get_by_role("textbox").fill("The second question, put better")
        chat.button("Send").click()
        for tab in (chat, twin):
            expect(tab.last.get_by_role("group", name="Versions of your message")).to_contain_text("2 of 2")
            tab.finish()
            expect(tab.last.locator(".answer-end")).to_contain_text("Regenerate")

    agrees_with_a_reload(chat, twin)
    chat.last.get_by_role("group", name="Versions of your message").get_by_role("button", name="Previous version").click()
    expect(chat.question).to_have_text("The second question")


def test_renaming_deleting_and_undo_reach_every_tab_without_a_fetch(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("A conversation that goes")
    chat.settle()
    other, aside = Chat(chat.page.context.new_page()), Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    other.finish()
    aside.page.goto("/")
    expect(aside.links.first).to_have_text("A conversation that goes")
    before = aside.links.count()

    with nothing_fetched(other.page, chat.page):
        _choose(aside, chat, "Delete")
        for tab in (chat, other):
            expect(tab.links).to_have_count(before - 1)
            expect(tab.page.locator(".banner-deleted")).to_have_text("This conversation was deleted in another tab. Undo")
        aside.page.get_by_role("button", name="Undo").click()
        for tab in (chat, other, aside):
            expect(tab.links).to_have_count(before)
            expect(tab.links.first).to_have_text("A conversation that goes")
            expect(tab.page.locator(".banner-deleted")).to_be_hidden()
        expect(other.links.first).to_have_attribute("aria-current", "page")

    _choose(aside, chat, "Delete")
    other.page.locator(".banner-deleted").get_by_role("button", name="Undo").click()
    expect(aside.links).to_have_count(before)
    agrees_with_a_reload(chat, other)


def _choose(aside: Chat, chat: Chat, action: str) -> None:
    # By its address: others of the deployment may have the same title.
    link = aside.page.locator(f'a[href="{urlsplit(chat.page.url).path}"]')
    aside.page.get_by_role("listitem").filter(has=link).get_by_role("button", name="Options for").click()
    aside.page.locator("#conversation-menu").get_by_role("button", name=action).click()


def test_undo_brings_back_the_text_of_an_answer_that_was_being_written_in_every_tab(
    written: Server, visits: Visits, writer: Writer
) -> None:
    chat = Chat(visits.open(written, "ada"))
    writer.write("1, 2, 3, 4, and so on.", pause_after="1, 2, 3, 4")
    chat.ask("Count from 1 to 200.")
    chat.settle()
    other, aside = Chat(chat.page.context.new_page()), Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    aside.page.goto("/")
    for tab in (chat, other):
        expect(tab.answer).to_contain_text("1, 2, 3, 4")

    _choose(aside, chat, "Delete")
    for tab in (chat, other):
        tab.finish("stopped")
        expect(tab.page.locator(".banner-deleted")).to_be_visible()
    writer.resume()
    shown = chat.answer.inner_text()
    aside.page.get_by_role("button", name="Undo").click()
    for tab in (chat, other):
        expect(tab.page.locator(".banner-deleted")).to_be_hidden()

    assert shown.startswith("1, 2, 3, 4") and "so on" not in shown
    agrees_with_a_reload(chat, other)
    chat.page.reload()
    chat.finish("stopped")
    assert chat.answer.inner_text() == other.answer.inner_text() == shown


def test_a_page_that_gets_no_event_of_an_answer_shows_it_and_its_end_without_a_reload(
    written: Server, visits: Visits, writer: Writer
) -> None:
    """As if another process sent them, and they were lost on the way, or one of another version sends them in another way."""
    chat = Chat(visits.open(written, "ada"))
    writer.write("1, 2, 3, 4, and so on.", pause_after="1, 2, 3, 4")
    chat.ask("Count from 1 to 200.")
    chat.settle()
    deaf = Chat(visits.open(written, "ada", "about:blank"))
    lost: list[str] = []

    def lose(socket: WebSocketRoute) -> None:
        def pass_on(message: str | bytes) -> None:
            events = json.loads(message)
            arriving = [event for event in events if event["type"] in ("chatui:snapshot", "chatui:idle", "chatui:alive", "chatui:ping")]
            lost.extend(event["type"] for event in events if event not in arriving)
            socket.send(json.dumps(arriving))

        socket.connect_to_server().on_message(pass_on)

    deaf.page.route_web_socket("**/ws/**", lose)
    deaf.page.goto(chat.page.url)
    expect(deaf.answer).to_contain_text("1, 2, 3, 4")
    writer.resume()
    chat.finish()
    deaf.finish()
    expect(deaf.answer).to_have_text("1, 2, 3, 4, and so on.")
    assert "response.completed" in lost, "the premise"
    agrees_with_a_reload(chat, deaf)
