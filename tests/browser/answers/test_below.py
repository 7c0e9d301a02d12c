"""The row below most answers is filled in from a template in the page: the same as after a reload, and fetched where that is impossible."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.cases import drawn, extended
from tests.support.served import Server

pytestmark = pytest.mark.browser

BELOW = """(place) => place.innerHTML.replace(/\\s+/g, " ").replaceAll("> <", "><").trim()"""
MARKUP = "<img src=x onerror=alert(1)>$&"

DO_NOT_FIT: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "no message": lambda plain: {name: value for name, value in plain.items() if name != "message_id"},
    "no text": lambda plain: plain | {"names": [{}]},
    "no list": lambda plain: plain | {"names": "name"},
    "no moment": lambda plain: plain | {"at": "never"},
    "no truth": lambda plain: plain | {"rated": 1},
    "a number": lambda plain: {"message_id": 7},
}


def below(chat: Chat) -> str:
    shown: str = chat.last.locator(".answer-end").evaluate(BELOW)
    return shown


def changing(page: Page, change: Callable[[dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    """From now on, pass ``plain`` of each event to the page through ``change``. Returns the list of values as sent by the server."""
    sent: list[dict[str, Any]] = []

    def changed(event: Any) -> Any:
        if not isinstance(event, dict) or "plain" not in event:
            return event
        sent.append(event["plain"])
        return event | {"plain": change(event["plain"])}

    def follow(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda frame: socket.send(json.dumps([changed(event) for event in json.loads(frame)])))

    page.route_web_socket(re.compile("/ws/"), follow)
    return sent


@pytest.mark.parametrize("locale", ["en-US", *map(extended, ["de-DE", "ko-KR", "zh-CN"])])
def test_the_row_is_the_same_after_a_reload_in_every_language(demo: Server, visits: Visits, locale: str) -> None:
    page = visits.open(demo, "ada", "about:blank", locale=locale)
    sent = changing(page, lambda plain: plain)
    page.goto("/")
    page.wait_for_load_state()
    for text in ("Hello", "And again"):
        page.locator("#composer-text").fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".answer-tools")).to_have_count(1 if text == "Hello" else 2)
    page.wait_for_url("**/c/*/")
    assert len(sent) == 2, "the premise"
    chat = Chat(page)
    live = below(chat)
    assert live.count("<button") == 5 and sent[1]["message_id"] in live and "00000000" not in live
    assert not set(re.findall(r"[0-9a-f-]{36}", live)) - {sent[1]["message_id"], page.url.split("/")[-2]}
    page.reload()
    chat.finish()
    assert below(chat) == live


def test_a_temporary_chat_has_no_thumbs_at_once_and_after_a_reload(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada", "/?temporary"))
    chat.ask_and_wait("Hello")
    chat.settle()
    live = below(chat)
    assert "thumbs" not in live and "copy-answer" in live
    chat.page.reload()
    chat.finish()
    assert below(chat) == live


@pytest.mark.parametrize("how", drawn(3, DO_NOT_FIT))
def test_a_row_that_the_template_does_not_fit_is_fetched(demo: Server, visits: Visits, how: str) -> None:
    page = visits.open(demo, "ada", "about:blank")
    sent = changing(page, DO_NOT_FIT[how])
    page.goto("/")
    chat = Chat(page)
    with page.expect_response(re.compile("/c/.*/turns/.*/")):
        chat.ask_and_wait("Hello")
    chat.settle()
    assert len(sent) == 1, "the premise"
    live = below(chat)
    page.reload()
    chat.finish()
    assert below(chat) == live and sent[0]["message_id"] in live


def test_a_piece_that_cannot_be_filled_in_leaves_no_answer_running(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada")
    page.wait_for_load_state()
    page.evaluate("document.querySelector('#piece-answer-end').content.querySelector('time').remove()")
    chat = Chat(page)
    with page.expect_response(re.compile("/c/.*/turns/.*/")):
        chat.ask_and_wait("Hello")
    expect(chat.last.locator(".answer-facts time")).to_have_count(1)
    expect(chat.stop).to_be_hidden()


def test_values_are_text_and_never_markup(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", "about:blank")
    changing(page, lambda plain: plain | {"names": [MARKUP, "two"], "message_id": MARKUP})
    page.goto("/")
    chat = Chat(page)
    chat.ask_and_wait("Hello")
    expect(chat.last.locator(".answer-facts > span")).to_have_text([MARKUP, "two"])
    expect(chat.last.locator("img")).to_have_count(0)
    assert "%3Cimg" in (chat.last.locator("[data-source]").get_attribute("data-source") or "")
