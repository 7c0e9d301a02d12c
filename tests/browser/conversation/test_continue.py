"""A person continues an unfinished answer and sees one answer."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.relay import Relay
from tests.browser.visits import Visits, until
from tests.support.served import Server

pytestmark = pytest.mark.browser

COUNT = "Count from 1 to 200."
COUNTED = ", ".join(map(str, range(1, 201))) + "."
HARD = "Think hard: how do I get to work fastest?"
CANARY = "RAW-COT-CANARY-7391"


def test_continue_writes_the_rest_of_a_cut_answer_behind_it(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Please truncate.", state="incomplete")
    partial = chat.answer.inner_text()
    expect(chat.last.locator(".notice-text")).to_have_text("The answer reached its length limit.")
    chat.page.evaluate("document.querySelector('.part-final > [data-block]').dataset.mine = 'yes'")

    chat.button("Continue").click()
    chat.finish()

    expect(chat.last.locator(".part-final > [data-block='0']")).to_have_attribute("data-mine", "yes")  # what was there is not touched
    expect(chat.last.locator(".part-final")).to_have_count(1)
    expect(chat.answer.get_by_role("listitem")).to_have_count(7)
    assert chat.answer.inner_text().startswith(partial)
    expect(chat.last.locator(".notice")).to_have_count(0)
    expect(chat.button("Continue")).to_have_count(0)
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_contain_text("2 of 2")

    whole = chat.shown()
    chat.page.reload()
    assert chat.shown() == whole
    chat.button("Previous version").click()
    expect(chat.answer.get_by_role("listitem")).to_have_count(4)
    expect(chat.button("Continue")).to_be_visible()
    expect(chat.button("Retry")).to_be_visible()


@pytest.mark.llama
def test_a_stopped_answer_of_the_real_model_continues_to_exactly_the_whole_one_in_pages_loaded_meanwhile(
    llama: Server, visits: Visits, relay: Relay
) -> None:
    chat = Chat(visits.open(llama, "ada"))
    relay.hold_after(120)
    chat.ask(COUNT)
    expect(chat.answer).to_contain_text("1, 2, 3")
    chat.stop.click()
    chat.finish("stopped")
    relay.release()

    relay.hold_after(40)
    chat.button("Continue").click()
    expect(chat.last).to_have_attribute("data-state", "running")
    chat.page.reload()
    expect(chat.last).to_have_attribute("data-state", "running")
    expect(chat.answer).to_contain_text("1, 2, 3")
    other = Chat(visits.open(llama, "ada", chat.page.url.removeprefix(llama.url)))
    expect(other.answer).to_contain_text("1, 2, 3")
    relay.release()
    chat.finish()
    other.finish()
    for tab in (chat, other):
        expect(tab.answer).to_have_text(COUNTED)
    chat.page.reload()
    expect(chat.answer).to_have_text(COUNTED)
    expect(chat.exchanges).to_have_count(1)


@pytest.mark.extended
@pytest.mark.llama
def test_an_answer_that_was_stopped_during_its_reasoning_is_finished(llama: Server, visits: Visits, relay: Relay) -> None:
    chat = Chat(visits.open(llama, "ada"))
    relay.hold_after(60)
    chat.ask(HARD)
    expect(chat.working).to_be_visible()
    until(chat.page, lambda: relay.is_holding)
    chat.page.wait_for_timeout(1000)
    chat.stop.click()
    chat.finish("stopped")
    relay.release()
    expect(chat.answer.locator(".part-final")).to_have_count(0)

    chat.button("Finish the answer").click()
    chat.finish()

    expect(chat.answer.locator(".part-final")).to_have_count(1)
    assert CANARY not in chat.page.content()
    thought = chat.last.locator(".thought")
    expect(thought).to_have_count(1)
    whole = thought.text_content() or ""
    chat.page.reload()
    expect(thought).to_have_text([" ".join(whole.split())])
