"""Notifications of long answers and of calls that wait: only if switched on, and without any text of the conversation."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.support.served import Server

pytestmark = pytest.mark.browser

# A headless browser shows no notifications: the script records them instead, and fakes a page in the background and a long wait.
WATCH = """
globalThis.noticed = [];
globalThis.asked = 0;
class Noted extends EventTarget {
  static permission = "default";
  static answer = "granted";
  static async requestPermission() { globalThis.asked += 1; return (Noted.permission = Noted.answer); }
  constructor(title, options) { super(); globalThis.noticed.push({ title, ...options }); globalThis.last = this; }
  close() { this.closed = true; }
}
Object.defineProperty(globalThis, "Notification", { value: Noted });
globalThis.away = false;
Object.defineProperty(document, "hidden", { get: () => globalThis.away });
const now = performance.now.bind(performance);
globalThis.later = 0;
performance.now = () => now() + globalThis.later;
globalThis.focused = 0;
globalThis.focus = () => { globalThis.focused += 1; };
"""
AWAY = "() => { globalThis.away = true; }"
GONE = "() => { globalThis.away = true; document.dispatchEvent(new Event('visibilitychange')); }"


@pytest.fixture
def chat(demo: Server, visits: Visits) -> Chat:
    page = visits.open(demo, "ada", "about:blank")
    page.add_init_script(WATCH)
    page.goto("/")
    still(page)
    return Chat(page)


def choose(page: Page) -> None:
    page.locator(".account-button").click()
    page.get_by_role("button", name="Tell me when a long answer is ready").click()


def conversation_of(page: Page) -> str:
    return page.url.rstrip("/").rpartition("/")[2]


def long_answer(chat: Chat) -> None:
    """Request an answer that takes long while the person looks at something else."""
    chat.page.evaluate("""() => document.querySelector("chat-composer").addEventListener("chat:running", () => {
      globalThis.later += 6_000;
    })""")
    before = chat.exchanges.count()
    chat.page.evaluate(AWAY)
    chat.ask("SECRET-QUESTION explain")
    expect(chat.exchanges).to_have_count(before + 1)
    chat.finish()


def test_people_who_switched_it_on_are_notified_once_without_any_text_of_the_conversation(chat: Chat) -> None:
    page = chat.page
    assert page.evaluate("globalThis.asked") == 0, "no permission is requested before the person requests notices"
    choose(page)
    expect(page.locator(".toast").last).to_contain_text("You will be notified of long answers")
    assert page.evaluate("globalThis.asked") == 1

    long_answer(chat)

    page.wait_for_function("() => globalThis.noticed.length > 0")
    [first] = page.evaluate("globalThis.noticed")
    turn = chat.last.get_attribute("data-turn")
    assert first == {"title": "An answer is ready", "tag": f"chatui-ready-{turn}"}, "two tabs with this answer show one notice"
    page.evaluate("() => globalThis.last.dispatchEvent(new Event('click'))")
    assert page.evaluate("[globalThis.focused, globalThis.last.closed]") == [1, True]

    long_answer(chat)
    page.wait_for_function("() => globalThis.noticed.length > 1")
    assert page.evaluate("globalThis.noticed[1].tag") not in (None, first["tag"]), (
        "browsers show a second notice of one tag without a sound"
    )


def test_nobody_is_notified_without_asking_or_while_the_page_is_visible_or_of_a_quick_answer(chat: Chat) -> None:
    long_answer(chat)
    assert chat.page.evaluate("globalThis.noticed") == []
    chat.page.evaluate("() => { globalThis.away = false; }")
    choose(chat.page)
    chat.ask_and_wait("Hello")
    assert chat.page.evaluate("globalThis.noticed") == []


def test_a_call_that_waits_anywhere_is_told_once_unless_the_person_is_there(chat: Chat, visits: Visits) -> None:
    page = chat.page
    choose(page)
    other = page.context.new_page()
    other.add_init_script(WATCH)
    other.goto("/")
    still(other)
    other.evaluate(f"() => {{ Notification.permission = 'granted'; ({GONE})(); }}")
    chat.ask("Keep a note about the trip in Oslo, please.")
    expect(other.locator(".conversation-waits")).to_have_count(1)
    page.get_by_role("button", name="Decline").click()
    chat.finish()
    assert other.evaluate("globalThis.noticed") == [], "the other tab is visible, with its list"

    page.evaluate(GONE)
    chat.ask("Keep a note about SECRET-NOTE, please.")
    other.wait_for_function("() => globalThis.noticed.length > 0")
    assert other.evaluate("globalThis.noticed") == [{"title": "An answer waits for you.", "tag": f"chatui-waits-{conversation_of(page)}"}]
