"""On a phone 360 pixels wide, nothing scrolls sideways, and every control can be reached and is large enough to touch."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits, still
from tests.support.served import Server

pytestmark = pytest.mark.browser

FINGER_PX = 40
TARGETS = "button, select, input:enabled:not([type=hidden]), textarea, .button, .menu-item, nav a, footer a"
SMALL = """([targets, least]) => [...document.querySelectorAll(targets)]
  .filter(element => element.checkVisibility({ visibilityProperty: true, opacityProperty: false }))
  .map(element => [element, (element.closest(".effort, label:has([type=radio], [type=checkbox])") ?? element).getBoundingClientRect()])
  .filter(([element, box]) => box.width > 1 && (box.height < least || (box.width < least && element.localName !== "a")))
  .map(([element, box]) => `${element.outerHTML.slice(0, 120)} is ${box.width.toFixed(0)} × ${box.height.toFixed(0)}`)"""
WIDE = """() => [...document.querySelectorAll("body *")]
  .filter(element => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 3).map(element => element.outerHTML.slice(0, 120))"""

VISIBLE = """() => {
  const [welcome, place, box] = [".welcome", ".scroller", ".composer"]
    .map(name => document.querySelector(name).getBoundingClientRect());
  const across = Math.min(welcome.right, place.right) - Math.max(welcome.left, place.left);
  const seen = across < 1 ? 0 : Math.min(welcome.bottom, place.bottom) - Math.max(welcome.top, place.top);
  return [Math.max(0, seen), welcome.height, box.top];
}"""


def fits(page: Page) -> None:
    """Check that the page does not scroll sideways, and that no target is too small to touch."""
    page.wait_for_load_state()  # measured before that, the page has not all of its style sheets, which nobody sees
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, (page.url, width, page.evaluate(WIDE))
    assert page.evaluate(SMALL, [TARGETS, FINGER_PX]) == [], page.url


def test_every_page_fits_a_phone(demo: Server, visits: Visits) -> None:
    visits.allow("status of 404")
    nobody = visits.open(demo, path="/sign-in/", **PHONE)
    fits(nobody)
    for path in ("/pages/help/", "/pages/terms/"):
        nobody.goto(path)
        expect(nobody.get_by_role("heading", level=1)).to_be_visible()
        fits(nobody)

    page = visits.open(demo, "grace", **PHONE)
    for path in ("/", "/password/", "/no-such-page/"):
        page.goto(path)
        fits(page)
    page.goto("/")
    chat = Chat(page)
    chat.ask_and_wait("explain")
    chat.settle()
    fits(page)
    chat.button("Regenerate").click()
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_be_visible()
    chat.finish()
    page.get_by_role("button", name="Options for this conversation").click()
    expect(page.get_by_role("link", name="Debug view")).to_be_visible()
    fits(page)
    page.keyboard.press("Escape")
    chat.button("Edit").click()
    expect(chat.last.get_by_role("textbox", name="Your message")).to_be_focused()
    page.wait_for_function("document.activeElement.getBoundingClientRect().width > 100")  # it opens by degrees
    fits(page)

    page.goto(page.url + "debug/")
    fits(page)
    page.get_by_label("Reason").fill("To see whether it fits")
    page.get_by_role("button", name="Open the debug view").click()
    expect(page.get_by_role("list", name="Frames").first).to_be_visible()
    fits(page)


def test_the_list_of_conversations_is_a_drawer(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", **PHONE)
    chat = Chat(page)
    chat.ask_and_wait("A question in a drawer?")
    chat.settle()
    opener = page.get_by_role("button", name="Open the list of conversations")
    sidebar = page.locator("#sidebar")
    expect(sidebar).not_to_be_in_viewport()

    opener.tap()
    expect(sidebar).to_be_in_viewport(ratio=0.99)
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(chat.links.first).to_have_text("A question in a drawer?")
    fits(page)
    page.get_by_role("button", name="Close the list of conversations").tap()
    expect(sidebar).not_to_be_in_viewport()
    expect(opener).to_be_focused()

    opener.tap()
    page.touchscreen.tap(345, 400)
    expect(sidebar).not_to_be_in_viewport()
    opener.tap()
    page.keyboard.press("Escape")
    expect(sidebar).not_to_be_in_viewport()
    opener.tap()
    page.get_by_role("link", name="New conversation").last.or_(sidebar.get_by_role("link", name="New conversation")).first.tap()
    page.wait_for_url(demo.url + "/")
    expect(chat.exchanges).to_have_count(0)


def test_the_composer_is_on_the_screen_and_sends_by_touch(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", **PHONE))
    expect(chat.box).to_be_in_viewport(ratio=1)
    chat.box.fill("Hello from a phone")
    chat.send.tap()
    chat.finish()
    expect(chat.box).to_be_in_viewport(ratio=1)
    expect(chat.send).to_be_in_viewport(ratio=1)
    chat.box.fill("line\n" * 40)
    expect(chat.send).to_be_in_viewport(ratio=1)
    fits(chat.page)


@pytest.mark.extended
def test_in_a_very_short_window_there_is_room_to_read_until_one_writes_and_sending_is_in_view(demo: Server, visits: Visits) -> None:
    """1280 × 800 at 400 %."""
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Explain this")
    chat.settle()
    page = chat.page
    page.set_viewport_size({"width": 320, "height": 200})
    page.locator("main").focus()
    room = chat.scroller.bounding_box()
    assert room and room["height"] >= 75
    page.locator(".banner-demo").evaluate("banner => banner.remove()")
    room = chat.scroller.bounding_box()
    assert room and room["height"] >= 98
    chat.scroller.evaluate("element => { element.scrollTop = 100; }")
    jump = page.get_by_role("button", name="Jump to the latest").bounding_box()
    assert jump and jump["width"] <= 50 and jump["x"] > 260, "it covers only the ends of lines"
    for each in (chat.box, chat.send):
        expect(each).to_be_in_viewport(ratio=0.9)
    expect(page.get_by_role("combobox", name="Reasoning effort")).to_be_hidden()

    chat.box.click()
    page.keyboard.type("Some text")
    text = chat.box.bounding_box()
    assert text and text["width"] > 180 and text["height"] < 60, "the text fits one line"
    for each in (chat.box, chat.send):
        expect(each).to_be_in_viewport(ratio=0.7)
    effort = page.get_by_role("combobox", name="Reasoning effort")
    for _ in range(6):
        page.keyboard.press("Tab")
        if effort.evaluate("each => each === document.activeElement"):
            break
    expect(effort).to_be_in_viewport(ratio=0.5)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_finger_that_stops_an_answer_does_not_send_and_forced_colours_draw_every_button_alike(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", **PHONE))
    still(chat.page)  # then no event of the connection hides it again
    chat.box.fill("Something")
    chat.page.locator(".stop").evaluate("button => { button.hidden = false; }")
    send, stop = chat.send.bounding_box(), chat.stop.bounding_box()
    assert send and stop and stop["x"] - send["x"] - send["width"] >= 4
    fits(chat.page)
    chat.page.emulate_media(forced_colors="active")
    borders = "all => all.filter(each => each.checkVisibility()).map(each => getComputedStyle(each).borderTopWidth)"
    assert set(chat.page.locator(".composer-row > :is(button, label)").evaluate_all(borders)) == {"1px"}


def test_beside_a_text_that_grows_the_welcome_is_shown_whole_or_not_at_all_and_moves_up_by_the_text_alone(
    demo: Server, visits: Visits
) -> None:
    page = visits.open(demo, "grace", **PHONE)
    page.wait_for_load_state()
    box = page.get_by_placeholder("Write a message")

    def shown() -> tuple[float, float, float]:
        """How much of the welcome is seen, how high it is, and where the message box is."""
        found: tuple[float, float, float] = tuple(page.evaluate(VISIBLE))
        return found

    box.fill("")
    seen, height, top = shown()
    assert seen == height, "the premise: all of it is seen beside an empty box"
    box.fill("One line")
    assert abs(shown()[2] - top) < 20, "nothing jumps with the first letter: only the line of a note may come"
    parts = []
    for lines in range(1, 16):
        box.fill("word\n" * lines)
        seen, height, _ = shown()
        parts.append(round(seen / height, 2))
    assert set(parts) == {0, 1}, parts
    box.fill("")
    assert shown()[0] == height
