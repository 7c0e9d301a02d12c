"""The lines above an answer keep their place: while the answer is written, at its end, and after a reload."""

import re

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


def test_a_preamble_keeps_its_place_while_the_answer_is_written_and_after_a_reload(paced: Server, visits: Visits) -> None:
    chat = Chat(visits.open(paced, "ada"))
    chat.page.evaluate(NOTE_PLACES)
    chat.ask(PLAN)
    chat.finish()
    chat.settle()
    order = chat.page.evaluate(ORDER)
    assert order == ["thought", "part-preamble", "part-final", "answer-tools"]
    assert chat.page.evaluate(ARRIVAL_ORDERS) == ["thought part-preamble"]
    places = chat.page.evaluate(PLACES)
    chat.page.reload()
    chat.page.evaluate(NOTE_PLACES)
    chat.page.wait_for_function("() => globalThis.places.size > 0")
    assert chat.page.evaluate(ORDER) == order
    assert places == chat.page.evaluate(PLACES), "one place, the same as after the reload"


def test_a_page_loaded_during_a_preamble_shows_the_same_order(paced: Server, visits: Visits) -> None:
    chat = Chat(visits.open(paced, "ada"))
    chat.ask(PLAN)
    expect(chat.last.locator(".part-preamble")).not_to_be_empty()
    chat.settle()
    other = Chat(visits.open(paced, "ada", chat.page.url.removeprefix(paced.url)))
    expect(other.last.locator(".part-preamble")).not_to_be_empty()
    expect(other.last.locator(".thought")).to_be_visible()
    assert other.page.evaluate(ORDER)[:2] == ["thought", "part-preamble"]
    other.finish()
    assert other.page.evaluate(ORDER) == ["thought", "part-preamble", "part-final", "answer-tools"]


@pytest.mark.extended
def test_an_answer_that_was_stopped_in_thought_and_finished_has_one_line_with_all_the_seconds(paced: Server, visits: Visits) -> None:
    chat = Chat(visits.open(paced, "ada"))
    chat.ask(PLAN)
    expect(chat.last.locator(".working-text")).to_have_text(re.compile(r"\b[12] s"))
    chat.stop.click()
    chat.finish("stopped")
    chat.settle()
    thought = chat.last.locator(".thought")
    expect(thought).to_have_count(1)
    before = seconds(thought.text_content() or "")
    assert before >= 1

    chat.button("Finish the answer").click()
    expect(chat.last).to_have_attribute("data-state", "running")
    other = Chat(visits.open(paced, "ada", chat.page.url.removeprefix(paced.url)))
    expect(other.last.locator(".thought")).to_have_count(1)
    chat.finish()
    other.finish()
    whole = thought.text_content() or ""
    assert seconds(whole) >= before
    for tab in (chat, other):
        expect(tab.last.locator(".thought")).to_have_text([" ".join(whole.split())])
        assert tab.page.evaluate(ORDER)[0] == "thought"
    chat.page.reload()
    expect(thought).to_have_text([" ".join(whole.split())])


def seconds(sentence: str) -> int:
    """The seconds in a "Thought for …" line."""
    found = re.search(r"(\d+) s", sentence)
    return int(found[1]) if found else 0
