"""Reasoning summaries in a browser: the live list, the line that it folds into, and that neither is announced to screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

PLAN = "Plan the launch of our chat"
FIRST = "Thought about what a plan depends on"
TIME = re.compile(r"^Thought for (\d+ s|a moment)$")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, slow enough to show summaries of its reasoning, which it writes itself."""
    deployment = Deployment(tmp_path_factory.mktemp("slow"), CHATUI_DEMO_TOKENS_PER_SECOND="16")
    with served(deployment, "ada", "bela") as server:
        yield server


def test_steps_are_listed_while_the_model_thinks_and_fold_up_when_the_answer_begins(slow: Server, visits: Visits) -> None:
    chat = Chat(visits.open(slow, "ada"))
    chat.ask(PLAN)
    steps = chat.last.get_by_role("list", name="Steps so far").get_by_role("listitem")
    expect(steps.first).to_have_text(FIRST)
    expect(chat.working).to_be_visible()
    expect(chat.last.locator(".thought")).to_have_count(0)
    chat.settle()

    late = Chat(chat.page.context.new_page())
    late.page.goto(chat.page.url)
    expect(late.last.locator(".steps > li").first).to_have_text(FIRST)

    for tab in (chat, late):
        expect(tab.last.locator(".thought > summary")).to_have_text(TIME)
        expect(tab.last.locator(".steps")).to_be_hidden()
        expect(tab.last.locator(".thought li").first).to_be_hidden()
    chat.last.locator(".thought > summary").focus()
    chat.page.keyboard.press("Enter")
    expect(chat.last.locator(".thought li").first).to_have_text(FIRST)

    chat.stop.click()
    chat.finish("stopped")
    late.finish("stopped")
    expect(chat.last.locator(".thought li").first).to_be_visible()
    shown = chat.last.locator(".thought li").all_inner_texts()
    chat.page.reload()
    chat.finish("stopped")
    expect(chat.last.locator(".thought li").first).to_be_hidden()
    chat.last.locator(".thought > summary").click()
    assert chat.last.locator(".thought li").all_inner_texts() == shown == late.last.locator(".thought li").all_text_contents()
    announced = late.page.locator(".announcer").inner_text()
    assert FIRST not in announced, "a screen reader announces the beginning and the end of thinking, not every line"


def test_the_copy_of_an_answer_goes_without_its_summary(slow: Server, visits: Visits) -> None:
    chat = Chat(visits.open(slow, "bela"))
    chat.ask("cut")
    expect(chat.last.locator(".thought")).to_be_visible()
    chat.finish("incomplete")
    source = chat.button("Copy").get_attribute("data-source") or ""
    copied = chat.page.request.get(slow.url + source).text()
    assert copied.startswith("Here are seven habits") and "collect good habits" not in copied


@pytest.mark.extended
def test_a_phone_shows_the_list_and_the_line_without_scrolling_sideways(slow: Server, visits: Visits) -> None:
    chat = Chat(visits.open(slow, "bela", **PHONE))
    chat.ask(PLAN)
    expect(chat.last.locator(".steps > li").first).to_be_visible()
    expect(chat.last.locator(".thought > summary")).to_be_visible()
    chat.last.locator(".thought > summary").tap()
    expect(chat.last.locator(".thought li").first).to_be_visible()
    assert chat.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    box = chat.last.locator(".thought > summary").bounding_box()
    assert box is not None and box["height"] >= 44
    chat.stop.click()
    chat.finish("stopped")


@pytest.mark.extended
def test_on_paper_the_folded_line_has_no_arrow(slow: Server, visits: Visits) -> None:
    chat = Chat(visits.open(slow, "ada"))
    chat.ask(PLAN)
    line = chat.last.locator(".thought > summary")
    expect(line).to_have_text(TIME)
    chat.stop.click()
    chat.finish("stopped")
    arrow = "summary => getComputedStyle(summary, '::after').display"
    assert line.evaluate(arrow) == "block", "the premise"
    chat.page.emulate_media(media="print")
    expect(line).to_be_visible()
    assert line.evaluate(arrow) == "none"
