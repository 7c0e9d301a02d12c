"""The find bar searches one conversation, including the parts that the page has not loaded."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.visits import Visits
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


def test_what_is_not_loaded_is_found_and_opened(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    address, _ = make_long_talk(demo_deployment, "ada", 70)
    chat = Chat(visits.open(demo, "ada", address))
    chat.page.wait_for_load_state()
    chat.page.locator("main").focus()
    chat.page.keyboard.press("Alt+Shift+F")
    box = bar(chat.page).get_by_role("searchbox")
    box.fill("question 7?")
    expect(bar(chat.page)).to_contain_text("No match in this part. Messages above: 1.")
    box.press("Shift+Enter")
    expect(chat.page.get_by_text("Question 7?", exact=True)).to_be_in_viewport()
    expect(bar(chat.page)).to_contain_text("Match 1 of 1.")
    expect(box).to_have_value("question 7?")
    assert chat.page.evaluate(MARKED) == ["Question 7?"]
    box.press("Escape")
    expect(chat.page.locator("main")).to_be_focused()


@pytest.mark.extended
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
