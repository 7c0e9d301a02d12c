"""People talk to a real gpt-oss model on a real llama.cpp server, in a real browser."""

import re
import time

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.relay import Relay
from tests.browser.visits import Visits, Wire, until
from tests.support.served import Server

pytestmark = [pytest.mark.browser, pytest.mark.llama]

HELLO = "Hello!"
TRANSISTOR = "Explain in detail how a transistor works."
COUNT = "Count from 1 to 200."
HARD = "Think hard: how do I get to work fastest?"
CANARY = "RAW-COT-CANARY-7391"


def test_a_question_gets_the_models_answer_and_gives_the_conversation_its_title(llama: Server, visits: Visits) -> None:
    chat = Chat(visits.open(llama, "ada"))

    chat.ask_and_wait(HELLO)

    expect(chat.answer).to_contain_text("Hello")
    chat.settle()
    expect(chat.links.first).to_have_text(HELLO)
    expect(chat.links.first).to_have_attribute("aria-current", "page")
    expect(chat.page).to_have_title(f"{HELLO} · chatui")
    expect(chat.page.get_by_role("heading", level=1)).to_have_text(HELLO)


def test_raw_reasoning_is_in_no_byte_that_the_browser_receives(llama: Server, visits: Visits, relay: Relay) -> None:
    wire = Wire()
    chat = Chat(visits.open(llama, "grace", wire=wire))
    relay.hold_after(12)

    chat.ask(HARD)
    expect(chat.working).to_have_text(re.compile(r" · [1-9]\d* s$"))
    expect(chat.answer).to_be_empty()
    relay.release()
    chat.finish()
    chat.settle()
    expect(chat.answer).to_contain_text("bicycle")
    expect(chat.working).to_be_hidden()
    chat.page.reload()
    chat.finish()
    page = chat.page.content()
    download = chat.page.request.get(chat.page.url + "download/")
    assert download.ok

    everything = b"\n".join([*wire.received, page.encode(), download.body()])
    assert b"bicycle" in everything and b"response.completed" in everything, "the recording misses what was visible, so it proves nothing"
    assert CANARY.encode() not in everything
    assert CANARY not in page

    chat.page.goto(chat.page.url + "debug/")
    chat.page.get_by_label("Reason").fill("To see what was thought")
    chat.page.get_by_role("button", name="Open the debug view").click()
    expect(chat.page.get_by_role("list", name="Frames")).to_contain_text(CANARY)  # the premise: the model did write it


def test_stop_ends_the_upstream_request_within_a_second_and_keeps_the_text(
    llama: Server, llama_server: str, visits: Visits, relay: Relay
) -> None:
    chat = Chat(visits.open(llama, "ada"))
    relay.hold_after(90)
    chat.ask(COUNT)
    expect(chat.answer).to_contain_text("1, 2, 3, 4")

    expect(chat.send).to_be_hidden()
    before = time.monotonic()
    chat.stop.click()
    pressed = time.monotonic()
    while time.monotonic() < pressed + 20 and not (relay.closed_at > before and _is_idle(llama_server)):
        time.sleep(0.02)
    assert before < relay.closed_at, "the product still listens to the model server"
    assert _is_idle(llama_server)

    chat.finish("stopped")
    shown_text = chat.answer.inner_text()
    assert shown_text.startswith("1, 2, 3, 4") and "200" not in shown_text
    relay.release()
    expect(chat.send).to_be_visible()
    expect(chat.last.locator(".answer-end")).to_contain_text(re.compile("stopped", re.IGNORECASE))
    chat.page.reload()
    chat.finish("stopped")
    assert chat.answer.inner_text() == shown_text, "the stored text is what was shown, and nothing came after it"


def test_a_reload_and_a_second_tab_in_mid_answer_show_the_text_so_far_and_then_the_whole(
    llama: Server, visits: Visits, relay: Relay
) -> None:
    first = Chat(visits.open(llama, "ada"))
    relay.hold_after(200)
    first.ask(TRANSISTOR)
    expect(first.answer.get_by_role("heading").first).to_be_visible()
    first.settle()

    first.page.reload()
    second = Chat(first.page.context.new_page())
    second.page.goto(first.page.url)
    for tab in (first, second):
        expect(tab.last).to_have_attribute("data-state", "running")
        expect(tab.answer.get_by_role("heading").first).to_be_visible()
        expect(tab.stop).to_be_visible()
    so_far = agreed(first, second)
    relay.release()
    for tab in (first, second):
        tab.finish()

    stored = Chat(first.page.context.new_page())
    stored.page.goto(first.page.url)
    stored.finish()
    assert 0 < len(so_far) < len(stored.shown()), "the reload came in mid-answer"
    assert first.shown() == second.shown() == stored.shown()
    assert "**" not in stored.answer.inner_text() and "##" not in stored.answer.inner_text()


def test_a_question_that_one_tab_asks_appears_with_its_answer_in_the_other(llama: Server, visits: Visits) -> None:
    first = Chat(visits.open(llama, "ada"))
    first.ask_and_wait(HELLO)
    first.settle()
    second = Chat(first.page.context.new_page())
    second.page.goto(first.page.url)
    second.finish()

    second.ask_and_wait("What is 2 + 2?")

    expect(first.exchanges).to_have_count(2)
    first.finish()
    expect(first.question).to_have_text("What is 2 + 2?")
    assert first.shown() == second.shown()


def test_an_answer_that_cannot_be_read_gives_a_sentence_and_a_retry_and_keeps_the_question(llama: Server, visits: Visits) -> None:
    chat = Chat(visits.open(llama, "ada"))

    chat.ask_and_wait("Break the header.", state="failed")

    expect(chat.last.locator(".notice-text")).to_have_text(
        re.compile(r"^\s*The model server could not answer\.\s+Failure number [0-9A-F]{4}-[0-9A-F]{4}\s*$")
    )
    expect(chat.question).to_have_text("Break the header.")
    expect(chat.answer).to_be_empty()
    first_turn = chat.last.get_attribute("data-turn") or ""
    chat.button("Retry").click()
    expect(chat.last).not_to_have_attribute("data-turn", first_turn)
    chat.finish("failed")
    expect(chat.exchanges).to_have_count(1)
    expect(chat.question).to_have_text("Break the header.")


def agreed(first: Chat, second: Chat) -> list[str]:
    """The blocks that both tabs show, once they show the same: either may be one event behind the other."""
    until(first.page, lambda: first.shown() == second.shown())
    return first.shown()


def _is_idle(llama_server: str) -> bool:
    slots = httpx.get(f"{llama_server}/slots", trust_env=False).json()
    return not any(slot["is_processing"] for slot in slots)
