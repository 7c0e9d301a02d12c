"""Diagrams: drawn in a separate frame once their source is complete, and readable as source where drawing fails."""

import re
import zlib

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

FLOW = "Look:\n\n```mermaid\nflowchart LR\n  A[Start] --> B{Ready?}\n  B -->|yes| C[Go]\n  B -->|no| A\n```\n\nThat is all.\n"


FILL = b".9333 .9333 .9333 rg"
"""The node colour of the light theme, in PDF notation."""


def drawn_on_paper(page: Page) -> bytes:
    """The decompressed content streams of the page's PDF."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", page.pdf(), re.DOTALL)
    # Each ends by itself: a line end behind it is no part of it, but its last byte may look like one.
    return b"\n".join(zlib.decompressobj().decompress(stream) for stream in streams if stream[:1] == b"x")


def place(page: Page) -> Locator:
    """The code block that contains the diagram."""
    return page.locator(".code-frame").filter(has=page.locator("code.language-mermaid")).last


def inside(page: Page) -> FrameLocator:
    return page.frame_locator("iframe.diagram")


def test_a_diagram_is_drawn_once_its_block_is_complete_and_its_source_is_a_click_away(chat: Chat, writer: Writer) -> None:
    requested: list[str] = []
    chat.page.on("request", lambda request: requested.append(request.url))
    writer.write(FLOW, pause_after="B -->|yes| C[G")
    chat.ask("A flowchart?")
    expect(chat.answer.locator("code.language-mermaid")).to_contain_text("B -->|yes| C[G")
    expect(chat.page.locator("iframe")).to_have_count(0)
    assert not [url for url in requested if "mermaid" in url or "diagram" in url], "nothing of it is loaded before there is one"

    writer.resume()
    chat.finish()
    expect(place(chat.page)).to_have_attribute("data-diagram", "drawn")
    frame = chat.page.get_by_title("Flowchart, drawn from its source")
    expect(frame).to_be_visible()
    box = frame.bounding_box()
    assert box and box["height"] > 60
    expect(inside(chat.page).locator("#drawn-light svg")).to_contain_text("Ready?")
    expect(chat.answer.locator("code.language-mermaid")).to_be_hidden()

    chat.answer.get_by_role("button", name="Show source").click()
    expect(chat.answer.locator("code.language-mermaid")).to_be_visible()
    expect(frame).to_be_hidden()
    chat.answer.get_by_role("button", name="Show diagram").click()
    expect(frame).to_be_visible()
    expect(chat.answer.get_by_role("button", name="Show source")).to_be_visible()


def test_what_is_far_from_the_screen_is_finished_before_the_conversation_is_printed(
    visits: Visits, written: Server, writer: Writer
) -> None:
    chat = Chat(visits.open(written, "ada", own=True))
    writer.write(f"{FLOW}\n\nAnd $x^2$.\n\n```python\nx = 1\n```\n\n" + "A line.\n\n" * 200 + FLOW)
    chat.ask_and_wait("Diagrams?")
    chat.settle()
    chat.page.reload()
    drawn = chat.page.locator(".code-frame[data-diagram]")
    expect(drawn.last).to_have_attribute("data-diagram", "drawn")
    expect(drawn.first).to_have_attribute("data-diagram", "waiting")  # the premise: it is far away

    chat.page.context.add_init_script(
        """globalThis.print = () => {
          const count = (selector) => document.querySelectorAll(selector).length;
          const all = [count("[data-diagram=drawn]"), count(".math[data-set]"), count("[data-coloured]")];
          document.documentElement.dataset.printed = all.join(" ");
        }"""
    )
    chat.page.get_by_role("button", name="Options for this conversation").click()
    chat.page.get_by_role("link", name="Print…").click()
    chat.page.wait_for_selector("html[data-printed]", state="attached")
    assert chat.page.locator("html").get_attribute("data-printed") == "2 1 1"
    for frame in chat.page.locator("iframe.diagram").all():
        height = frame.evaluate("frame => frame.getBoundingClientRect().height")
        assert height > 60
    assert drawn_on_paper(chat.page).count(FILL) >= 2 * 3, "three nodes of each diagram"


def test_a_diagram_that_cannot_be_drawn_stays_source_with_a_sentence(chat: Chat, writer: Writer) -> None:
    writer.write("```mermaid\nflowchart LR\n  A --> [[[ B\n```\n\nAfter it.\n")
    chat.ask_and_wait("Something broken?")
    place(chat.page).scroll_into_view_if_needed()

    expect(place(chat.page)).to_have_attribute("data-diagram", "failed")
    expect(place(chat.page)).to_contain_text("This diagram could not be drawn, so its source is shown.")
    expect(place(chat.page).locator("pre")).to_be_visible()
    expect(chat.page.locator("iframe")).to_have_count(0)
    expect(chat.answer).to_contain_text("After it.")


def test_pages_without_diagrams_may_frame_nothing(chat: Chat) -> None:
    def policy(path: str) -> str:
        return chat.page.request.get(path).headers["content-security-policy"]

    assert re.search("frame-src 'self'(;|$)", policy("/"))
    assert "frame-src" not in policy("/shares/") and "default-src 'none'" in policy("/shares/")
    assert "frame-src" not in policy("/pages/help/")
    answer = chat.page.request.get("/diagram/")
    assert "sandbox allow-scripts" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert chat.page.request.get("/shares/").headers["x-frame-options"] == "DENY"
