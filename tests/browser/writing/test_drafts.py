"""All tabs of a conversation share one draft, new conversations do not, and a length limit is shown before it is reached."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_a_draft_is_the_same_in_two_tabs_and_never_replaces_what_is_being_written(demo: Server, visits: Visits) -> None:
    one = Chat(visits.open(demo, "ada"))
    one.ask_and_wait("Hello!")
    one.settle()
    two = Chat(one.page.context.new_page())
    two.page.goto(one.page.url)
    two.page.wait_for_load_state()

    one.box.fill("half a thought")
    expect(two.box).to_have_value("half a thought")
    two.box.fill("a newer thought")
    expect(one.box).to_have_value("a newer thought")

    # Typed in both at the same moment: neither box is overwritten.
    one.page.evaluate("() => { document.querySelector('#composer-text').value = 'being written'; }")
    two.box.fill("the newest thought")
    two.page.wait_for_function("() => Object.values(localStorage).some((text) => text.includes('the newest thought'))")
    expect(one.box).to_have_value("being written")
    one.page.evaluate("() => { document.querySelector('#composer-text').value = 'a newer thought'; }")

    two.box.fill("to be sent")
    expect(one.box).to_have_value("to be sent")
    two.box.press("Enter")
    two.finish()
    expect(one.exchanges).to_have_count(2)
    expect(one.box).to_have_value("")


def test_tabs_with_new_conversations_keep_their_own_texts(demo: Server, visits: Visits) -> None:
    one = Chat(visits.open(demo, "ada"))
    one.page.wait_for_load_state()
    one.box.fill("First long draft")
    one.page.wait_for_function("() => Object.values(localStorage).some((text) => text.includes('First long draft'))")
    two, copy = (Chat(one.page.context.new_page()) for _ in range(2))
    for tab in (two, copy):
        tab.page.goto("/")
        expect(tab.box).to_have_value("First long draft")
    two.box.fill("Something else")
    two.page.wait_for_function("() => Object.values(localStorage).some((text) => text.includes('Something else'))")
    expect(one.box).to_have_value("First long draft")
    two.box.press("Enter")
    two.finish()
    expect(one.box).to_have_value("First long draft")
    one.page.reload()
    expect(one.box).to_have_value("First long draft")
    one.ask("First long draft")
    one.finish()
    expect(copy.box).to_have_value("")


def test_a_conversation_with_a_draft_has_a_mark_in_the_list_of_every_tab(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Where do wallabies sleep?")
    chat.settle()
    address = chat.page.url
    other = Chat(chat.page.context.new_page())
    other.page.goto("/")
    marked = other.page.locator(".conversation-item", has_text="Where do wallabies sleep?").get_by_text("Unsent text")
    expect(other.page.get_by_role("link", name="Where do wallabies sleep?")).to_be_visible()
    expect(marked).to_have_count(0)
    chat.box.fill("half a thought")
    expect(marked).to_have_count(1)
    expect(chat.page.locator(".conversation-link[aria-current] .conversation-draft")).to_be_hidden()
    other.page.reload()
    expect(marked).to_have_count(1)
    chat.box.fill("")
    expect(marked).to_have_count(0)
    chat.box.fill("a whole one")
    expect(marked).to_have_count(1)
    chat.box.press("Enter")
    chat.finish()
    expect(marked).to_have_count(0)
    chat.box.fill("again")
    expect(marked).to_have_count(1)
    chat.page.goto("/")
    expect(chat.page.locator(".conversation-draft").first).to_be_visible()
    chat.page.goto(address)
    chat.box.fill("")
    expect(marked).to_have_count(0)


def test_a_link_hides_nothing_in_what_it_fills_in(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    readable = "Pay 21 to Ann, 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 می\u200cخواهم क\u094d\u200dष 안녕 你好 x\u0301."
    unseen = [
        *("\u202e", "\u202d", "\u2066", "\u2069", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u200d", "\u200c", "\u2063", "\u180e", "\u2800"),
        *("\u3164", "\u034f", "\ufe05\ufe01", "\U000e0100", "\U000e01ef", "\U000e0041", "\ufffa", "\x7f", "\x1b"),
    ]
    for place in ("Pay", "21", "안녕", "你好"):
        filled = readable.replace(place, place + "".join(f"{each} " for each in unseen), 1)
        chat.page.goto("/?" + urlencode({"q": f"{unseen[0]}{filled}{unseen[1]}"}))
        expect(chat.box).to_have_value(readable.replace(place, place + " " * len(unseen), 1))
        chat.box.fill("")


def test_a_link_fills_the_box_below_a_draft_and_sends_nothing(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", "about:blank"))
    hidden = "\N{TAG LATIN SMALL LETTER A}\x1b"
    shared = {"title": "A page", "q": f"What is  this?{hidden}\r\nAnd that?", "url": "https://example.org/"}
    filled = "A page\nWhat is  this?\nAnd that?\nhttps://example.org/"
    note = chat.page.locator(".composer-note")
    chat.page.goto("/?" + urlencode(shared))
    expect(chat.box).to_have_value(filled)
    expect(note).to_have_text("A link filled this in. Read it before you send it.")
    assert chat.page.url == f"{demo.url}/"

    # A draft stays, above it; the same link twice, and a reload, add nothing.
    again = "/?" + urlencode({"q": "A second thing"})
    for opened in (lambda: chat.page.goto(again), lambda: chat.page.goto(again), chat.page.reload):
        opened()
        expect(chat.box).to_have_value(f"{filled}\n\nA second thing")
    expect(note).to_have_count(0)
    expect(chat.exchanges).to_have_count(0)
    chat.box.fill("")

    chat.page.goto("/?" + urlencode(shared | {"temporary": "1"}))
    expect(chat.box).to_have_value(filled)
    assert chat.page.url == f"{demo.url}/?temporary=1"
    chat.box.fill("What is this?")
    expect(note).to_have_count(0)
    chat.box.fill("")
