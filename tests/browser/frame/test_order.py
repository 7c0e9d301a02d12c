"""The lines above an answer keep their place: while the answer is written, at its end, and after a reload."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

PLAN = "Plan the launch of our chat"

ORDER = """() => [...document.querySelectorAll(".answer .thought, .answer .part, .answer .working:not([hidden]), .answer .answer-tools")]
  .filter((each) => each.getClientRects().length)
  .sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
  .map((each) => [...each.classList].find((name) => name.startsWith('part-')) ?? each.className)"""
NOTE_PLACES = f"""() => {{
  globalThis.places = new Set();
  globalThis.arrivalOrders = new Set();
  const order = {ORDER};
  const note = () => {{
    const exchange = document.querySelector("chat-transcript > .exchange:last-child");
    const preamble = exchange?.querySelector(".part-preamble");
    if (preamble) globalThis.places.add(Math.round(preamble.getBoundingClientRect().top - exchange.getBoundingClientRect().top));
    if (preamble) globalThis.arrivalOrders.add(order().slice(0, 2).join(" "));
    requestAnimationFrame(note);
  }};
  note();
}}"""
PLACES = "() => [...globalThis.places]"
ARRIVAL_ORDERS = "() => [...globalThis.arrivalOrders]"


def test_a_preamble_keeps_its_place_while_the_answer_is_written_on_pages_loaded_meanwhile_and_after_a_reload(
    paced: Server, visits: Visits
) -> None:
    chat = Chat(visits.open(paced, "ada"))
    chat.page.evaluate(NOTE_PLACES)
    chat.ask(PLAN)
    expect(chat.last.locator(".part-preamble")).not_to_be_empty()
    chat.settle()
    other = Chat(visits.open(paced, "ada", chat.page.url.removeprefix(paced.url)))
    expect(other.last.locator(".part-preamble")).not_to_be_empty()
    expect(other.last.locator(".thought")).to_be_visible()
    assert other.page.evaluate(ORDER)[:2] == ["thought", "part-preamble"]
    for tab in (chat, other):
        tab.finish()
        assert tab.page.evaluate(ORDER) == ["thought", "part-preamble", "part-final", "answer-tools"]
    assert chat.page.evaluate(ARRIVAL_ORDERS) == ["thought part-preamble"]
    places, order = chat.page.evaluate(PLACES), chat.page.evaluate(ORDER)
    chat.page.reload()
    chat.page.evaluate(NOTE_PLACES)
    chat.page.wait_for_function("() => globalThis.places.size > 0")
    assert chat.page.evaluate(ORDER) == order
    assert places == chat.page.evaluate(PLACES), "one place, the same as after the reload"
