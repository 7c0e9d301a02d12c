"""The load reads the product's real events, as encoded by ``chatui.wire``."""

from __future__ import annotations

import json

from chatui import wire
from renderer.events import FrameOpened, FrameText
from renderer.frames import Channel, Header, Role
from renderer.gate import Audience, Gate, VisibleDelta, VisibleText
from renderer.markup import html
from tests.bench.delivery.load.dialects import Chainlit, Product, Relay

ACCEPTED = wire.Accepted("client", "the-conversation", "the-turn", "question", "/c/the-conversation/", "Title")


def read(*events: wire.Event, page: Product | None = None):
    return (page or Product()).read(
        wire.encode(wire.Numbered("the-turn", 1, event) if isinstance(event, wire.TurnEvent) else event for event in events)
    )


def visible(text: str) -> VisibleText:
    gate = Gate(Audience.END_USER)
    gate.admit(FrameOpened(Header(role=Role.ASSISTANT, channel=Channel.FINAL)))
    shown = gate.admit(FrameText(text))
    assert isinstance(shown, VisibleDelta)
    return shown.text


def test_the_page_asks_with_a_command_that_the_product_reads() -> None:
    command = wire.read_command(Product().ask("tokens=1 rate=1"))
    assert isinstance(command, wire.Send)
    assert command.text == "tokens=1 rate=1"
    assert command.conversation is None


def test_the_page_neither_subscribes_nor_fetches_when_its_question_is_accepted() -> None:
    received = read(ACCEPTED)
    assert (received.replies, received.fetches, received.has_ended) == ([], [], False)


def test_the_page_answers_pings_by_which_the_server_knows_how_much_was_read() -> None:
    [reply] = read(wire.Ping(7)).replies
    assert wire.read_command(reply) == wire.Pong(7)


def test_the_text_of_an_answer_is_read_in_every_form_in_which_it_comes() -> None:
    block = html.render("one two")
    forms = [
        wire.BlockReplaced("response.delta", "message", 0, block),
        wire.BlockGrew("response.delta", "message", 0, visible("one two")),
        wire.BlockFlushed("message", 0, block),
        wire.Snapshot("the-turn", 1, 1, False, (), None, (wire.MessageSoFar("message", "final", (block,)),), 0, False, 0, 0),
    ]
    assert ["one two" in read(form).text for form in forms] == [True] * len(forms)


def test_the_end_of_a_turn_is_the_end_and_its_failure_is_a_fault() -> None:
    page = Product()
    read(ACCEPTED, page=page)
    completed = read(wire.TurnEnded("response.completed", "completed", None, 1, html=html.render("below")), page=page)
    assert (completed.has_ended, completed.fault, completed.fetches) == (True, "", [])
    completed = read(wire.TurnEnded("response.completed", "completed", None, 1), page=page)
    assert (completed.has_ended, completed.fault, completed.fetches) == (True, "", ["/c/the-conversation/turns/the-turn/"])
    failed = read(wire.TurnEnded("response.failed", "failed", "E-X", 1))
    assert failed.has_ended
    assert "E-X" in failed.fault
    refused = read(wire.Refused("client", "E-Y"))
    assert refused.has_ended
    assert "E-Y" in refused.fault


def test_an_answer_that_ended_before_the_page_could_follow_it_is_no_fault() -> None:
    received = read(wire.Idle("the-conversation", "the-turn", "completed"))
    assert (received.has_ended, received.is_missed, received.fault) == (True, True, "")


def test_a_relay_sends_text_and_an_end() -> None:
    assert Relay().read('{"t": "one"}').text == "one"
    assert not Relay().read('{"t": "one"}').has_ended
    assert Relay().read('{"end": 1}').has_ended


def test_chainlit_is_greeted_before_it_is_asked_and_its_first_end_is_none() -> None:
    page = Chainlit()
    assert page.read('0{"sid":"x"}').replies[0].startswith("40{")
    assert page.read('40{"sid":"x"}').replies == ['42["connection_successful"]']
    assert page.read("2").replies == ["3"]
    assert not page.read('42["task_end",{}]').has_ended
    name, payload = json.loads(page.ask("tokens=1 rate=1")[2:])
    assert (name, payload["message"]["output"]) == ("client_message", "tokens=1 rate=1")
    assert page.read('42["stream_start",{"output":"one"}]').text == "one"
    assert page.read('42["stream_token",{"id":"x","token":" two"}]').text == " two"
    assert page.read('42["task_end",{}]').has_ended
