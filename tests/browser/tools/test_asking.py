"""The model asks the person in a real browser: a form below its text, in every tab, by keyboard, and after a reload."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.accessibility import axe
from tests.browser.chat import Chat
from tests.browser.tools.test_forms import ScriptedModel
from tests.browser.visits import Visits, still, until
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

QUESTIONS = [
    {"question": "How many people are coming?", "choices": ["2", "4", "more"]},
    {"question": "What does nobody eat?", "choices": ["meat", "fish", "nuts"], "several": True},
    {"question": "What is the occasion?"},
]


class AskingModel(ScriptedModel):
    calls = (("ask_person", {"questions": QUESTIONS}),)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    peer = ThreadingHTTPServer(("127.0.0.1", 0), AskingModel)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    deployment = Deployment(
        tmp_path_factory.mktemp("kitchen"),
        CHATUI_BACKEND_URL=f"http://127.0.0.1:{peer.server_port}/v1",
        CHATUI_TITLES="false",
        CHATUI_TOOLS="ask_person",
    )
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        deployment.stop()
        peer.shutdown()
        peer.server_close()


def test_a_form_that_is_higher_than_the_page_begins_at_its_top(kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada"))
    chat.page.set_viewport_size({"width": 390, "height": 680})
    chat.ask("Plan a dinner, please")
    form = chat.page.locator("[data-form]")
    for _ in range(2):
        expect(form.get_by_role("heading")).to_be_in_viewport()
        chat.page.set_viewport_size({"width": 1280, "height": 640})
        chat.page.reload()
        still(chat.page)
    form.get_by_role("button", name="Decline").click()
    chat.finish()


def test_the_model_asks_and_is_answered_by_keyboard_in_any_tab(kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada"))
    chat.ask("Plan a dinner, please")
    form = chat.page.locator("[data-form]")
    expect(form.get_by_role("heading")).to_have_text(re.compile("The model asks you"))
    expect(chat.last.locator(".part-tool")).to_contain_text("“What is the occasion?”")
    expect(chat.page.locator(".announcer")).to_have_text("The model asks you")
    expect(form.locator("legend").last).to_have_text("2. What does nobody eat?")
    chat.page.reload()
    expect(form).to_have_count(1)
    expect(chat.last.locator(".part-tool")).to_contain_text("“What is the occasion?”")
    assert axe.complaints(chat.page) == []
    other = visits.open(kitchen, "ada", chat.page.url)
    expect(other.locator("[data-form]")).to_have_count(1)
    form.get_by_label("2", exact=True).focus()
    for key in ("ArrowDown", "Tab", "Space", "Tab", "Tab", "Space", "Tab"):
        chat.page.keyboard.press(key)
    chat.page.keyboard.type("a birthday")
    chat.page.keyboard.press("Tab")
    chat.page.keyboard.type("Cake, *please*")
    chat.page.keyboard.press("Tab")
    expect(form.get_by_role("button", name="Send")).to_be_focused()
    chat.page.keyboard.press("Enter")
    chat.finish()
    expect(chat.last.locator(".part-final")).to_contain_text(json.dumps("a birthday"))
    for page in (chat.page, other):
        expect(page.locator("[data-decided] summary")).to_have_text(re.compile("You sent your answer."))
        expect(page.locator(".part-tool").last).to_have_text("→ 4 · meat, nuts · a birthday · Cake, *please*")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    live = chat.last.locator(".parts").inner_text()
    chat.page.reload()
    expect(chat.last.locator(".parts")).to_have_text(re.compile("birthday"))
    assert chat.last.locator(".parts").inner_text() == live, "a reload shows the same"
    assert axe.complaints(chat.page) == []


def test_a_message_is_added_to_a_running_answer_by_keyboard(kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada"))
    chat.ask("Plan a dinner, please")
    form = chat.page.locator("[data-form]")
    expect(form).to_have_count(1)
    other = visits.open(kitchen, "ada", chat.page.url)
    chat.ask("For Sunday.")
    card = chat.page.locator(".next-message")
    add = card.get_by_role("button", name="Add to this answer")
    expect(add).to_be_visible()
    assert axe.complaints(chat.page) == []
    add.press("Enter")
    expect(card).to_contain_text("Added to this answer at its next step")
    card.get_by_role("button", name="Wait for the end").press("Enter")
    expect(card).to_contain_text("Sent when this answer is finished.")
    add.press("Enter")
    chat.page.reload()
    expect(card).to_contain_text("Added to this answer at its next step")
    form.get_by_role("button", name="Send").click()
    for page in (chat.page, other):
        exchanges = page.locator("chat-transcript > .exchange")
        expect(exchanges).to_have_count(2)
        expect(exchanges.first).to_have_attribute("data-state", "completed")
        expect(exchanges.first.locator(".part-final")).to_have_count(0)
        expect(exchanges.last.locator(".question-text")).to_have_text("For Sunday.")
        expect(exchanges.last.locator(".part-final")).to_contain_text("It said")
        expect(page.locator(".next-message")).to_have_count(0)
    chat.finish()
    shown = chat.page.locator("chat-transcript").inner_text()
    chat.page.reload()
    expect(chat.last.locator(".part-final")).to_contain_text("It said")
    assert chat.page.locator("chat-transcript").inner_text() == shown, "a reload shows the same"
    assert axe.complaints(chat.page) == []


@pytest.mark.parametrize("width", [390, 1200])
def test_no_button_moves_when_a_message_is_added(width: int, kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada", viewport={"width": width, "height": 800}))
    chat.ask("Plan a dinner, please")
    expect(chat.page.locator("[data-form]")).to_have_count(1)
    chat.ask("For Sunday.")
    card = chat.page.locator(".next-message")
    buttons = [card.get_by_role("button", name=name) for name in ("Edit", "Cancel sending")]
    for name, icon, then in (
        ("Add to this answer", "plus", "Added to this answer"),
        ("Wait for the end", "clock", "Sent when this answer"),
    ):
        before = [button.bounding_box() for button in buttons]
        shown = card.get_by_role("button", name=name, exact=True).locator("svg:visible use")
        expect(shown).to_have_count(1)
        expect(shown).to_have_attribute("href", re.compile(f"#{icon}$"))
        card.get_by_role("button", name=name, exact=True).click()
        expect(card).to_contain_text(then)
        assert [button.bounding_box() for button in buttons] == before
    chat.stop.click()
    expect(card).to_contain_text("The answer was stopped")


def test_what_a_page_wanted_of_an_answer_is_told_again_after_a_reload_and_over_once_it_is_gone(kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada"))
    deaf: list[str | bytes] = []

    def unheard(page: WebSocketRoute) -> None:
        is_first, server = not deaf, page.connect_to_server()
        page.on_message(lambda frame: deaf.append(frame) if is_first and "make_way" in str(frame) else server.send(frame))

    chat.page.route_web_socket("**/ws/**", unheard)
    chat.page.reload()
    chat.ask("Plan a dinner, please")
    form = chat.page.locator("[data-form]")
    expect(form).to_have_count(1)
    chat.ask("For Sunday.")
    card = chat.page.locator(".next-message")
    card.get_by_role("button", name="Add to this answer").click()
    until(chat.page, lambda: deaf)
    chat.page.reload()
    expect(card).to_contain_text("Added to this answer at its next step")
    still(chat.page)
    form.get_by_role("button", name="Send").click()
    expect(chat.exchanges).to_have_count(2)
    chat.finish()
    expect(chat.exchanges.first.locator(".part-final")).to_have_count(0)

    away = Chat(visits.open(kitchen, "ada"))
    away.ask("Plan a dinner, please")
    expect(away.page.locator("[data-form]")).to_have_count(1)
    away.ask("For Sunday.")
    away.page.locator(".next-message").get_by_role("button", name="Add to this answer").click()
    expect(away.page.locator(".next-message")).to_contain_text("Added to this answer at its next step")
    other = Chat(visits.open(kitchen, "ada", away.page.url))
    away.page.goto("/pages/help/")
    other.page.locator("[data-form]").get_by_role("button", name="Send").click()
    other.finish()
    expect(other.last.locator(".part-final")).to_contain_text("It said")


@pytest.mark.parametrize("action", ["Cancel sending", "Wait for the end"])
def test_a_message_that_another_tab_has_withdrawn_does_not_end_the_answer(action: str, kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada"))
    chat.ask("Plan a dinner, please")
    expect(chat.page.locator("[data-form]")).to_have_count(1)
    chat.ask("For Sunday.")
    card = chat.page.locator(".next-message")
    card.get_by_role("button", name="Add to this answer").click()
    tab = Chat(chat.page.context.new_page())
    tab.page.goto(chat.page.url)
    expect(tab.page.locator(".next-message")).to_contain_text("Added to this answer at its next step")
    tab.page.locator(".next-message").get_by_role("button", name=action).click()
    expect(card).to_have_count(0) if action == "Cancel sending" else expect(card).to_contain_text("Sent when this answer is finished.")
    tab.page.reload()
    tab.page.locator("[data-form]").get_by_role("button", name="Send").click()
    expect(chat.exchanges.first).to_have_attribute("data-state", "completed")
    expect(chat.exchanges.first.locator(".part-final")).to_contain_text("It said")


def test_a_message_that_was_withdrawn_does_not_end_the_answer(kitchen: Server, visits: Visits) -> None:
    chat = Chat(visits.open(kitchen, "ada"))
    chat.ask("Plan a dinner, please")
    form = chat.page.locator("[data-form]")
    expect(form).to_have_count(1)
    chat.ask("For Sunday.")
    card = chat.page.locator(".next-message")
    card.get_by_role("button", name="Add to this answer").click()
    card.get_by_role("button", name="Cancel sending").click()
    form.get_by_role("button", name="Send").click()
    chat.finish()
    expect(chat.exchanges).to_have_count(1)
    expect(chat.last.locator(".part-final")).to_contain_text("It said")
    expect(chat.box).to_have_value("For Sunday.")
