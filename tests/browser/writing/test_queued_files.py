"""Files of a message that waits for an answer to end: they wait with it, return to the box with it, and are sent with it."""

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import still, until
from tests.browser.writing.test_documents import NOTES, TABLE, attach
from tests.browser.writing.test_next_message import WAITING, card, press
from tests.browser.writing.test_next_message import chat as chat

pytestmark = pytest.mark.browser


def test_files_wait_with_their_message_come_back_with_it_and_go_out_with_it(chat: Chat, writer: Writer) -> None:
    chips = chat.page.locator(".chip")
    attach(chat.page, NOTES)
    expect(chips).to_contain_text(["of the limit"])
    expect(chat.problem).to_have_text("")
    chat.ask("Hello!")
    expect(card(chat.page)).to_contain_text(WAITING)
    expect(card(chat.page)).to_contain_text("With notes.txt")
    expect(chips).to_have_count(0)

    attach(chat.page, TABLE)
    expect(chips).to_contain_text(["of the limit"])
    chat.ask("And the figures.")
    expect(card(chat.page)).to_contain_text("With notes.txt, figures.csv")
    chat.page.reload()
    expect(card(chat.page)).to_contain_text("With notes.txt, figures.csv")
    still(chat.page)
    expect(chips).to_have_count(0)

    press(chat.page, "Cancel sending")
    expect(chips).to_contain_text(["notes.txt", "figures.csv"])
    expect(chat.box).to_have_value("Hello!\n\nAnd the figures.")
    chat.page.get_by_role("button", name="Remove figures.csv").click()
    expect(chips).to_have_count(1)
    chat.box.fill("Hello!")
    chat.box.press("Enter")
    expect(card(chat.page)).to_contain_text("With notes.txt")
    writer.resume()
    expect(chat.exchanges).to_have_count(2)
    documents = chat.last.get_by_role("region", name="Documents").get_by_role("listitem")
    expect(documents).to_contain_text(["notes.txt"])
    expect(card(chat.page)).to_be_hidden()
    chat.page.reload()
    expect(documents).to_contain_text(["notes.txt"])
    still(chat.page)
    expect(chips).to_have_count(0)


def test_files_of_a_message_that_is_refused_are_at_the_box_again_like_its_text(chat: Chat, writer: Writer) -> None:
    chips = chat.page.locator(".chip")
    attach(chat.page, NOTES, TABLE)
    expect(chips).to_contain_text(["of the limit", "of the limit"])
    chat.ask("Hello!")
    expect(card(chat.page)).to_contain_text("With notes.txt, figures.csv")
    # One of them is deleted in another place meanwhile, so that the server refuses the message.
    [gone] = chat.page.evaluate("""() => Object.entries(localStorage)
      .filter(([key]) => key.startsWith("chatui:next:"))
      .map(([, value]) => JSON.parse(value).files.find(({ name }) => name === "figures.csv").id)""")
    token = chat.page.locator("meta[name=csrf-token]").get_attribute("content") or ""
    headers = {"X-CSRFToken": token, "Referer": chat.page.url}
    assert chat.page.request.post(f"/files/{gone}/delete/", headers=headers).ok
    writer.resume()
    expect(chips).to_contain_text(["notes.txt"])
    expect(chat.box).to_have_value("Hello!")
    expect(chat.problem).not_to_have_text("")  # the reason stays while the chips come back
    expect(card(chat.page)).to_be_hidden()
    held: list[tuple[Route, APIResponse]] = []
    chat.page.route("**/files/?*", lambda route: held.append((route, route.fetch())))
    chat.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the person comes back to this tab
    until(chat.page, lambda: held)
    chat.page.get_by_role("button", name="Remove notes.txt").click()
    expect(chips).to_have_count(0)
    [(route, response)] = held
    with chat.page.expect_response("**/files/?*"):
        route.fulfill(response=response)
    chat.page.wait_for_timeout(200)
    expect(chips).to_have_count(0)
