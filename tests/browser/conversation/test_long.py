"""Long conversations: the end is shown first, the rest on scrolling, by keyboard, by links and on paper; and nothing jumps."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.long_talks import make_long_talk
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = [pytest.mark.browser]

WINDOW = 20
LONG = 70


def opened(deployment: Deployment, visits: Visits, demo: Server, shown: int = 1, **options: Any) -> tuple[Chat, str, str]:
    address, answer = make_long_talk(deployment, "ada", LONG, shown)
    return Chat(visits.open(demo, "ada", address, **options)), address, answer


def question(chat: Chat, number: int) -> Locator:
    return chat.exchanges.filter(has=chat.page.locator(".question-text", has_text=re.compile(rf"^Question {number}\?$")))


def numbers(chat: Chat) -> list[int]:
    texts: list[str] = chat.page.locator("chat-transcript > .exchange .question-text").all_text_contents()
    return [int(found[1]) for text in texts if (found := re.search(r"Question (\d+)\?", text))]


def scroll_up(chat: Chat) -> None:
    chat.scroller.evaluate("scroller => scroller.scrollTo({ top: 0 })")


def count_above(chat: Chat, least: int) -> None:
    chat.page.wait_for_function("least => document.querySelectorAll('chat-transcript > .exchange').length >= least", arg=least)


def frame_stays(page: Page) -> None:
    """Check that nothing has scrolled the page itself."""
    assert page.evaluate("[scrollY, document.body.scrollTop, document.querySelector('.top-bar').getBoundingClientRect().top]") == [0, 0, 0]


def test_the_end_is_there_at_once_and_the_first_message_after_scrolling_up(
    demo_deployment: Deployment, visits: Visits, demo: Server
) -> None:
    chat, _, _ = opened(demo_deployment, visits, demo)
    expect(question(chat, LONG)).to_be_in_viewport()
    expect(question(chat, 1)).to_have_count(0)
    while 1 not in numbers(chat):
        before = len(numbers(chat))
        scroll_up(chat)
        count_above(chat, before + 1)
    expect(chat.page.locator("[data-more]")).to_have_count(0)
    assert numbers(chat) == list(range(1, LONG + 1)), "each once, in order"
    frame_stays(chat.page)


def test_what_is_read_stays_in_its_place_while_earlier_messages_come(demo_deployment: Deployment, visits: Visits, demo: Server) -> None:
    visits.allow("503")
    chat, _, _ = opened(demo_deployment, visits, demo)
    chat.page.route("**/exchanges/**", lambda route: route.fulfill(status=503))
    scroll_up(chat)
    more = chat.page.locator("[data-more=earlier]")
    expect(more.get_by_role("alert")).to_have_text("The server could not do that. Please try again.")
    chat.page.unroute_all()
    first = question(chat, numbers(chat)[0])
    place = first.bounding_box()
    more.get_by_role("link", name="Try again").click()
    count_above(chat, 2 * WINDOW)
    now = first.bounding_box()
    assert place and now and abs(place["y"] - now["y"]) < 2, f"from {place} to {now}"
    expect(chat.page.locator("[data-more=earlier] .more-link")).to_be_focused()
    expect(chat.page.locator(".announcer")).to_have_text("Earlier messages were added above")
    frame_stays(chat.page)


def test_a_link_into_the_middle_shows_its_message_and_leads_both_ways(demo_deployment: Deployment, visits: Visits, demo: Server) -> None:
    chat, address, answer = opened(demo_deployment, visits, demo, shown=15)
    chat.page.goto("about:blank")
    chat.page.goto(f"{address}#m-{answer}")
    chat.page.wait_for_url(f"**{address}?at={answer}#m-{answer}")
    expect(chat.page.locator(f"#m-{answer}")).to_be_in_viewport()
    assert LONG not in numbers(chat)
    expect(chat.page.locator(".jump")).to_be_visible()
    frame_stays(chat.page)
    while LONG not in numbers(chat):
        before = len(numbers(chat))
        chat.scroller.evaluate("scroller => scroller.scrollTo({ top: scroller.scrollHeight })")
        count_above(chat, before + 1)
    found = numbers(chat)
    assert found == list(range(found[0], LONG + 1))


def test_what_is_sent_from_the_middle_goes_to_the_end(demo_deployment: Deployment, visits: Visits, demo: Server) -> None:
    chat, address, answer = opened(demo_deployment, visits, demo, shown=15)
    chat.page.goto(f"{address}?at={answer}#m-{answer}")
    chat.ask("What comes last?")
    expect(chat.question).to_have_text("What comes last?")
    chat.finish()
    assert numbers(chat)[-WINDOW:] == list(range(LONG - WINDOW + 1, LONG + 1)), "the new exchange follows the last one"
    shown = chat.shown()
    chat.page.reload()
    assert Chat(chat.page).shown() == shown


def test_print_has_the_whole_conversation(demo_deployment: Deployment, visits: Visits, demo: Server) -> None:
    chat, _, _ = opened(demo_deployment, visits, demo, own=True)
    page = chat.page
    page.emulate_media(media="print")
    expect(page.locator("[data-more] .more-on-paper").first).to_contain_text("“Print…” in the conversation menu")
    page.emulate_media(media="screen")
    page.context.add_init_script("globalThis.print = () => { document.documentElement.dataset.printed = location.search; }")
    page.get_by_role("button", name="Options for this conversation").click()
    page.get_by_role("link", name="Print…").click()
    page.wait_for_selector("html[data-printed]", state="attached")
    assert numbers(chat) == list(range(1, LONG + 1))
    expect(page.locator("[data-more]")).to_have_count(0)
    page.emulate_media(media="print")
    assert page.locator(".question-text").first.is_visible() and page.locator(".question-text").last.is_visible()


@pytest.mark.extended
def test_an_answer_that_another_tab_asks_for_leaves_the_middle_alone(demo_deployment: Deployment, visits: Visits, demo: Server) -> None:
    chat, address, answer = opened(demo_deployment, visits, demo, shown=15)
    other = Chat(visits.open(demo, "ada", f"{address}?at={answer}#m-{answer}"))
    expect(other.page.locator(f"#m-{answer}")).to_be_in_viewport()
    before = numbers(other)
    chat.ask_and_wait("And now?")
    expect(other.question).to_have_text("And now?")
    expect(other.page.locator(f"#m-{answer}")).to_be_in_viewport()
    assert numbers(other)[: len(before)] == before
    # Scrolling alone loads the next part: a link may disappear just before it is pressed.
    other.page.wait_for_function(
        "() => { const more = document.querySelector('[data-more=later]'); more?.scrollIntoView(); return more === null; }"
    )
    assert LONG in numbers(other)
    expect(other.exchanges.filter(has_text="And now?")).to_have_count(1)
    expect(other.question).to_have_text("And now?")


@pytest.mark.extended
def test_another_version_far_above_is_shown_where_the_old_one_was(demo_deployment: Deployment, visits: Visits, demo: Server) -> None:
    chat, _, _ = opened(demo_deployment, visits, demo)
    scroll_up(chat)
    count_above(chat, 2 * WINDOW)
    number = numbers(chat)[3]
    old = question(chat, number)
    old.hover()
    old.get_by_role("button", name="Edit").click()
    old.get_by_role("textbox").fill("Something else?")
    old.get_by_role("button", name="Send").click()
    expect(chat.question).to_have_text("Something else?")
    chat.finish()
    last = chat.exchanges.count() - 1
    versions = chat.last.get_by_role("group", name="Versions of your message")
    versions.get_by_role("button", name="Previous version").hover()
    top = chat.last.bounding_box()
    versions.get_by_role("button", name="Previous version").click()
    expect(question(chat, number)).to_have_count(1)
    now = question(chat, number).bounding_box()
    assert top and now and abs(top["y"] - now["y"]) < 2, f"from {top} to {now}"
    found = numbers(chat)
    # Scrolling alone loads the next part: by now more messages may be above, but never fewer.
    assert found.index(number) >= last and found == list(range(found[0], found[-1] + 1))
    back = question(chat, number).get_by_role("group", name="Versions of your message").get_by_role("button", name="Next version")
    expect(back).to_be_focused()
    back.click()
    expect(chat.question).to_have_text("Something else?")
