"""Writing a message: the keys, what stays when something fails, and the list of conversations."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, still
from tests.support.deployments import process
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser


def test_enter_sends_and_shift_enter_breaks_the_line(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    expect(chat.send).to_be_disabled()
    chat.box.press("Enter")
    expect(chat.exchanges).to_have_count(0)

    chat.box.press_sequentially("one")
    chat.box.press("Shift+Enter")
    chat.box.press_sequentially("two")
    expect(chat.box).to_have_value("one\ntwo")
    chat.box.press("Enter")

    expect(chat.box).to_have_value("")
    chat.finish()
    assert chat.question.inner_text() == "one\ntwo"
    expect(chat.exchanges).to_have_count(1)


def test_an_example_is_appended_to_the_text_in_the_box(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))
    examples = chat.page.get_by_role("list", name="Example questions").get_by_role("button")
    expect(examples).to_have_count(3)
    first = examples.first.inner_text()
    examples.first.press("Enter")
    expect(chat.box).to_have_value(first)
    expect(chat.box).to_be_focused()
    examples.last.click()
    expect(chat.box).to_have_value(f"{first}\n\n{examples.last.inner_text()}")
    chat.box.press("Enter")
    chat.finish()
    expect(examples.first).to_be_hidden()


def test_a_text_that_is_too_long_is_refused_in_a_sentence_and_kept(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))

    chat.page.wait_for_load_state()
    count = chat.page.locator("#composer-count")
    chat.box.fill("x" * 3500)
    expect(count).to_be_empty()
    chat.box.fill("x" * 3990)
    expect(count).to_have_text("Characters left: 10")

    chat.ask("x" * 4005)

    expect(count).to_be_empty()
    expect(chat.problem).to_contain_text("This message is 5 characters too long. The limit is 4,000 characters.")
    expect(chat.exchanges).to_have_count(0)
    expect(chat.box).to_have_value("x" * 4005)
    chat.box.fill("x" * 4000)
    expect(chat.problem).to_be_empty()
    chat.box.press("Enter")
    chat.finish()


def test_a_message_sent_while_the_server_is_down_is_sent_once_when_it_is_back(
    demo_deployment: Deployment, demo: Server, visits: Visits
) -> None:
    # A server that starts answers 503 until it is there.
    visits.allow("WebSocket connection to .* failed|ERR_CONNECTION_(REFUSED|RESET)|503 .Service Unavailable")
    stays = Chat(visits.open(demo, "ada"))
    stays.ask_and_wait("Hello!")
    stays.settle()
    leaves = Chat(visits.open(demo, "bela"))
    stop(demo)
    try:
        stays.ask("Are you back?")
        leaves.ask("Do not lose me.")
        expect(stays.banner).to_have_text("No connection to the server. Reconnecting…")
        expect(stays.question).to_have_text("Are you back?")
        expect(leaves.question).to_have_text("Do not lose me.")
        leaves.page.close()
    finally:
        start_again(demo_deployment, demo)

    expect(stays.banner).to_be_hidden()
    stays.finish()
    stays.page.reload()
    expect(stays.exchanges).to_have_count(2)
    expect(stays.question).to_have_text("Are you back?")
    stays.finish()
    expect(stays.box).to_have_value("")

    # A page that was closed meanwhile could not send it: the text is in the box again until the person sends it.
    again = Chat(leaves.page.context.new_page())
    again.page.goto("/")
    expect(again.box).to_have_value("Do not lose me.")
    again.box.press("Enter")
    again.finish()
    expect(again.exchanges).to_have_count(1)


@pytest.mark.extended
def test_an_edited_title_is_saved_on_a_press_elsewhere_and_dropped_by_escape(demo: Server, visits: Visits) -> None:
    chat = conversation(demo, visits, "Change me half way.")
    title = chat.page.get_by_role("textbox", name="Title")
    choose(item(chat.page, "Change me half way."), "Rename")
    title.fill("Dropped")
    title.press("Escape")
    expect(chat.page.get_by_role("heading", level=1).first).to_have_text("Change me half way.")

    choose(item(chat.page, "Change me half way."), "Rename")
    title.fill("Kept elsewhere")
    with chat.page.expect_response("**/rename/"):
        chat.box.click()
    expect(item(chat.page, "Kept elsewhere")).to_have_count(1)


def test_an_edited_title_is_saved_on_leaving(demo: Server, visits: Visits) -> None:
    chat = conversation(demo, visits, "Leave me half way.")
    other = visits.open(demo, "bela")
    still(other)
    choose(item(chat.page, "Leave me half way."), "Rename")
    chat.page.get_by_role("textbox", name="Title").fill("Kept on leaving")
    chat.page.goto("about:blank")
    expect(item(other, "Kept on leaving")).to_have_count(1)


@pytest.mark.extended
def test_a_title_that_could_not_be_saved_is_reported_and_retried(demo: Server, visits: Visits) -> None:
    visits.allow("Failed to load resource")
    chat = conversation(demo, visits, "Keep my name.")
    chat.page.route("**/rename/", lambda route: route.fulfill(status=503, body="busy"), times=1)

    choose(item(chat.page, "Keep my name."), "Rename")
    title = chat.page.get_by_role("textbox", name="Title")
    title.fill("Kept at last")
    title.press("Enter")

    expect(chat.page.locator(".toast")).to_contain_text("The server could not do that. Please try again.")
    expect(chat.page.get_by_role("heading", level=1).first).to_have_text("Keep my name.")
    with chat.page.expect_response("**/rename/"):
        chat.page.get_by_role("button", name="Try again").click()
    chat.page.reload()
    expect(item(chat.page, "Kept at last")).to_have_count(1)


def test_a_conversation_is_renamed_in_its_place_and_in_the_other_tabs_of_the_person(demo: Server, visits: Visits) -> None:
    chat = conversation(demo, visits, "Name me in two tabs.")
    other = chat.page.context.new_page()
    other.goto(chat.page.url)
    expect(item(other, "Name me in two tabs.")).to_have_count(1)

    choose(item(chat.page, "Name me in two tabs."), "Rename")
    title = chat.page.get_by_role("textbox", name="Title")
    expect(title).to_be_focused()
    title.fill("Kettles & <b>kites</b>")
    title.press("Enter")

    for page in (chat.page, other):
        expect(page.get_by_role("heading", level=1).first).to_have_text("Kettles & <b>kites</b>")
        expect(item(page, "Kettles & <b>kites</b>")).to_have_count(1)
        expect(page).to_have_title("Kettles & <b>kites</b> · chatui")
    other.reload()
    expect(item(other, "Kettles & <b>kites</b>")).to_have_count(1)
    expect(other).to_have_title("Kettles & <b>kites</b> · chatui")


def test_deleting_the_open_conversation_offers_undo(demo: Server, visits: Visits) -> None:
    chat = conversation(demo, visits, "Delete me while I am open.")
    address = chat.page.url

    choose(item(chat.page, "Delete me while I am open."), "Delete")
    chat.page.wait_for_url("**/?deleted=*")
    expect(item(chat.page, "Delete me while I am open.")).to_have_count(0)
    chat.page.get_by_role("button", name="Undo").click()

    chat.page.wait_for_url(address)
    expect(item(chat.page, "Delete me while I am open.")).to_have_count(1)
    chat.finish()


def conversation(server: Server, visits: Visits, question: str) -> Chat:
    """A new conversation of bela that begins with this question."""
    chat = Chat(visits.open(server, "bela"))
    chat.ask_and_wait(question)
    chat.settle()
    return chat


def item(page: Page, title: str) -> Locator:
    """A conversation in the list."""
    return page.locator(".conversation-item").filter(has=page.get_by_text(title, exact=True))


def choose(line: Locator, action: str) -> None:
    """Choose an action from a conversation's menu."""
    line.hover()
    line.locator(".conversation-more").click()
    line.page.get_by_role("group", name="Conversation options").get_by_role("button", name=action).click()


def stop(server: Server) -> None:
    """Stop the server process; its port and data stay."""
    server.process.terminate()
    server.process.wait(15)


def start_again(deployment: Deployment, server: Server) -> None:
    """Run the same command again, with the same port and data."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        server.process = process.start(["manage.py", "serve", "--port", str(server.port)], deployment.environment, nowhere)
    server.wait_until_healthy()
