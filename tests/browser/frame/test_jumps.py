"""Nothing that scrolls inside a page moves its frame: neither keys nor links nor the browser's search, at any width and zoom."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.frame import ABSOLUTE_OUTSIDE, COVERED, STRETCHED, walk
from tests.browser.visits import Visits
from tests.support.cases import extended
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

LONG = 70
MIDDLE = 35
PHONE, TABLET, DESK = (360, 740), (768, 1024), (1440, 900)
WINDOWS = (PHONE, TABLET, DESK)
ZOOMED = tuple((width // 2, height // 2) for width, height in WINDOWS)
"""At 200 % zoom, a browser lays the page out in half as many pixels."""

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


@pytest.mark.parametrize("size", [WINDOWS[0], ZOOMED[0], *map(extended, [*WINDOWS[1:], *ZOOMED[1:]])])
def test_nothing_moves_the_frame_of_a_long_conversation(
    size: tuple[int, int], demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    address, answer = make_long_talk(demo_deployment, "ada", LONG, MIDDLE)
    chat = Chat(visits.open(demo, "ada", address, viewport={"width": size[0], "height": size[1]}))
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


@pytest.mark.extended
def test_in_a_short_window_all_of_the_empty_page_can_be_reached(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", viewport={"width": 320, "height": 256})
    chat = Chat(page)
    frame_stays(page, "opening")
    walk(page, lambda focused: frame_stays(page, f"Tab to {focused}"))
    chat.box.fill("Hello from a narrow window")
    expect(chat.box).to_be_in_viewport(ratio=0.9)
    chat.send.focus()
    expect(chat.send).to_be_in_viewport(ratio=0.9)
    chat.send.click()
    chat.finish()
    frame_stays(page, "an answer")


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


@pytest.mark.extended
def test_no_page_is_stretched_by_what_only_screen_readers_see(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "grace", viewport={"width": 360, "height": 740})
    chat = Chat(page)
    chat.ask_and_wait("explain")
    chat.settle()
    expect(chat.answer.locator(".katex").first).to_be_attached()
    address = page.url
    not_stretched(page)
    page.goto(f"{address}share/")
    page.get_by_role("button", name="Create link").click()
    page.wait_for_url("**/share/?made=*")
    not_stretched(page)
    link = page.locator(".share-link-new .share-link-address").input_value()
    for path in (link, "/pages/help/", "/pages/terms/", "/shares/", "/password/", "/import/", "/audit/", "/"):
        page.goto(path)
        not_stretched(page)
    page.goto(f"{address}debug/")
    page.get_by_label("Reason").fill("To see whether it moves")
    page.get_by_role("button", name="Open the debug view").click()
    expect(page.get_by_role("list", name="Frames").first).to_be_visible()
    not_stretched(page)
    page.goto("/audit/")
    expect(page.locator(".audit-id").first).to_be_attached()
    not_stretched(page)


def not_stretched(page: Page) -> None:
    for width in (360, 1440):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate(ABSOLUTE_OUTSIDE) == [], page.url
        assert page.evaluate(STRETCHED) <= 1, page.url


@pytest.mark.extended
def test_the_bars_of_the_debug_view_cover_nothing_that_has_the_focus(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "grace")
    chat = Chat(page)
    chat.ask_and_wait("plan the launch")
    chat.settle()
    address = f"{page.url}debug/"
    page.goto(address)
    page.get_by_label("Reason").fill("To see whether it is covered")
    page.get_by_role("button", name="Open the debug view").click()
    for width, height in (PHONE, DESK, (720, 450)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address)
        nothing_with_the_focus_is_covered(page)


def nothing_with_the_focus_is_covered(page: Page) -> None:
    expect(page.get_by_role("list", name="Frames").first).to_be_visible()
    covered: list[str] = []
    page.keyboard.press("Control+End")

    def look(focused: str) -> None:
        for _ in range(20):  # it may move once more in the next frame
            if not page.evaluate(COVERED):
                return
            page.wait_for_timeout(50)
        covered.append(focused)

    steps = walk(page, look, "Shift+Tab")
    assert steps > 5 and covered == [], page.viewport_size
    page.goto(f"{page.url.split('#')[0]}#{page.locator('.frame[id]').last.get_attribute('id')}")
    assert not page.evaluate("() => document.querySelector(':target').getBoundingClientRect().top < 0"), page.viewport_size
