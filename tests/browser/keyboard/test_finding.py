"""The find bar searches one conversation, including the parts that the page has not loaded."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.visits import Visits, until
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

MARKED = "() => [...(CSS.highlights.get('found-current') ?? [])].map(String)"


def bar(page: Page) -> Locator:
    """The find bar."""
    return page.get_by_role("search", name="This conversation")


def test_matches_are_counted_marked_and_stepped_through(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Find the needle, the Needle and the needles")
    chat.settle()
    before = chat.question.inner_html()
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+F")
    box = bar(chat.page).get_by_role("searchbox")
    expect(box).to_be_focused()
    box.fill("the needle")
    expect(bar(chat.page)).to_contain_text("Match 1 of 3.")
    assert chat.page.evaluate(MARKED) == ["the needle"]
    box.press("Enter")
    expect(bar(chat.page)).to_contain_text("Match 2 of 3.")
    assert chat.page.evaluate(MARKED) == ["the Needle"]
    box.press("Shift+Enter")
    box.press("Shift+Enter")
    expect(bar(chat.page)).to_contain_text("Match 3 of 3.")
    box.fill("no such thing")
    expect(bar(chat.page)).to_contain_text("No matches.")
    assert chat.question.inner_html() == before, "marking matches does not change the HTML"
    box.press("Escape")
    expect(bar(chat.page)).to_be_hidden()
    expect(chat.page.locator("main")).to_be_focused()
    assert chat.page.evaluate(MARKED) == []


@pytest.mark.extended
def test_what_is_typed_while_the_bar_is_still_loaded_is_looked_for_and_no_shortcut(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    turn = chat.last.get_attribute("data-turn") or ""
    held: list[Route] = []
    chat.page.route("**/page/find-bar*.js", lambda route: held.append(route))
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+F")
    chat.page.keyboard.type("ret")
    until(chat.page, lambda: held)
    held[0].continue_()
    box = bar(chat.page).get_by_role("searchbox")
    expect(box).to_have_value("ret")
    expect(bar(chat.page)).to_contain_text("No matches.")
    expect(chat.last).to_have_attribute("data-turn", turn)
    box.press("Escape")
    expect(bar(chat.page)).to_be_hidden()
    expect(chat.page.locator("main")).to_be_focused()


@pytest.mark.extended
def test_the_menu_opens_it_and_the_focus_goes_back_there_or_to_the_box(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    more = chat.page.get_by_role("button", name="Options for this conversation")
    box = bar(chat.page).get_by_role("searchbox")
    more.press("Enter")
    chat.page.get_by_role("button", name="Find…").press("Enter")
    expect(box).to_be_focused()
    box.press("Escape")
    expect(more).to_be_focused()

    more.click()
    chat.page.get_by_role("button", name="Find…").click()
    expect(box).to_be_focused()
    box.press("Escape")
    expect(chat.box).to_be_focused()  # with a mouse, one goes on writing


@pytest.mark.parametrize("keys", ["Enter", "Shift+Enter"])
def test_what_is_not_loaded_is_found_and_opened(keys: str, demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    address, _ = make_long_talk(demo_deployment, "ada", 70)
    chat = Chat(visits.open(demo, "ada", address))
    chat.page.wait_for_load_state()
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+F")
    box = bar(chat.page).get_by_role("searchbox")
    box.fill("question 7?")
    expect(bar(chat.page)).to_contain_text("No match in this part. Messages above: 1.")
    box.press(keys)
    expect(chat.page.get_by_text("Question 7?", exact=True)).to_be_in_viewport()
    expect(bar(chat.page)).to_contain_text("Match 1 of 1.")
    expect(box).to_have_value("question 7?")
    assert chat.page.evaluate(MARKED) == ["Question 7?"]
    box.press("Escape")
    expect(chat.page.locator("main")).to_be_focused()


def test_previous_goes_on_with_the_last_match_of_the_part_that_it_loads(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    address, _ = make_long_talk(demo_deployment, "ada", 70)
    chat = Chat(visits.open(demo, "ada", address))
    chat.page.route("**/exchanges/**", lambda route: None)  # scrolling up loads nothing meanwhile
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+F")
    box = bar(chat.page).get_by_role("searchbox")
    box.fill("few lines")  # three times in each answer
    expect(bar(chat.page)).to_contain_text("Messages above:")
    first = int(str(chat.page.locator(".question-text").first.text_content()).strip(" \nQuestion?"))
    while "Match 1 of" not in str(bar(chat.page).text_content()):
        box.press("Shift+Enter")
    with chat.page.expect_navigation():
        box.press("Shift+Enter")
    expect(bar(chat.page)).to_contain_text("Match ")
    expect(chat.page.get_by_text(f"Answer {first - 1}.")).to_be_in_viewport()
    place = re.search(r"Match (\d+) of", str(bar(chat.page).text_content()))
    assert place and int(place[1]) % 3 == 0, "the last of the three"
