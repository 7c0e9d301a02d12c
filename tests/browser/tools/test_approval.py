"""A tool call that waits for approval in a real browser: the card, its buttons, a reload, a second tab, and the tool menu."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, Wire
from tests.support.served import Server

pytestmark = pytest.mark.browser

ASK = "Keep a note about the trip in Oslo, please."
WRITTEN = "Call Oslo back on Monday."


def card(page: Page) -> Locator:
    return page.locator("[data-waiting]")


def approval_request(chat: Chat) -> Locator:
    """The approval card, once the demo has called its tool."""
    chat.ask(ASK)
    shown = card(chat.page)
    expect(shown).to_have_count(1)
    return shown


def test_a_call_is_shown_in_full_and_runs_when_it_is_allowed(demo: Server, visits: Visits) -> None:
    wire = Wire()
    chat = Chat(visits.open(demo, "ada", wire=wire))
    shown = approval_request(chat)
    expect(shown.get_by_role("heading")).to_have_text("Allow “Notes”?")
    expect(shown.locator("pre")).to_have_text(f"{WRITTEN}\nBring the list.")
    expect(chat.page.locator(".announcer")).to_have_text("A tool waits for your decision.")
    expect(chat.working).to_be_hidden()
    for button in shown.get_by_role("button").all():
        box = button.bounding_box()
        assert box and box["height"] >= 44
    overflows = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not chat.page.evaluate(overflows)
    events = b"".join(data for data in wire.received if data.startswith(b"["))
    assert b"chatui:calls_wait" in events and b"Oslo back" not in events, "no event has anything of a call"

    shown.get_by_role("button", name="Allow once").click()

    chat.finish()
    expect(chat.last.locator(".part-tool")).to_have_text("Keeping a note")
    for _ in ("live", "after a reload"):
        expect(chat.page.locator("[data-decided] summary")).to_have_text(re.compile("Notes · You allowed this call."))
        expect(card(chat.page)).to_have_count(0)
        chat.page.reload()


def test_a_decided_card_says_so_from_the_click_on(demo: Server, visits: Visits) -> None:
    """Not “Without a decision, the call is declined in 9 minutes”, whatever is slow: the decision, or the card after it."""
    chat = Chat(visits.open(demo, "ada"))
    shown = approval_request(chat)
    hint = shown.locator(".approval-hint")
    expect(hint).to_have_text(re.compile("Without a decision"))
    decision, cards = re.compile(r"/c/[^/]+/calls/[^/]+/$"), re.compile(r"/turns/[^/]+/calls/$")
    sent: list[Route] = []
    late: list[Route] = []
    is_late = True
    chat.page.route(decision, lambda route: sent.append(route))
    chat.page.route(cards, lambda route: late.append(route) if is_late else route.continue_())
    with chat.page.expect_request(decision):
        shown.get_by_role("button", name="Allow once").click()
    expect(hint).to_have_text("Sending your decision…")
    with chat.page.expect_request(cards):
        sent[0].continue_()
    expect(hint).to_have_text("You allowed this call.")
    is_late = False
    for each in late:
        each.continue_()
    chat.finish()
    expect(chat.page.locator("[data-decided] summary")).to_have_text(re.compile("Notes · You allowed this call."))


def test_the_card_survives_a_reload_and_a_decision_in_one_tab_is_seen_in_the_other(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    approval_request(chat)
    chat.settle()
    chat.page.reload()
    expect(card(chat.page)).to_have_count(1)
    other = visits.open(demo, "ada", chat.page.url)
    expect(card(other).locator("pre")).to_contain_text(WRITTEN)

    button = card(other).get_by_role("button", name="Decline")
    button.focus()
    other.keyboard.press("Enter")

    chat.finish()
    for page in (chat.page, other):
        expect(page.locator("[data-decided] summary")).to_contain_text("You declined this call.")
        expect(card(page)).to_have_count(0)
    expect(chat.last.locator(".part-tool")).to_have_count(0)


def test_what_is_switched_off_for_a_conversation_is_not_called_in_it(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "bela"))
    approval_request(chat).get_by_role("button", name="Never in this conversation").click()
    chat.finish()
    button = chat.page.get_by_role("button", name="Tools", exact=True)
    button.click()
    menu = chat.page.locator("#tools-menu")
    expect(menu.get_by_role("checkbox", name="Notes")).not_to_be_checked()
    expect(menu.get_by_role("checkbox", name="Weather")).to_be_checked()
    menu.get_by_role("checkbox", name="Notes").check()
    expect(menu).to_contain_text("You are asked before each call.")
    chat.page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_a_new_conversation_begins_with_what_was_chosen_last(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "bela"))
    chat.page.get_by_role("button", name="Tools", exact=True).click()
    menu = chat.page.locator("#tools-menu")
    menu.get_by_role("checkbox", name="Notes").uncheck()
    expect(menu.get_by_role("checkbox", name="Notes")).to_be_focused()
    chat.page.reload()
    chat.ask(ASK)
    chat.finish()
    expect(card(chat.page)).to_have_count(0)
    chat.page.get_by_role("button", name="Tools", exact=True).click()
    expect(menu.get_by_role("checkbox", name="Notes")).not_to_be_checked()
