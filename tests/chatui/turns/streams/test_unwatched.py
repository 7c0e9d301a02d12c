"""While no page shows a turn, nothing of it is rendered; a page that opens it later sees the same as one that watched all along."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from chatui import wire
from chatui.backends.base import SampleEnded, SampleEvent
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.streams.end_user import EndUserStream
from renderer.events import FrameClosed, FrameWithdrawn
from renderer.frames import Terminator
from renderer.gate import VisibleText
from renderer.markup.growing import GrowingMarkdown
from tests.chatui.api.asking import Program, new_key, text_of
from tests.support.browser_socket import BrowserSocket
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, answer, frame

TURN = uuid4()
EVENTS = [
    *frame(ANALYSIS, "the hidden marmalade"),
    *frame(PREAMBLE, "I shall *look*."),
    *frame(ANALYSIS, "more of it"),
    *frame(FINAL, "# Four\n\nIt is **four**.\n\n- so\n- there", Terminator.RETURN),
]
SENTENCE = [*frame(FINAL, "I will look.")[:-1], FrameClosed(Terminator.END, header=PREAMBLE)]
ROUNDS = [*EVENTS[:5], *SENTENCE, *frame(ANALYSIS, "more of it"), *frame(FINAL, "It is four.", Terminator.RETURN)]
WITHDRAWN = [*EVENTS[:5], *frame(FINAL, "It is")[:-1], FrameWithdrawn(), *frame(FINAL, "hid")[1:], *EVENTS[-8:]]
TURNS = {"one answer": EVENTS, "a sentence before a call": ROUNDS, "a withdrawn answer": WITHDRAWN}


def streamed(events: Sequence[SampleEvent], *, watched_from: int) -> EndUserStream:
    stream, key = EndUserStream(TURN), TURN
    for number, event in enumerate(events):
        assert not isinstance(event, SampleEnded)
        stream.take(event, key, 1000 * number)
        stream.flush(is_watched=number >= watched_from)
    return stream


@pytest.mark.parametrize(("turn", "end"), [(name, end) for name, events in TURNS.items() for end in range(1, len(events) + 1)])
def test_a_late_viewer_sees_the_same_as_the_others(turn: str, end: int) -> None:
    always, late = (streamed(TURNS[turn][:end], watched_from=first) for first in (0, end + 1))
    late.flush()
    found, expected = late.snapshot(99), always.snapshot(99)
    assert found.messages == expected.messages
    assert (found.working, found.steps, found.thought) == (expected.working, expected.steps, expected.thought)


@pytest.mark.parametrize("turn", list(TURNS))
def test_nothing_is_rendered_without_viewers(turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = TURNS[turn]
    thought = streamed(events, watched_from=0).thought_seconds
    for name in ("feed", "tail"):
        monkeypatch.setattr(GrowingMarkdown, name, lambda *_: pytest.fail("it was rendered"))
    stream = streamed(events, watched_from=len(events))
    assert stream.thought_seconds == thought is not None


def test_text_withdrawn_while_unwatched_is_never_shown() -> None:
    events = [*frame(FINAL, "the hidden marmalade")[:-1], FrameWithdrawn()]
    stream = streamed(events, watched_from=len(events))
    shown = wire.encode([*stream.flush(), stream.snapshot(0)])
    assert "marmalade" not in shown and "<p>" not in shown


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_an_api_programs_turn_is_rendered_once_somebody_opens_it(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[object] = []
    feed = GrowingMarkdown.feed

    def recorded(markdown: GrowingMarkdown, text: VisibleText) -> object:
        fed.append(text)
        return feed(markdown, text)

    monkeypatch.setattr(GrowingMarkdown, "feed", recorded)
    program = Program(await new_key(ada))
    backend.script = answer("It is four.")
    assert text_of(await program.ask({"input": "What is two and two?"})).strip() == "It is four."
    await running.settle()
    assert not fed, "nobody has read it as HTML"

    gate = asyncio.Event()
    first, *rest = (event for event in frame(FINAL, "It is five.", Terminator.RETURN))
    backend.script = [first, rest[0], gate, *rest[1:], *answer("x")[-1:]]
    backend.waiting.clear()
    response = asyncio.create_task(program.ask({"input": "What is two and three?"}))
    await asyncio.wait_for(backend.waiting.wait(), 20)
    conversation = await _newest(ada)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(conversation))
        snapshot: dict[str, Any] = (await socket.until("chatui:snapshot"))[-1]
        assert fed and "It" in str(snapshot["messages"])
        gate.set()
        assert text_of(await response).strip() == "It is five."


async def _newest(person: User) -> object:
    return (await Turn.objects.filter(asked_by=person).alatest("started_at")).conversation_id
