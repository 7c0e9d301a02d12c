"""The time of an answer: in the person's language and time zone, shown on hover and focus, and without moving anything."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

WRITTEN_IN = """(place, zone) => new Intl.DateTimeFormat(document.documentElement.lang, {
  dateStyle: "medium", timeStyle: "short", timeZone: zone }).format(new Date(place.dateTime))"""
SHIFTS = """globalThis.shifts = [];
new PerformanceObserver((list) => {
  const moved = list.getEntries().flatMap(({ sources }) => sources.map(({ node }) => node?.parentElement));
  globalThis.shifts.push(...moved.filter((each) => each?.closest("chat-transcript, conversation-list")).map(({ outerHTML }) => outerHTML));
}).observe({ type: "layout-shift", buffered: true });"""
BOXES = """() => [...document.querySelectorAll("chat-transcript *:not(answer-time, answer-time *), chat-composer *")]
  .map((each) => JSON.stringify(each.getBoundingClientRect()))"""


def opacity(page: Page) -> float:
    value: float = page.locator("answer-time").last.evaluate("""async (place) => {
      await Promise.all(place.getAnimations().map((each) => each.finished));
      return Number(getComputedStyle(place).opacity);
    }""")
    return value


def test_times_are_in_the_readers_time_zone_at_once_and_after_a_reload(demo: Server, visits: Visits) -> None:
    zone = "America/New_York"
    page = visits.open(demo, "ada", locale="de-DE", timezone_id=zone)
    page.wait_for_load_state()
    page.locator("#composer-text").fill("When was that?")
    page.keyboard.press("Enter")
    time = page.locator("answer-time time")
    expect(time).to_have_count(1)
    at = datetime.fromisoformat(time.get_attribute("datetime") or "")
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=10)
    shown = time.evaluate(WRITTEN_IN, zone)
    expect(time).to_have_text(shown)

    page.wait_for_url("**/c/*/")
    page.reload()

    expect(time).to_have_text(shown)
    assert datetime.fromisoformat(time.get_attribute("datetime") or "") == at


def test_the_time_shows_on_hover_and_focus_and_moves_nothing(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    page = chat.page
    chat.ask_and_wait("When was that?")
    chat.ask_and_wait("And that?")
    chat.settle()
    page.add_init_script(SHIFTS)
    page.reload()
    still(page)
    chat.box.hover()
    assert opacity(page) == 0
    before = page.evaluate(BOXES)

    chat.last.locator(".answer-facts").hover()
    assert opacity(page) == 1
    assert page.evaluate(BOXES) == before
    time, below = chat.exchanges.first.locator("answer-time").bounding_box(), chat.exchanges.nth(1).bounding_box()
    assert time and below and time["y"] + time["height"] <= below["y"], "the time overlaps nothing below it"

    chat.box.hover()
    assert opacity(page) == 0
    chat.button("Copy").focus()
    assert opacity(page) == 1
    assert page.evaluate("globalThis.shifts") == []


@pytest.mark.extended
def test_the_time_zone_of_the_settings_overrides_the_browsers(demo_deployment: Deployment, demo: Server, visits: Visits) -> None:
    choose = "from chatui.models import User; User.objects.filter(username='sam').update(time_zone={!r})"
    demo_deployment.manage("shell", "--no-imports", "-c", choose.format("Asia/Tokyo"))
    try:
        chat = Chat(visits.open(demo, "sam", timezone_id="America/New_York"))
        chat.ask_and_wait("When was that?")
        time = chat.last.locator("time")
        expect(time).to_have_text(time.evaluate(WRITTEN_IN, "Asia/Tokyo"))
        chat.settle()
        page = chat.page
        page.route("**/c/*/", lambda route: route.fulfill(body=route.fetch().text().replace("Asia/Tokyo", "Mars/Olympus")))
        page.reload()
        expect(time).to_have_text(time.evaluate(WRITTEN_IN, "America/New_York"))
    finally:
        demo_deployment.manage("shell", "--no-imports", "-c", choose.format(""))
