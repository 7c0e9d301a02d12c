"""A conversation is opened without loading a page: it is there before the next key, and shows and does what a load shows and does."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.conversation.long_talks import make_talks
from tests.browser.visits import Visits, still, until
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

LINES = "\n\n".join(f"Paragraph {number} of many." for number in range(80))
RICH = "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```\n\n> [!NOTE]\n> Mind $a^2$.\n\n- [x] done\n\n" + LINES
COUNT_LISTENERS = """() => {
  globalThis.kept = 0;
  const timers = new Set();
  for (const target of [window, document]) {
    const [add, remove] = [target.addEventListener.bind(target), target.removeEventListener.bind(target)];
    target.addEventListener = (name, run, options) => {
      if (options?.signal?.aborted) return;
      kept += 1;
      options?.signal?.addEventListener("abort", () => (kept -= 1));
      add(name, run, options);
    };
    target.removeEventListener = (name, run, options) => { kept -= 1; remove(name, run, options); };
  }
  const [begin, end] = [setInterval, clearInterval];
  globalThis.setInterval = (...all) => { const timer = begin(...all); timers.add(timer); return timer; };
  globalThis.clearInterval = (timer) => { timers.delete(timer); end(timer); };
  globalThis.live = () => [kept, timers.size];
}"""


class Outline(HTMLParser):
    """The elements of a page with their attributes in one order, and the texts. Left out is what differs between any two loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.feed(re.sub(r'<p class="[^"]*announcer".*?</p>|<template.*?</template>|<input[^>]*csrf[^>]*>', "", html, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.lines.append(f"<{tag} {sorted(attrs, key=str)}>")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.lines.append(data.strip())


def outline(page: Page) -> list[str]:
    still(page)
    expect(page.locator(".katex").first).to_be_attached()
    expect(page.locator("code span").first).to_be_attached()
    return Outline(page.evaluate("() => document.querySelector('chat-page').outerHTML")).lines


def stays(page: Page) -> None:
    """From now on, a load of a page is noticed by ``is_same``."""
    page.evaluate("() => { globalThis.isSame = true }")


def is_same(page: Page) -> bool:
    return bool(page.evaluate("() => globalThis.isSame === true"))


def link(address: str) -> str:
    return f'.conversation-link[href="{urlsplit(address).path}"]'


@pytest.fixture(scope="module")
def talks(demo_deployment: Deployment) -> tuple[str, str, str]:
    """The addresses of three conversations that no test changes: two long ones and a short one."""
    one, two, three = make_talks(
        demo_deployment,
        "bela",
        {
            "Quokkas": ("What of quokkas?", LINES),
            "Wombats": ("What of wombats?", RICH),
            "Echidnas": ("What of echidnas?", "Spines."),
        },
    )
    return one, two, three


@pytest.fixture
def chat(demo: Server, visits: Visits, talks: tuple[str, str, str]) -> Chat:
    """The page of the first of them."""
    chat = Chat(visits.open(demo, "bela", talks[0]))
    still(chat.page)
    stays(chat.page)
    return chat


def opened(chat: Chat, address: str, question: str) -> None:
    """That conversation is shown, with its title, as the current one of the list, and keys go to its box."""
    expect(chat.question).to_have_text(question)
    assert urlsplit(chat.page.url).path == address
    expect(chat.page.locator(".conversation-link[aria-current]")).to_have_attribute("href", address)
    title = chat.page.locator(".top-title").inner_text()
    expect(chat.page).to_have_title(f"{title} · chatui")
    expect(chat.box).to_be_focused()


def test_a_click_opens_a_conversation_and_the_history_leads_back_to_the_place_in_it(chat: Chat, talks: tuple[str, str, str]) -> None:
    page, (one, two, three) = chat.page, talks
    chat.scroller.evaluate("scroller => scroller.scrollTo({ top: 500 })")
    expect(page.locator(".jump")).to_be_visible()
    top = chat.exchanges.first.bounding_box()
    assert top
    page.locator(link(two)).click()
    opened(chat, two, "What of wombats?")
    page.locator(link(three)).click()
    opened(chat, three, "What of echidnas?")
    page.go_back()
    opened(chat, two, "What of wombats?")
    expect(page.locator(".jump")).to_be_hidden()
    page.go_back()
    opened(chat, one, "What of quokkas?")
    until(page, lambda: abs((chat.exchanges.first.bounding_box() or {"y": 9e9})["y"] - top["y"]) < 2)
    page.go_forward()
    opened(chat, two, "What of wombats?")
    page.locator(".new-chat").click()
    expect(page.locator(".welcome")).to_be_visible()
    assert urlsplit(page.url).path == "/"
    assert is_same(page)
    page.reload()
    page.go_back()
    opened(chat, two, "What of wombats?")


def test_what_is_typed_at_once_stands_in_the_box_that_is_opened_and_what_stood_in_the_old_one_stays(
    chat: Chat, talks: tuple[str, str, str]
) -> None:
    page, (one, two, _) = chat.page, talks
    chat.box.fill("of quokkas")
    page.locator(link(two)).click(no_wait_after=True)
    page.keyboard.type("typed at once", delay=15)
    opened(chat, two, "What of wombats?")
    expect(chat.box).to_have_value("typed at once")
    page.locator(link(one)).click(no_wait_after=True)
    page.keyboard.type("!")
    opened(chat, one, "What of quokkas?")
    expect(chat.box).to_have_value("of quokkas!")
    assert is_same(page)
    page.reload()
    expect(chat.box).to_have_value("of quokkas!")
    page.goto(two)
    expect(chat.box).to_have_value("typed at once")


def test_an_opened_conversation_shows_what_a_load_shows(chat: Chat, talks: tuple[str, str, str]) -> None:
    page, (_, two, _) = chat.page, talks
    page.locator(link(two)).click()
    opened(chat, two, "What of wombats?")
    here = outline(page)
    assert is_same(page)
    page.reload()
    assert outline(page) == here


def test_the_last_of_two_clicks_decides_and_what_is_slow_or_fails_is_loaded(
    chat: Chat, talks: tuple[str, str, str], visits: Visits
) -> None:
    visits.allow("Failed to load resource|net::ERR_FAILED")
    page, (one, two, three) = chat.page, talks
    held: list[Route] = []
    page.route(f"**{two}", lambda route: held.append(route) if route.request.resource_type == "fetch" else route.continue_())
    page.locator(link(two)).click(no_wait_after=True)
    until(page, lambda: held)
    page.locator(link(three)).click()
    opened(chat, three, "What of echidnas?")
    assert is_same(page)
    page.locator(link(two)).click()  # and nothing answers the script
    opened(chat, two, "What of wombats?")
    assert not is_same(page)
    page.unroute_all()
    page.route(f"**{one}", lambda route: route.abort() if route.request.resource_type == "fetch" else route.continue_())
    stays(page)
    page.locator(link(one)).click()
    opened(chat, one, "What of quokkas?")
    assert not is_same(page)


@pytest.mark.parametrize("how", ["forward again", "Escape"])
def test_who_goes_back_and_changes_their_mind_stays_with_the_address_of_what_is_shown(
    chat: Chat, talks: tuple[str, str, str], how: str
) -> None:
    page, (one, two, three) = chat.page, talks
    page.locator(link(two)).click()
    opened(chat, two, "What of wombats?")
    held: list[Route] = []
    page.route(f"**{one}", lambda route: held.append(route))
    page.evaluate("() => history.back()")
    until(page, lambda: held)
    if how == "Escape":
        page.keyboard.press("Escape")
    else:
        page.evaluate("() => history.forward()")
    until(page, lambda: urlsplit(page.url).path == two)
    held[0].continue_()
    page.unroute_all()
    page.evaluate("address => fetch(address).then(answer => answer.text())", one)  # takes as long as what came too late
    opened(chat, two, "What of wombats?")
    page.locator(link(three)).click()
    opened(chat, three, "What of echidnas?")
    assert is_same(page)


def test_what_the_history_leads_to_keeps_its_address_if_a_new_conversation_gets_one_meanwhile(
    chat: Chat, talks: tuple[str, str, str]
) -> None:
    page, (one, _, _) = chat.page, talks
    page.locator(".new-chat").click()
    expect(page.locator(".welcome")).to_be_visible()
    still(page)
    held: list[Route] = []
    page.route(f"**{one}", lambda route: held.append(route))
    page.evaluate("() => history.back()")
    until(page, lambda: held)
    chat.ask_and_wait("Sent just before")
    held[0].continue_()
    opened(chat, one, "What of quokkas?")
    assert is_same(page)


@pytest.mark.parametrize("how", ["another language", "another release", "?all", "temporary"])
def test_what_does_not_fit_is_loaded(chat: Chat, talks: tuple[str, str, str], how: str) -> None:
    page, (_, two, _) = chat.page, talks
    target = page.locator(link(two)).element_handle()
    assert target
    if how == "another language":
        page.evaluate("() => { document.documentElement.lang = 'tlh' }")
    elif how == "another release":
        page.route(f"**{two}", newer)
    elif how == "?all":
        target.evaluate("link => { link.search = '?all=1' }")
    if how == "temporary":
        page.locator(".new-chat").click()
        page.locator("[data-temporary-switch]").click()
        expect(page.locator(".top-title")).to_have_text("Temporary chat")
    else:
        target.click()
        expect(chat.question).to_have_text("What of wombats?")
    page.wait_for_function("() => globalThis.isSame === undefined")


def newer(route: Route) -> None:
    """What scripts are given is a page of another release."""
    if route.request.resource_type == "fetch":
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("/static/js/chat/page.", "/static/js/chat/page.newer."))
    else:
        route.continue_()


def test_a_search_result_is_opened_at_its_words_and_marked(chat: Chat, talks: tuple[str, str, str]) -> None:
    page = chat.page
    page.get_by_role("searchbox", name="Search your conversations").fill("paragraph")
    hit = page.locator(f'.search-hit[href*="{talks[1]}"]').first
    hit.click()
    opened(chat, talks[1], "What of wombats?")
    page.wait_for_function("() => CSS.highlights.get('found')?.size > 0")
    assert page.evaluate("() => document.querySelectorAll('.part:target, .question:target').length") == 1
    assert is_same(page)


def test_answers_that_are_being_written_go_on_in_the_conversation_that_is_left_and_in_the_one_that_is_opened(
    written: Server, writer: Writer, visits: Visits
) -> None:
    chat = Chat(visits.open(written, "ada"))
    chat.ask_and_wait("A short one")
    chat.settle()
    short = urlsplit(chat.page.url).path
    stays(chat.page)
    writer.write("The first half. And the rest.", pause_after="The first half.")
    chat.page.locator(".new-chat").click()
    expect(chat.page.locator(".welcome")).to_be_visible()
    chat.ask("A slow one")
    chat.settle()
    slow = urlsplit(chat.page.url).path
    chat.page.locator(link(short)).click()
    expect(chat.question).to_have_text("A short one")
    expect(chat.page.locator(link(slow)).locator(".conversation-running")).to_be_attached()
    expect(chat.stop).to_be_hidden()
    chat.page.locator(link(slow)).click()
    expect(chat.question).to_have_text("A slow one")
    expect(chat.stop).to_be_visible()
    writer.resume()
    chat.finish()
    expect(chat.answer).to_have_text("The first half. And the rest.")
    expect(chat.page).to_have_title(f"{chat.page.locator('.top-title').inner_text()} · chatui")
    chat.ask_and_wait("One more")
    assert is_same(chat.page)


def test_nothing_listens_twice_after_ten_conversations(chat: Chat, talks: tuple[str, str, str]) -> None:
    page = chat.page
    page.reload()
    still(page)
    page.evaluate(COUNT_LISTENERS)
    stays(page)
    live: list[list[int]] = []
    for number in range(10):
        address = talks[(number + 1) % 3]
        page.locator(link(address)).click()
        expect(page.locator(".conversation-link[aria-current]")).to_have_attribute("href", address)
        still(page)
        # What starts last on a page.
        page.wait_for_function("() => !document.querySelector('[data-action=tell-ready]').hidden")
        live.append(page.evaluate("() => live()"))
    assert is_same(page)
    # Scripts that came later listen once; the pages after that add nothing.
    assert live[-1] == live[4], live
    page.keyboard.press("Control+Shift+o")
    expect(page.locator(".welcome")).to_be_visible()
    chat.ask_and_wait("Once")
    expect(chat.exchanges).to_have_count(1)
    page.go_back()
    page.keyboard.type("x")
    expect(chat.box).to_have_value("x")


def test_what_arrives_late_starts_once_and_only_on_the_page_that_is_shown(chat: Chat, talks: tuple[str, str, str]) -> None:
    page, (one, two, _) = chat.page, talks
    held: list[Route] = []
    page.route("**/static/js/page/installed.*", lambda route: held.append(route))
    page.reload()
    for address in (two, one):
        page.locator(link(address)).click()
        expect(page.locator(".conversation-link[aria-current]")).to_have_attribute("href", address)
    until(page, lambda: held)
    page.evaluate("() => { globalThis.asked = 0; Notification.requestPermission = async () => (asked += 1, 'denied') }")
    for route in held:
        route.continue_()
    button = page.locator("[data-action=tell-ready]")
    page.wait_for_function("() => !document.querySelector('[data-action=tell-ready]').hidden")
    button.evaluate("button => button.click()")
    page.wait_for_function("() => asked > 0")
    still(page)
    assert page.evaluate("() => asked") == 1
