"""The time of an answer: in the person's language and time zone, shown on hover and focus, and without moving anything."""

import re
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

SHIFTS = """globalThis.shifts = [];
new PerformanceObserver((list) => {
  const moved = list.getEntries().flatMap(({ sources }) => sources.map(({ node }) => node?.parentElement));
  globalThis.shifts.push(...moved.filter((each) => each?.closest("chat-transcript, conversation-list")).map(({ outerHTML }) => outerHTML));
}).observe({ type: "layout-shift", buffered: true });"""
BOXES = """() => [...document.querySelectorAll("chat-transcript *:not(answer-time, answer-time *), chat-composer *")]
  .map((each) => JSON.stringify(each.getBoundingClientRect()))"""


def written(time: Locator, zone: str, day: str, distance: str) -> str:
    """The moment of the element as the server writes it in that zone. ``day``: the form of the language, for ``strftime``."""
    at = datetime.fromisoformat(time.get_attribute("datetime") or "").astimezone(ZoneInfo(zone))
    return f"{at.strftime(day)}, {at:%H:%M} {distance}"


def opacity(page: Page) -> float:
    value: float = page.locator("answer-time").last.evaluate("""async (place) => {
      await Promise.all(place.getAnimations().map((each) => each.finished));
      return Number(getComputedStyle(place).opacity);
    }""")
    return value


def test_times_are_in_the_readers_time_zone_at_once_and_after_a_reload(demo: Server, visits: Visits) -> None:
    zone = "Asia/Kolkata"
    page = visits.open(demo, "ada", locale="de-DE", timezone_id=zone)
    page.wait_for_load_state()
    page.locator("#composer-text").fill("When was that?")
    page.keyboard.press("Enter")
    time = page.locator("answer-time time")
    expect(time).to_have_count(1)
    at = datetime.fromisoformat(time.get_attribute("datetime") or "")
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=10)
    shown = written(time, zone, "%d.%m.%Y", "UTC+5:30")
    expect(time).to_have_text(shown)

    page.wait_for_url("**/c/*/")
    page.reload()

    expect(time).to_have_text(shown)
    assert datetime.fromisoformat(time.get_attribute("datetime") or "") == at


class _Pieces(BaseHTTPRequestHandler):
    """Sends a page in two pieces, the second when the test says so."""

    pieces: tuple[str, str]
    rest: threading.Event

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        first, second = self.pieces
        self.wfile.write(first.encode())
        self.rest.wait(60)
        self.wfile.write(second.encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_page_that_arrives_in_pieces_moves_nothing_of_the_conversation(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    page = chat.page
    chat.ask_and_wait("When was that?")
    chat.settle()
    # Without scripts and icons, which another address may not load.
    whole = re.sub(r"(?s)<script.*?</script>|<use .*?</use>|<link rel=.modulepreload.*?>", "", page.request.get(page.url).text())
    whole = re.sub(r'(?<=href=")/static/', f"{demo.url}/static/", whole)
    cut = whole.index("</svg>", whole.index('class="question-tools"'))
    _Pieces.pieces, _Pieces.rest = (whole[:cut], whole[cut:]), threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pieces) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            page.add_init_script(SHIFTS)
            page.goto(f"http://127.0.0.1:{server.server_port}/", wait_until="commit")
            button = page.locator(".question-tools button")
            expect(button).to_be_attached()
            page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
            expect(button).to_be_hidden()
            _Pieces.rest.set()
            expect(button).to_be_visible()
            still(page)
            assert page.evaluate("globalThis.shifts") == []
        finally:
            _Pieces.rest.set()
            server.shutdown()


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
        chat = Chat(visits.open(demo, "sam", timezone_id="America/Phoenix"))
        chat.ask_and_wait("When was that?")
        time = chat.last.locator("time")
        expect(time).to_have_text(written(time, "Asia/Tokyo", "%-d %b %Y", "UTC+9"))
        chat.settle()
        page = chat.page
        page.route("**/c/*/", lambda route: route.fulfill(body=route.fetch().text().replace("Asia/Tokyo", "Mars/Olympus")))
        page.reload()
        expect(time).to_have_text(written(time, "America/Phoenix", "%-d %b %Y", "UTC-7"))
    finally:
        demo_deployment.manage("shell", "--no-imports", "-c", choose.format(""))
