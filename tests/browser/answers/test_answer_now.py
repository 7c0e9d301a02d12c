"""The "Answer now" button next to the thinking line: by mouse, by keyboard, on a phone and in two tabs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, Wire
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

THOUGHT = b"The useful subject is"
"""Part of the reasoning of the demo's long answer; the tests press the button in the middle of it."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The demo, slow enough to be interrupted while it thinks."""
    with served(Deployment(tmp_path_factory.mktemp("slow"), CHATUI_DEMO_TOKENS_PER_SECOND="40")) as server:
        yield server


def test_the_answer_begins_at_once_under_one_line_and_nothing_of_the_thought_is_sent(slow: Server, visits: Visits) -> None:
    wire = Wire()
    chat = Chat(visits.open(slow, "ada", wire=wire))
    other = Chat(visits.open(slow, "ada"))
    chat.page.get_by_role("combobox", name="Reasoning effort").select_option("high")
    chat.ask("Explain this, and make it long")
    chat.settle()
    other.page.goto(chat.page.url)
    expect(other.button("Answer now")).to_be_visible()

    chat.button("Answer now").focus()
    chat.page.keyboard.press("Enter")
    expect(chat.answer.get_by_role("heading", level=1)).to_be_visible()
    expect(chat.button("Answer now")).to_have_count(0)
    expect(other.button("Answer now")).to_have_count(0)
    expect(chat.stop).to_be_focused()
    expect(chat.last.locator(".thought")).to_have_count(1)
    expect(chat.exchanges).to_have_count(1)

    chat.page.keyboard.press("Escape")
    chat.finish("stopped")
    chat.page.reload()
    expect(chat.last.locator(".thought")).to_have_count(1)
    expect(chat.last.locator(".part-final")).to_have_count(1)
    assert wire.received and not any(THOUGHT in each for each in wire.received)
