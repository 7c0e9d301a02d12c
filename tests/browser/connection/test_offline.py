"""A page without a connection says so and stores what is written: it is shown as unsent until it is sent exactly once."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.cable import Cable
from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

NO_CONNECTION = "No connection to the server. Reconnecting…"
NOT_SENT = "Not sent yet. It will be sent when the connection is back."
# Measures how long the page takes to report a lost connection, in milliseconds of the page's own clock.
STOPWATCH = """() => {
  const line = document.querySelector(".banner-connection");
  const began = performance.now();
  const look = () => { if (!line.hidden) globalThis.saidAfter ??= performance.now() - began; };
  new MutationObserver(look).observe(line, { attributes: true });
}"""
MAX_MS = 15_000
"""The page's own timeouts add up to less than 3 seconds (``tests/js/connection.test.js``); this machine may be several times slower."""


@pytest.fixture
def cable(demo: Server, visits: Visits) -> Iterator[Cable]:
    visits.allow("WebSocket connection to .* failed|ERR_(CONNECTION|EMPTY|INTERNET|NETWORK)|Failed to load resource")
    cable = Cable(demo.port)
    yield cable
    cable.close()


@pytest.fixture
def chat(demo: Server, visits: Visits, cable: Cable) -> Chat:
    """A conversation of one turn, behind the cable."""
    chat = Chat(visits.open(demo, "ada", "about:blank"))
    chat.page.goto(cable.url)
    chat.ask_and_wait("Hello!")
    chat.settle()
    return chat


def test_a_message_without_a_connection_waits_visibly_and_is_sent_once(cable: Cable, chat: Chat) -> None:
    chat.page.evaluate(STOPWATCH)
    cable.swallow()
    expect(chat.banner).to_have_text(NO_CONNECTION)
    assert chat.page.evaluate("globalThis.saidAfter") < MAX_MS

    chat.ask("Are you there?")
    expect(chat.last.locator(".unsent")).to_contain_text(NOT_SENT)
    expect(chat.working).to_be_hidden()
    expect(chat.stop).to_be_hidden()
    expect(chat.send).to_be_visible()
    chat.ask("And another one")
    expect(chat.problem).to_have_text("There is no connection to the server. Please try again when it is back.")
    expect(chat.box).to_have_value("And another one")
    expect(chat.exchanges).to_have_count(2)

    cable.restore()
    expect(chat.banner).to_be_hidden()
    expect(chat.problem).to_have_text("")
    chat.finish()
    expect(chat.last.locator(".unsent")).to_have_count(0)
    chat.page.reload()
    expect(chat.exchanges).to_have_count(2)
    expect(chat.question).to_have_text("Are you there?")
    chat.finish()
    expect(chat.box).to_have_value("And another one")


def test_what_a_silent_connection_swallowed_is_sent_again_and_counts_once(cable: Cable, chat: Chat) -> None:
    cable.swallow()
    chat.ask("Did you hear me?")
    expect(chat.last.locator(".unsent")).to_contain_text("Not confirmed yet: the connection was lost. It will be sent again automatically.")
    expect(chat.stop).to_be_hidden()
    expect(chat.working).to_be_hidden()

    cable.restore(keeps=True)
    chat.finish()
    expect(chat.banner).to_be_hidden()
    expect(chat.last.locator(".unsent")).to_have_count(0)
    chat.page.reload()
    expect(chat.exchanges).to_have_count(2)
    expect(chat.question).to_have_text("Did you hear me?")


def test_a_message_that_was_not_sent_can_be_taken_back_and_changed(demo: Server, visits: Visits, cable: Cable) -> None:
    chat = Chat(visits.open(demo, "bela", "about:blank"))
    chat.page.goto(cable.url)
    expect(chat.page.locator(".stage")).to_have_attribute("data-empty", "")
    cable.cut()
    expect(chat.banner).to_have_text(NO_CONNECTION)
    chat.ask("Half a thought")

    chat.button("Cancel sending").click()
    expect(chat.exchanges).to_have_count(0)
    expect(chat.page.locator(".stage")).to_have_attribute("data-empty", "")
    expect(chat.box).to_have_value("Half a thought")
    expect(chat.box).to_be_focused()
    chat.ask("A whole thought")
    expect(chat.last.locator(".unsent")).to_contain_text(NOT_SENT)
    cable.restore()

    chat.finish()
    chat.settle()
    chat.page.reload()
    expect(chat.exchanges).to_have_count(1)
    expect(chat.question).to_have_text("A whole thought")


def test_without_a_connection_other_buttons_say_so_and_nothing_waits(cable: Cable, chat: Chat) -> None:
    chat.last.locator(".question").hover()
    chat.button("Edit").click()
    expect(chat.last.locator(".question-editor[data-ready]")).to_be_visible()  # its script has loaded, and needs no connection
    cable.cut()
    expect(chat.banner).to_have_text(NO_CONNECTION)

    chat.button("Regenerate").click()
    expect(chat.problem).to_have_text("There is no connection to the server. Please try again when it is back.")
    chat.last.get_by_role("textbox").fill("Hello, differently!")
    chat.button("Send").click()
    expect(chat.last.locator(".question-editor-problem")).to_contain_text("There is no connection")
    cable.restore()

    expect(chat.banner).to_be_hidden()
    chat.button("Send").click()
    chat.finish()
    expect(chat.question).to_have_text("Hello, differently!")
    expect(chat.last.get_by_role("group", name="Versions of your message")).to_contain_text("2 of 2")


@pytest.mark.extended
def test_an_edit_that_is_sent_just_when_the_connection_breaks_says_so_and_can_be_changed(cable: Cable, chat: Chat) -> None:
    box = edited(chat, "Hello, before anybody noticed!")
    cable.cut()
    box.press("Enter")
    problem = chat.last.locator(".question-editor-problem")
    expect(problem).to_have_text(re.compile("There is no connection|Not confirmed yet"))
    expect(chat.stop).to_be_hidden()
    cable.restore()
    expect(chat.banner).to_be_hidden()
    if box.is_visible() and box.is_editable():
        chat.button("Send").click()
    chat.finish()
    expect(chat.question).to_have_text("Hello, before anybody noticed!")
    expect(chat.last.get_by_role("group", name="Versions of your message")).to_contain_text("2 of 2")


@pytest.mark.extended
def test_an_open_editor_goes_on_where_the_page_shows_news_from_another_tab(cable: Cable, chat: Chat, demo: Server) -> None:
    box = edited(chat, "Half an edit")
    cable.cut()
    expect(chat.banner).to_have_text(NO_CONNECTION)
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url.replace(cable.url, demo.url))
    other.ask_and_wait("News from elsewhere")
    other.page.close()
    cable.restore()
    expect(chat.exchanges).to_have_count(2)
    expect(box).to_have_value("Half an edit")
    expect(box).to_be_focused()
    box.press("End")
    box.type(", and the rest")
    box.press("Enter")
    expect(chat.exchanges).to_have_count(1)
    chat.finish()
    expect(chat.question).to_have_text("Half an edit, and the rest")


def edited(chat: Chat, text: str | None) -> Locator:
    """The open editor of the first question, with ``text`` filled in."""
    chat.exchanges.first.locator("[data-action=edit]").focus()
    chat.page.keyboard.press("Enter")
    box = chat.page.get_by_role("form", name="Edit your message").get_by_role("textbox")
    expect(box).to_be_focused()
    expect(chat.exchanges.first.locator(".question-editor[data-ready]")).to_be_visible()  # its script is loaded
    if text is not None:
        box.fill(text)
    return box


@pytest.fixture
def half_written(written: Server, visits: Visits, writer: Writer) -> Iterator[tuple[Chat, Cable]]:
    """A conversation behind a cable, whose answer has begun and does not go on."""
    visits.allow("WebSocket connection to .* failed|ERR_(CONNECTION|EMPTY)|Failed to load resource")
    cable = Cable(written.port)
    try:
        chat = Chat(visits.open(written, "ada", "about:blank"))
        chat.page.goto(cable.url)
        writer.write("1, 2, 3, 4, and so on.", pause_after="1, 2, 3, 4")
        chat.ask("Count from 1 to 200.")
        expect(chat.answer).to_contain_text("1, 2, 3, 4")
        yield chat, cable
    finally:
        cable.close()


def test_a_queued_message_waits_for_the_connection_first(half_written: tuple[Chat, Cable]) -> None:
    chat, cable = half_written
    chat.ask("And then?")
    state = chat.page.locator(".next-message-state")
    expect(state).to_have_text("Sent when this answer is finished.")
    cable.cut()
    expect(state).to_have_text(NOT_SENT)
    chat.ask("And after that?")
    expect(state).to_have_text(NOT_SENT)
    cable.restore()
    expect(state).to_have_text("Sent when this answer is finished.")


def test_stop_without_a_connection_takes_effect_when_it_is_back(half_written: tuple[Chat, Cable]) -> None:
    chat, cable = half_written
    cable.cut()
    expect(chat.banner).to_have_text(NO_CONNECTION)
    chat.stop.click()
    cable.restore()
    chat.finish("stopped")


def test_a_page_at_an_address_that_is_not_set_up_says_so_and_not_that_it_reconnects(visits: Visits, tmp_path: Path) -> None:
    visits.allow("WebSocket connection to .* failed|Failed to load resource")
    with served(Deployment(tmp_path, CHATUI_ORIGINS="http://localhost:1"), "ada") as server:
        page = visits.open(server, "ada")
        sentence = "This site or its proxy is not set up for this address. Its operator finds the reason in the server's log."
        expect(page.locator(".banner-connection")).to_have_text(sentence, timeout=60_000)
