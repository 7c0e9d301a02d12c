"""Reasoning summaries of the demo in a browser: the line while it thinks, and the same lines folded up, after a reload too."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from renderer.activities.kinds import KINDS
from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

PLAN = "Plan a day out for twelve people"
SENTENCES = [kind.sentence for kind in KINDS.values()]
ONE_OF_THEM = re.compile(f"^({'|'.join(SENTENCES)})$")
TIME = re.compile(r"^Thought for \d+ s$")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, slow enough to show what its reasoning is about."""
    deployment = Deployment(tmp_path_factory.mktemp("slow"), CHATUI_DEMO_TOKENS_PER_SECOND="36")
    with served(deployment, "ada", "bela") as server:
        yield server


def test_a_line_says_what_the_model_does_and_all_lines_fold_up_when_the_answer_begins(slow: Server, visits: Visits) -> None:
    chat = Chat(visits.open(slow, "ada"))
    chat.page.get_by_role("combobox", name="Reasoning effort").select_option("high")
    chat.ask(PLAN)
    line = chat.last.locator(".working-line")
    expect(line).to_have_text(ONE_OF_THEM)
    chat.settle()

    late = Chat(chat.page.context.new_page())
    late.page.goto(chat.page.url)
    expect(late.last.locator(".working-line, .thought li").first).to_have_text(ONE_OF_THEM)

    for tab in (chat, late):
        expect(tab.last.locator(".part-final")).to_be_visible()
        expect(tab.last.locator(".thought > summary")).to_have_text(TIME)
        expect(tab.last.locator(".thought li").first).to_be_hidden()
    chat.last.locator(".thought > summary").press("Enter")
    expect(chat.last.locator(".thought li").first).to_be_visible()

    chat.stop.click()
    chat.finish("stopped")
    late.finish("stopped")
    expect(chat.last.locator(".thought li").first).to_be_visible()
    shown = chat.last.locator(".thought li").all_inner_texts()
    assert set(shown) <= set(SENTENCES)
    chat.page.reload()
    chat.finish("stopped")
    expect(chat.last.locator(".thought li").first).to_be_hidden()
    chat.last.locator(".thought > summary").click()
    assert chat.last.locator(".thought li").all_inner_texts() == shown == late.last.locator(".thought li").all_text_contents()
    source = chat.button("Copy").get_attribute("data-source") or ""
    copied = chat.page.request.get(slow.url + source).text()
    assert copied and not any(line in copied for line in shown), "a copy of the answer goes without its summary"
