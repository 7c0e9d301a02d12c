"""A screen reader announces that the model thinks, each line that says what it does, and how the answer ended. No other live region
changes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility.model import CUT, EVERYTHING, WRITES
from tests.browser.accessibility.states_of_chats import PLAN
from tests.browser.accessibility.world import World
from tests.browser.chat import Chat

pytestmark = pytest.mark.browser
HEARING = (Path(__file__).parent / "hearing.js").read_text(encoding="utf-8")
ANSWERED = ["Thinking", "Answer ready"]
ASKED = "Working on the plan"


@pytest.fixture
def chat(world: World) -> Chat:
    """A new conversation whose announcements are recorded from now on."""
    page = world.page_of("ada")
    page.goto("/")
    page.wait_for_load_state()
    page.evaluate(HEARING)
    return Chat(page)


def announcements(page: Page) -> list[str]:
    """The announcements since the last call."""
    page.wait_for_timeout(300)  # for announcements that are still to come
    announced: list[str] = page.evaluate("() => globalThis.heard.splice(0)")
    return announced


def test_an_answer_with_everything_in_it(chat: Chat) -> None:
    chat.ask_and_wait(EVERYTHING)
    expect(chat.answer.locator("code[data-coloured]").first).to_be_attached()
    assert announcements(chat.page) == ANSWERED


def test_an_answer_with_summaries_and_a_preamble(chat: Chat) -> None:
    chat.page.get_by_label("Model", exact=True).select_option(label="Guided tour")
    chat.page.get_by_label("Reasoning effort").select_option("high")
    chat.ask(PLAN)
    expect(chat.last.locator(".working-line")).to_have_text(re.compile(f"^(?!Thinking|{ASKED}).+"))
    chat.page.wait_for_timeout(1500)  # in which the seconds change
    chat.stop.click()
    chat.finish("stopped")
    lines = chat.last.locator(".thought li").all_text_contents()
    heard = announcements(chat.page)
    assert lines and [each for each in heard if each != ASKED] == ["Thinking", *lines, "Stopped"]
    assert heard.count(ASKED) <= 1, "what was asked for, which is said if the reasoning says nothing soon"


def test_a_stopped_answer(world: World, chat: Chat) -> None:
    world.model.hold()
    chat.ask(WRITES)
    expect(chat.answer).to_contain_text("Two and two")
    chat.page.keyboard.press("Escape")
    chat.finish("stopped")
    assert announcements(chat.page) == ["Thinking", "Stopped"]


def test_a_failed_answer(chat: Chat) -> None:
    chat.ask_and_wait("It is busy", state="failed")
    thinking, problem = announcements(chat.page)
    assert thinking == "Thinking" and problem.startswith("The model server is busy")


def test_a_cut_answer_and_its_continuation(chat: Chat) -> None:
    chat.ask_and_wait(CUT, state="incomplete")
    thinking, problem = announcements(chat.page)
    assert thinking == "Thinking" and problem == chat.last.locator(".notice-text").inner_text()
    chat.button("Continue").click()
    expect(chat.last).not_to_have_attribute("data-state", "running")
    assert len(announcements(chat.page)) == 2


def test_a_message_that_waits_is_acknowledged_and_each_answer_is_told_in_two(world: World, chat: Chat) -> None:
    world.model.hold()
    chat.ask(WRITES)
    expect(chat.answer).to_contain_text("Two and two")
    assert announcements(chat.page) == ["Thinking"]
    chat.box.fill("And then?")
    chat.page.keyboard.press("Enter")
    (acknowledged,) = announcements(chat.page)
    assert acknowledged == "Sent when this answer is finished."
    world.model.resume()
    expect(chat.exchanges).to_have_count(2)
    chat.finish()
    assert announcements(chat.page) == ["Answer ready", *ANSWERED]
