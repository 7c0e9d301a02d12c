"""A message sent while an answer is being written waits, can be edited and withdrawn, and is sent exactly once."""

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.connection.test_after_a_cut import SHOWN
from tests.browser.content.writer import Writer
from tests.browser.test_accounts import sign_out
from tests.browser.visits import Visits, still, until
from tests.browser.writing.test_documents import NOTES, attach
from tests.support.served import Server

pytestmark = pytest.mark.browser

WAITING = "Sent when this answer is finished."
STOPPED = "The answer was stopped, so this message has not been sent."


def card(page: Page) -> Locator:
    """The card that shows the next message."""
    return page.get_by_role("region", name="Next message")


def press(page: Page, name: str) -> None:
    """Press a button of the next message."""
    card(page).get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def chat(written: Server, visits: Visits, writer: Writer) -> Chat:
    """A conversation whose first answer is paused in the middle."""
    chat = Chat(visits.open(written, "ada"))
    writer.write("1, 2, 3, and so on.", pause_after="1, 2, 3")
    chat.ask("Count from 1 to 200.")
    expect(chat.answer).to_contain_text("1, 2, 3")
    chat.settle()
    return chat


def test_the_next_message_is_sent_once_when_the_answer_ends_also_with_two_tabs(chat: Chat, writer: Writer) -> None:
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    chat.ask("And then?")
    for tab in (chat, other):
        expect(card(tab.page)).to_contain_text(WAITING)
        expect(card(tab.page)).to_contain_text("And then?")
        expect(tab.exchanges).to_have_count(1)
    expect(chat.box).to_have_value("")

    chat.ask("Say it shortly.")
    expect(card(other.page)).to_contain_text("And then?\n\nSay it shortly.", use_inner_text=True)
    writer.resume()

    for tab in (chat, other):
        expect(tab.exchanges).to_have_count(2)
        expect(tab.question).to_have_text("And then?\n\nSay it shortly.", use_inner_text=True)
        tab.finish()
        expect(card(tab.page)).to_be_hidden()
        tab.page.reload()
        expect(tab.exchanges).to_have_count(2)
        expect(card(tab.page)).to_be_hidden()
        expect(tab.box).to_have_value("")


@pytest.mark.parametrize("hears", ["of the answer first", "of the refusal first", "of the refusal after another message"])
def test_of_two_pages_that_send_at_once_the_message_of_one_waits_for_the_other(
    hears: str, written: Server, visits: Visits, writer: Writer
) -> None:
    winner, loser = (Chat(visits.open(written, "ada", path)) for path in ("/", "about:blank"))
    writer.write("Zero.")
    winner.ask_and_wait("Begin.")
    winner.settle()
    slow = SlowSocket(loser.page)
    loser.page.goto(winner.page.url)
    attach(loser.page, NOTES)
    expect(loser.page.locator(".chip")).to_contain_text(["of the limit"])
    slow.hold()
    writer.write("1, 2, 3, and so on.", pause_after="1, 2, 3")
    winner.ask("Count from 1 to 200.")
    expect(winner.answer).to_contain_text("1, 2, 3")
    loser.ask("And then?")
    if another := "another" in hears:
        loser.ask("Briefly.")
        expect(card(loser.page)).to_contain_text("Briefly.")
    loser.box.fill("typed since")
    until(loser.page, lambda: slow.has("chatui:refused"))
    slow.release(first="chatui:refused" if "refusal" in hears else "")

    expect(card(loser.page)).to_contain_text(WAITING)
    message = "And then?\n\nBriefly." if another else "And then?"
    expect(card(loser.page)).to_contain_text(message, use_inner_text=True)
    expect(card(loser.page)).to_contain_text("With notes.txt")
    expect(loser.page.locator(".chip")).to_have_count(0)
    expect(loser.problem).to_have_text("")
    expect(loser.answer).to_contain_text("1, 2, 3")
    expect(loser.box).to_have_value("typed since")
    writer.resume()
    for page in (winner, loser):
        expect(page.exchanges).to_have_count(3)
        expect(page.question).to_have_text(message, use_inner_text=True)
        page.finish()
    expect(card(loser.page)).to_be_hidden()
    seen = loser.page.evaluate(SHOWN)
    loser.page.reload()
    still(loser.page)
    assert loser.page.evaluate(SHOWN) == seen
    expect(loser.box).to_have_value("typed since")
    expect(card(loser.page)).to_be_hidden()


@pytest.mark.parametrize("hears", ["of nothing but the refusal until the answer has ended", "of the whole answer before the refusal"])
def test_a_message_that_was_refused_for_an_answer_which_has_ended_since_is_sent(
    hears: str, written: Server, visits: Visits, writer: Writer
) -> None:
    winner, loser = (Chat(visits.open(written, "ada", path)) for path in ("/", "about:blank"))
    writer.write("Zero.")
    winner.ask_and_wait("Begin.")
    winner.settle()
    slow = SlowSocket(loser.page)
    loser.page.goto(winner.page.url)
    loser.settle()
    slow.hold(commands=True)
    writer.write("1, 2, 3, and so on.", pause_after="1, 2, 3")
    winner.ask("Count from 1 to 200.")
    expect(winner.answer).to_contain_text("1, 2, 3")
    loser.ask("And then?")
    until(loser.page, lambda: slow.has("chatui:refused"))
    if "nothing" in hears:
        slow.deliver("chatui:refused")
        expect(card(loser.page)).to_contain_text(WAITING)
    writer.resume()
    winner.finish()
    slow.release(last="chatui:refused", lost="nothing" in hears)
    for page in (winner, loser):
        expect(page.exchanges).to_have_count(3)
        expect(page.question).to_have_text("And then?")
        page.finish()
    expect(card(loser.page)).to_be_hidden()
    expect(loser.box).to_have_value("")


class SlowSocket:
    """A page's socket, whose events the test can hold back. Install it before the page loads."""

    def __init__(self, page: Page) -> None:
        self._held: list[str | bytes] | None = None
        self._commands: list[str | bytes] | None = None
        self._page: WebSocketRoute | None = None
        self._server: WebSocketRoute | None = None
        page.route_web_socket("**/ws/**", self._open)

    def hold(self, *, commands: bool = False) -> None:
        """Keep what the server sends from now on. ``commands``: and what the page asks to be told."""
        self._held = []
        self._commands = [] if commands else None

    def has(self, event: str) -> bool:
        """Whether an event of this type is held."""
        return any(event in str(frame) for frame in self._held or [])

    def deliver(self, event: str) -> None:
        """Pass on the held frames with this event. All others stay held."""
        assert self._page, "the page has no socket yet"
        held = self._held or []
        self._held = [frame for frame in held if event not in str(frame)]
        for frame in held:
            if event in str(frame):
                self._page.send(frame)

    def release(self, first: str = "", last: str = "", *, lost: bool = False) -> None:
        """Pass on what is held, frames with this event ``first`` or ``last``. ``lost``: of what the server sent, nothing."""
        held, self._held = self._held or [], None
        commands, self._commands = self._commands or [], None
        assert self._page, "the page has no socket yet"
        assert self._server
        for frame in () if lost else sorted(held, key=lambda frame: (last or first) in str(frame), reverse=not last):
            self._page.send(frame)
        for command in commands:
            self._server.send(command)

    def _open(self, page: WebSocketRoute) -> None:
        self._page, server = page, page.connect_to_server()
        self._server = server
        server.on_message(lambda frame: page.send(frame) if self._held is None else self._held.append(frame))
        page.on_message(self._ask)

    def _ask(self, command: str | bytes) -> None:
        if self._commands is not None and '"subscribe"' in str(command):
            self._commands.append(command)
        elif self._server:
            self._server.send(command)


def test_the_next_message_survives_a_reload_and_is_sent_though_the_answer_ended_meanwhile(chat: Chat, writer: Writer) -> None:
    chat.ask("Still there?")
    expect(card(chat.page)).to_contain_text(WAITING)
    chat.page.reload()
    expect(card(chat.page)).to_contain_text(WAITING)

    address = chat.page.url
    chat.page.goto("/pages/help/")
    writer.resume()
    ended = Chat(chat.page.context.new_page())
    # This page only waits for the end: it never followed the turn, and so does not send the next message.
    ended.page.add_init_script("delete globalThis.localStorage")
    ended.page.goto(address + "?all=1")
    expect(ended.page.locator(".exchange").first).to_have_attribute("data-state", "completed")
    ended.page.close()
    chat.page.goto(address)
    expect(chat.exchanges).to_have_count(2)
    expect(chat.question).to_have_text("Still there?")
    chat.finish()


def test_a_message_whose_page_is_left_before_the_server_replies_is_sent_once_and_gone(chat: Chat, writer: Writer) -> None:
    lost: list[str | bytes] = []

    def without_reply(page: WebSocketRoute) -> None:
        is_first, server = not lost, page.connect_to_server()
        server.on_message(lambda frame: lost.append(frame) if is_first and "chatui:accepted" in str(frame) else page.send(frame))

    chat.page.route_web_socket("**/ws/**", without_reply)
    chat.page.reload()
    chat.ask("And then?")
    expect(card(chat.page)).to_contain_text(WAITING)
    writer.resume()
    until(chat.page, lambda: lost)
    chat.page.reload()
    until(chat.page, lambda: chat.page.evaluate("Object.keys(localStorage).every((key) => !key.startsWith('chatui:next:'))"))
    expect(card(chat.page)).to_be_hidden()
    chat.finish()
    expect(chat.exchanges).to_have_count(2)
    expect(chat.question).to_have_text("And then?")
    expect(chat.stop).to_be_hidden()
    live = chat.page.locator("chat-transcript").inner_text()
    chat.page.reload()
    expect(chat.exchanges).to_have_count(2)
    assert chat.page.locator("chat-transcript").inner_text() == live, "a reload shows the same"


def test_the_next_message_can_be_edited_and_withdrawn(chat: Chat, writer: Writer) -> None:
    chat.ask("Frist")
    press(chat.page, "Edit")
    editor = card(chat.page).get_by_role("textbox", name="Your message")
    expect(editor).to_be_focused()
    expect(card(chat.page)).to_contain_text("Not sent while you edit it.")
    lines = "element => getComputedStyle(element).outlineStyle"
    form = card(chat.page).get_by_role("form", name="Edit your message")
    assert (card(chat.page).evaluate(lines), form.evaluate(lines)) == ("solid", "none"), "the card has an outline, the form in it none"
    editor.fill("First")
    editor.press("Enter")
    expect(card(chat.page)).to_contain_text(WAITING)
    expect(card(chat.page)).to_contain_text("First")

    chat.box.fill("typed since")
    press(chat.page, "Cancel sending")
    expect(card(chat.page)).to_be_hidden()
    expect(chat.box).to_have_value("First\n\ntyped since")
    expect(chat.box).to_be_focused()
    writer.resume()
    chat.finish()
    expect(chat.exchanges).to_have_count(1)


def test_after_a_stopped_answer_the_next_message_is_offered_and_not_sent(chat: Chat, writer: Writer) -> None:
    chat.ask("Only if you finish.")
    chat.stop.click()
    chat.finish("stopped")
    expect(card(chat.page)).to_contain_text(STOPPED)
    writer.resume()
    chat.page.reload()
    expect(card(chat.page)).to_contain_text(STOPPED)
    expect(chat.exchanges).to_have_count(1)

    press(chat.page, "Send now")
    expect(chat.question).to_have_text("Only if you finish.")
    expect(card(chat.page)).to_be_hidden()
    chat.finish()
    expect(chat.exchanges).to_have_count(2)


def test_the_next_message_is_forgotten_when_the_person_signs_out(chat: Chat) -> None:
    chat.ask("Private.")
    expect(card(chat.page)).to_contain_text("Private.")
    sign_out(chat.page, "Private.")
    stored = chat.page.evaluate("() => Object.keys(localStorage).filter((key) => /next|draft/.test(key))")
    assert stored == []
