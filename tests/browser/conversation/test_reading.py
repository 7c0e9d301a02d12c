"""Reading an answer: the page follows the text until the reader scrolls up, and copies contain only the text."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chatui.backends import demo as demo_backend
from tests.browser.chat import Chat
from tests.browser.relay import Relay
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

TRANSISTOR = "Explain in detail how a transistor works."
SCRIPT = Path(demo_backend.__file__).parent / "demo_scripts" / "explain.harmony"
CLIPBOARD: dict[str, Any] = {"permissions": ["clipboard-read", "clipboard-write"]}


@pytest.mark.llama
def test_the_page_follows_the_answer_until_the_reader_scrolls_up(llama: Server, visits: Visits, relay: Relay) -> None:
    chat = Chat(visits.open(llama, "ada", viewport={"width": 900, "height": 480}))
    jump = chat.page.get_by_role("button", name="Jump to the latest")
    relay.hold_after(250)
    chat.ask(TRANSISTOR)
    wait_until_at_end(chat)
    chat.page.wait_for_function("() => document.querySelector('.scroller').scrollTop > 100")
    expect(jump).to_be_hidden()

    chat.scroller.hover()
    chat.page.mouse.wheel(0, -100)
    expect(jump).to_be_visible()
    place = top(chat.page)
    relay.release()
    chat.finish()
    assert top(chat.page) == place
    expect(jump).to_be_visible()

    jump.click()
    wait_until_at_end(chat)
    expect(jump).to_be_hidden()


def test_a_copied_code_block_is_its_code(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", **CLIPBOARD))
    chat.ask_and_wait("explain")
    expect(chat.answer.locator("code[data-coloured]").first).to_be_visible()

    chat.answer.locator(".code-frame").filter(has_text="python").first.get_by_role("button", name="Copy code").click()

    expect(chat.answer.get_by_role("button", name="Copied")).to_be_visible()
    assert clipboard(chat.page) == explained().split("```python\n")[1].split("\n```")[0]


def explained() -> str:
    """The Markdown of the answer in the demo's script."""
    return SCRIPT.read_text(encoding="utf-8").split("<|channel|>final<|message|>")[1].split("<|return|>")[0].strip()


def clipboard(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def top(page: Page) -> int:
    place: int = page.evaluate("document.querySelector('.scroller').scrollTop")
    return place


def wait_until_at_end(chat: Chat) -> None:
    chat.page.wait_for_function(
        "() => { const s = document.querySelector('.scroller'); return s.scrollHeight > s.clientHeight"
        " && s.scrollHeight - s.scrollTop - s.clientHeight < 2; }"
    )
