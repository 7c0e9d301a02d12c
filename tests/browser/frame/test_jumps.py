"""Nothing that scrolls inside a page moves its frame: neither keys nor links nor the browser's search, at any width and zoom."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.frame import walk
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

LONG = 70
MIDDLE = 35
MOVED = """() => {
  const root = document.scrollingElement;
  const parts = [root, ...document.querySelectorAll("body, .chat-page, .stage, .main, .dock, .sidebar")];
  const scrolled = parts.filter((part) => part.scrollTop || part.scrollLeft).map((part) => part.className || part.localName);
  const bar = document.querySelector(".top-bar").getBoundingClientRect();
  return [...scrolled, ...(bar.top || bar.left < 0 ? [`the top bar is at ${bar.top}`] : [])];
}"""
PROBE = """(selector) => {
  const probe = document.createElement("span");
  probe.className = "visually-hidden";
  probe.tabIndex = -1;
  document.querySelector(selector).append(probe);
  Object.assign(probe.style, { top: "4000px", left: "4000px" });
  probe.focus();
  probe.scrollIntoView();
  scrollTo(0, 4000);
  probe.remove();
}"""
REGIONS = (".chat-page", ".sidebar", ".conversation-list", ".stage", ".top-bar", ".banners", ".main", ".scroller", ".transcript", ".dock")


def frame_stays(page: Page, after: str) -> None:
    assert page.evaluate(MOVED) == [], f"{after} at {page.viewport_size}"


def test_nothing_moves_the_frame_of_a_long_conversation(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    address, answer = make_long_talk(demo_deployment, "ada", LONG, MIDDLE)
    chat = Chat(visits.open(demo, "ada", address, viewport={"width": 360, "height": 740}))
    page = chat.page
    expect(chat.last).to_be_visible()
    page.locator("a").first.focus()  # not from the message box, which has it
    steps = walk(page, lambda focused: frame_stays(page, f"Tab to {focused}"))
    assert steps > 40, "the premise: Tab reaches the whole page"

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(chat.box).to_be_focused()
    frame_stays(page, "the skip link")
    assert page.evaluate(f"document.activeElement.blur(), window.find('Question {LONG - 15}?', false, true, true)"), (
        "the premise: the browser finds it"
    )
    frame_stays(page, "a search of the browser")
    for place in ("main", "composer-text", "sidebar", "top-menu", f"m-{answer}"):
        page.goto(f"{address}#{place}")
        frame_stays(page, f"#{place}")
    page.goto(f"{address}at/{answer}/")
    expect(page.locator(":target")).to_be_in_viewport()
    frame_stays(page, "a link into the middle")
    for region in REGIONS:
        page.evaluate(PROBE, region)
        frame_stays(page, f"something far out of {region}")


def test_an_editor_that_opens_at_the_end_of_the_page_is_seen_whole(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", viewport={"width": 900, "height": 560}))
    for question in ("explain", "Hello!", "Three lines\nand the second\nand the third"):
        chat.ask_and_wait(question)
    for _ in range(2):
        chat.last.hover()
        chat.button("Edit").click()
        editor = chat.last.locator(".question-editor")
        expect(editor).to_be_in_viewport(ratio=1)
        chat.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        top, bottom = editor.evaluate("(editor) => { const box = editor.getBoundingClientRect(); return [box.top, box.bottom]; }")
        seen = chat.scroller.evaluate("(part) => { const box = part.getBoundingClientRect(); return [box.top, box.bottom]; }")
        assert seen[0] <= top and bottom <= seen[1], (top, bottom, seen)
        chat.page.keyboard.press("Escape")
        chat.scroller.evaluate("(scroller) => scroller.scrollTo(0, scroller.scrollHeight)")
    frame_stays(chat.page, "Edit")
