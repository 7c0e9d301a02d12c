"""The debug view: for staff with the permission, after an opt-in, with a line in the audit log. Nobody else sees any of it.

What is on its pages is in ``test_debug_parts``.
"""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conftest import INSTRUCTIONS
from tests.browser.relay import Relay
from tests.browser.visits import Visits, submit
from tests.support.served import Server

pytestmark = [pytest.mark.browser, pytest.mark.llama]

HARD = "Think hard: how do I get to work fastest?"
CANARY = "RAW-COT-CANARY-7391"
HIDDEN, SHOWN = "hidden", "shown to the user"


def test_staff_see_hidden_frames_live_after_the_opt_in_while_the_reader_sees_none(llama: Server, visits: Visits, relay: Relay) -> None:
    chat = Chat(visits.open(llama, "ada"))
    relay.hold_after(12)
    chat.ask(HARD)
    chat.settle()
    address = chat.page.url + "debug/"

    page = visits.open(llama, "grace", address)
    expect(page.get_by_role("heading", name="Before you open this view")).to_be_visible()
    expect(page.get_by_role("list", name="Frames")).to_have_count(0)
    opt_in(page, "A complaint about this answer")
    frames = page.get_by_role("list", name="Frames").get_by_role("listitem")
    expect(page.get_by_role("banner")).to_contain_text("Debug view: hidden channels")
    live = page.locator(".frame-live").filter(has_text="analysis")
    expect(live.locator(".frame-mark")).to_have_text("live")
    expect(live.locator(".frame-body")).not_to_be_empty()
    expect(live.locator(".frame-why")).to_contain_text("raw reasoning")
    expect(chat.last).to_have_attribute("data-state", "running")
    expect(chat.answer).to_be_empty()
    relay.release()
    expect(live.locator(".frame-body")).to_contain_text(CANARY)
    expect(page.locator(".frame-live").filter(has_text="final")).to_contain_text("bicycle")
    chat.finish()
    assert CANARY not in chat.page.content()

    page.reload()
    expect(frames.filter(has_text=CANARY)).to_have_class(re.compile("frame-hidden"))
    expect(frames.filter(has_text=CANARY)).to_contain_text("analysis")
    expect(frames.filter(has_text="bicycle").last).to_have_class(re.compile("frame-visible"))
    submit(page.get_by_role("button", name="Close now"))
    page.goto(address)
    expect(page.get_by_role("heading", name="Before you open this view")).to_be_visible()

    visits.allow("status of 403")
    chat.page.get_by_role("button", name="Options for this conversation").click()
    expect(chat.page.get_by_role("link", name="Download as Markdown")).to_be_visible()
    expect(chat.page.get_by_role("link", name="Debug view")).to_have_count(0)
    for refused in (address, address.replace("/debug/", "/download/whole/")):
        answer = chat.page.goto(refused)
        assert answer and answer.status == 403
        assert CANARY not in chat.page.content()


def test_every_kind_of_frame_is_there_with_its_header_and_says_whether_people_see_it(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "grace"))
    chat.ask_and_wait("Make a plan.")
    chat.settle()
    assert INSTRUCTIONS not in chat.page.content()
    chat.page.goto(chat.page.url + "debug/")
    opt_in(chat.page, "To see every kind")

    frames = chat.page.get_by_role("list", name="Frames").get_by_role("listitem")
    expect(frames).to_have_count(8)
    seen = [(frame.locator(".chip").all_inner_texts(), frame.locator(".frame-mark").inner_text()) for frame in frames.all()]
    heads = [" ".join(" ".join(chip.split()) for chip in chips if "call_id" not in chip) for chips, _ in seen]
    assert [mark for _, mark in seen] == [HIDDEN, SHOWN, HIDDEN, SHOWN, HIDDEN, HIDDEN, HIDDEN, SHOWN]
    assert heads[:3] == ["role developer", "role user", "role assistant channel analysis"]
    assert heads[3].startswith("role assistant channel commentary") and "to" not in heads[3].split()
    assert heads[4].startswith("role assistant channel commentary to functions.search_notes")
    assert heads[5].startswith("role tool") and heads[7].startswith("role assistant channel final")
    expect(frames.nth(0)).to_contain_text(INSTRUCTIONS)
    expect(frames.nth(4)).to_contain_text("launch date")


def test_a_page_whose_stream_is_refused_when_it_comes_back_shows_nothing_any_more(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "bela"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    page = visits.open(demo, "grace", chat.page.url + "debug/")
    opt_in(page, "To look at a fault")
    expect(page.get_by_text("Hello!").first).to_be_visible()
    refusal = {"type": "chatui:refused", "client_id": None, "code": "E-X-OPT-IN"}
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.on_message(lambda _: socket.send(json.dumps([refusal]))))
    page.reload()
    expect(page.locator("main")).to_have_text("Open the debug view of this conversation first.")


def opt_in(page: Page, reason: str) -> None:
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Open the debug view").click()
