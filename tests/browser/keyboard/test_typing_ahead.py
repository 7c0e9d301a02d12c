"""Keys pressed while an editor is still loading become its text, and do not act as shortcuts."""

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, until
from tests.support.served import Server

pytestmark = pytest.mark.browser


def test_what_is_typed_while_the_editor_of_a_question_is_loaded_stands_in_it(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    # A page that has sent something has loaded the editor already.
    chat.page.reload()
    chat.page.wait_for_load_state()
    turn = chat.last.get_attribute("data-turn") or ""
    held: list[Route] = []
    chat.page.route("**/exchange/question-editor*.js", lambda route: held.append(route))
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+E")
    chat.page.keyboard.type(" there")
    until(chat.page, lambda: held)
    chat.page.keyboard.press("ControlOrMeta+A")
    chat.page.keyboard.type("Hello, rest of the text")
    held[0].continue_()
    box = chat.page.get_by_role("textbox", name="Your message")
    expect(box).to_have_value("Hello, rest of the text")
    expect(box).to_be_focused()
    expect(chat.last).to_have_attribute("data-turn", turn)
    chat.page.keyboard.type("!")
    expect(box).to_have_value("Hello, rest of the text!")
    chat.page.unroute_all()
    chat.page.reload()
    chat.page.wait_for_load_state()
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+E")
    expect(box).to_have_value("Hello, rest of the text!")
    box.press("Escape")
    expect(chat.button("Edit")).to_be_focused()


@pytest.mark.extended
def test_an_editor_that_could_not_be_loaded_leaves_nothing_behind(demo: Server, visits: Visits) -> None:
    visits.allow("Failed to load resource|ERR_FAILED")
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    chat.page.reload()
    chat.page.wait_for_load_state()
    chat.page.route("**/exchange/question-editor*.js", lambda route: route.abort())
    chat.button("Edit").focus()
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator(".toast").last).to_contain_text("There is no connection to the server.")
    expect(chat.page.locator(".question-editor")).to_have_count(0)
    expect(chat.button("Edit")).to_be_focused()


def opened_early(chat: Chat) -> tuple[Locator, list[Route]]:
    """The text box of an editor that is still loading, and its requests, which are held back."""
    # A page that has sent something has loaded the editor already.
    chat.page.reload()
    chat.page.wait_for_load_state()
    held: list[Route] = []
    chat.page.route("**/exchange/question-editor*.js", lambda route: held.append(route))
    chat.button("Edit").click()
    until(chat.page, lambda: held)
    return chat.page.get_by_role("textbox", name="Your message"), held


def test_escape_closes_an_editor_that_is_still_loading(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    box, held = opened_early(chat)
    chat.page.keyboard.type(", dropped")
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator(".question-editor")).to_have_count(0)
    expect(chat.button("Edit")).to_be_focused()
    chat.box.focus()
    held[0].continue_()
    chat.page.evaluate("async (address) => void (await import(address))", held[0].request.url)
    expect(chat.page.locator(".question-editor")).to_have_count(0)
    expect(chat.box).to_be_focused()
    chat.page.unroute_all()
    chat.button("Edit").click()
    expect(chat.page.locator(".question-editor[data-ready]")).to_be_visible()
    expect(box).to_have_value("Hello")


def test_what_is_typed_after_escape_from_a_search_that_is_still_loading_stands_in_the_message_box(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    held: list[Route] = []
    chat.page.route("**/page/find-bar*.js", lambda route: held.append(route))
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+F")
    until(chat.page, lambda: held)
    focused = chat.page.evaluate("""() => {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
        return document.activeElement.localName;  // before the next frame
    }""")
    assert focused == "main", "the hidden field would swallow what is typed next"
    chat.page.keyboard.type("just the price")
    held[0].continue_()
    chat.page.evaluate("async (address) => void (await import(address))", held[0].request.url)
    expect(chat.box).to_have_value("just the price")
    expect(chat.box).to_be_focused()
    chat.page.unroute_all()
    chat.page.keyboard.press("Alt+Shift+F")
    expect(chat.page.get_by_role("search", name="This conversation").get_by_role("searchbox")).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(chat.box).to_be_focused()


def test_what_is_selected_early_is_replaced_by_what_is_typed_later(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    box, held = opened_early(chat)
    chat.page.keyboard.press("ControlOrMeta+A")
    held[0].continue_()
    expect(chat.last.locator(".question-editor[data-ready]")).to_be_visible()
    chat.page.keyboard.type("Good morning")
    expect(box).to_have_value("Good morning")


def test_an_edit_that_is_sent_early_is_sent_once_its_editor_is_there(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    address = chat.page.url
    _, held = opened_early(chat)
    chat.page.keyboard.type(", sent early")
    chat.page.keyboard.press("Enter")
    held[0].continue_()
    expect(chat.question).to_have_text("Hello, sent early")
    chat.finish()
    assert chat.page.url == address
