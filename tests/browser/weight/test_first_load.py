"""Limits of page weight: the bytes and requests of the first load, and no long tasks.

Counted is what a new visitor's browser receives for the home page and then one conversation, with gzip, which every proxy and browser
supports; Brotli, which the product prefers, gives less. Mathematics, diagrams and the syntax highlighter are loaded only when a message
needs them, and are not counted, nor is the catalogue of the visitor's language.
"""

import gzip
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, expect

from chatui.site.static_files import imported
from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.support.served import Server

pytestmark = pytest.mark.browser

MAX_BYTES = 93_000
MAX_REQUESTS = 40
MAX_TASK_MS = 100
LATER = ("/static/vendor/", "/static/languages/")

LONG_TASKS = """
globalThis.longTasks = [];
new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: "longtask", buffered: true });
"""


def weight(request: Request) -> int:
    """The size of a body with gzip: static files at the best level, pages at the level that servers use for dynamic responses."""
    response = request.response()
    assert response
    return len(gzip.compress(response.body(), 6 if request.resource_type == "document" else 9))


def loaded(page: Page, path: str) -> dict[str, int]:
    """The weight of each address that the page requested until the network was idle."""
    requests: list[Request] = []
    page.on("requestfinished", lambda request: requests.append(request))
    page.goto(path)
    still(page)
    requested = {urlsplit(request.url).path: request for request in requests}
    texts = {name: request for name, request in requested.items() if name.endswith((".js", ".css")) and weight(request) > 500}
    assert [name for name, request in texts.items() if not is_compressed(request)] == []
    return {name: weight(request) for name, request in requested.items() if not name.startswith(LATER)}


def test_the_home_page_and_a_conversation_weigh_little(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "nina"))
    chat.ask_and_wait("Hello")
    chat.settle()
    path = urlsplit(chat.page.url).path
    seen = visits.open(demo, "nina")
    while seen.locator(".conversation-mark").count():  # until the answer is stored as complete and seen
        seen.reload()
    page = visits.open(demo, "nina", "about:blank", own=True)

    home = loaded(page, "/")
    found = loaded(page, path) | home

    expect(Chat(page).exchanges).to_have_count(1)
    assert {path, "/"} <= set(found) and any(name.startswith("/static/js/chat/page.") for name in home), "the premise: all of it was seen"
    listing = "\n".join(f"{size:7,} {name}" for name, size in sorted(found.items(), key=lambda item: -item[1]))
    assert sum(found.values()) <= MAX_BYTES, f"{sum(found.values()):,} bytes:\n{listing}"
    assert len(found) <= MAX_REQUESTS, listing
    print(f"{sum(found.values()):,} bytes in {len(found)} requests:\n{listing}")


def is_compressed(request: Request) -> bool:
    response = request.response()
    return response is not None and "content-encoding" in response.headers


def test_no_task_of_loading_takes_long(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "bela", "about:blank", own=True)
    page.add_init_script(LONG_TASKS)
    # The machine may be busy with other tests: the best of several loads shows what the page itself takes.
    longest: list[float] = []
    while len(longest) < 20 and min(longest, default=MAX_TASK_MS + 1) > MAX_TASK_MS:
        page.goto("/")
        still(page)
        longest.append(max(page.evaluate("globalThis.longTasks"), default=0))
    assert min(longest) <= MAX_TASK_MS, longest


def test_what_a_page_needs_is_asked_for_in_one_step(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "bela", own=True)
    still(page)
    times = page.evaluate("""() => Object.fromEntries(performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
      .map(({ name, startTime, responseEnd }) => [new URL(name).pathname.split(".")[0], [startTime, responseEnd]]))""")
    needed = [times[f"/static/{name.removesuffix('.js')}"] for name in imported("js/chat/page.js")]
    assert len(needed) > 25
    assert max(start for start, _ in needed) < min(end for _, end in needed), "no script waits for another"
