"""A turn of several samplings: between two of them the product adds frames, and people and rows see one turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from chatui.backends.base import BackendError, EndReason
from chatui.codes import ProductCode
from chatui.models import Message, Turn, User
from chatui.turns.runner import FollowUp, Runner
from renderer.frames import Frame, Terminator
from tests.chatui.conftest import stored
from tests.chatui.turns.test_turns import ask, shape
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE, REPLY, ScriptedBackend, Step, answer, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

FOUND = Frame(REPLY, '{"found": 4}')
CALLS = [*frame(ANALYSIS, "I look it up"), *frame(CALL, "{}", Terminator.CALL), ended(EndReason.TOOL_CALLS)]


class Answering:
    """Answers the call of the first sampling; notes what it was shown each time."""

    def __init__(self, backend: ScriptedBackend, then: Sequence[Step]) -> None:
        self._backend = backend
        self._then = then
        self.shown: list[list[str | None]] = []

    async def __call__(self, written: Sequence[Frame]) -> Sequence[Frame]:
        self.shown.append([frame.header.channel for frame in written])
        if written[-1].terminator is not Terminator.CALL:
            return ()
        self._backend.script = self._then
        return [FOUND]


async def conduct(person: User, follow_up: FollowUp) -> Turn:
    started = await stored(person, ask())
    runner = Runner(started, follow_up)
    runner.listen()
    await runner.run()
    return await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)


async def rows(turn: Turn) -> list[Message]:
    return [message async for message in Message.objects.filter(conversation=turn.conversation).order_by("position")]


async def test_what_the_product_adds_is_kept_and_sampled_again_in_the_same_turn(ada: User, backend: ScriptedBackend) -> None:
    backend.script = CALLS
    follow_up = Answering(backend, answer("There are four."))
    turn = await conduct(ada, follow_up)
    assert (turn.state, turn.error_code) == ("completed", "")
    kept = await rows(turn)
    assert shape(kept) == [
        ("user", ""),
        ("assistant", "analysis"),
        ("assistant", "commentary"),
        ("tool", "commentary"),
        ("assistant", "analysis"),
        ("assistant", "final"),
    ]
    assert [message.parent_id for message in kept[1:]] == [message.pk for message in kept[:-1]], "one branch"
    assert (kept[3].author, [message.is_visible for message in kept]) == ("product", [True, False, False, False, False, True])
    assert follow_up.shown == [["analysis", "commentary"], ["analysis", "commentary", "commentary", "analysis", "final"]]


async def test_the_second_sampling_sees_the_call_its_reply_and_the_reasoning_that_led_to_it(ada: User, backend: ScriptedBackend) -> None:
    backend.script = CALLS
    await conduct(ada, Answering(backend, answer()))
    first, second = backend.requests
    assert [item.header.channel for item in first.frames] == [None]
    assert [(item.header.role, item.header.channel) for item in second.frames] == [
        ("user", None),
        ("assistant", "analysis"),
        ("assistant", "commentary"),
        ("tool", "commentary"),
    ]
    assert second.frames[-1].body == FOUND.body


async def test_the_tokens_of_all_samplings_are_counted_together(ada: User, backend: ScriptedBackend) -> None:
    backend.script = CALLS
    turn = await conduct(ada, Answering(backend, answer()))
    assert (turn.input_tokens, turn.output_tokens, turn.model) == (20, 40, "scripted-model")


async def test_a_server_that_fails_in_the_second_sampling_ends_the_turn_with_what_was_kept(ada: User, backend: ScriptedBackend) -> None:
    backend.script = CALLS
    broken = [*frame(FINAL, "There")[:-1], BackendError(ProductCode.TIMEOUT)]
    turn = await conduct(ada, Answering(backend, broken))
    assert (turn.state, turn.error_code) == ("failed", ProductCode.TIMEOUT)
    kept = await rows(turn)
    assert shape(kept)[-2:] == [("tool", "commentary"), ("assistant", "final")] and not kept[-1].is_complete


async def test_stop_between_two_samplings_ends_the_turn(ada: User, backend: ScriptedBackend) -> None:
    backend.script = CALLS
    started = await stored(ada, ask())
    waits = asyncio.Event()

    async def wait_for_ever(written: Sequence[Frame]) -> Sequence[Frame]:
        waits.set()
        await asyncio.Event().wait()
        return ()

    runner = Runner(started, wait_for_ever)
    runner.listen()
    task = asyncio.create_task(runner.run())
    await asyncio.wait_for(waits.wait(), 10)
    runner.stop()
    await asyncio.wait_for(task, 10)
    turn = await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)
    assert turn.state == "stopped" and len(backend.requests) == 1
    assert shape(await rows(turn))[1:] == [("assistant", "analysis"), ("assistant", "commentary")]


@pytest.mark.parametrize("channel", ["commentary", "final", None])
async def test_a_turn_whose_only_visible_frames_are_preambles_has_no_answer(
    ada: User, backend: ScriptedBackend, channel: str | None
) -> None:
    backend.script = [*frame(ANALYSIS, "a plan first"), *frame(replace(PREAMBLE, channel=channel), "I will look."), ended()]

    async def nothing(written: Sequence[Frame]) -> Sequence[Frame]:
        return ()

    turn = await conduct(ada, nothing)
    assert (await rows(turn))[-1].is_visible, "the premise: people see the preamble"
    assert (turn.state, turn.error_code) == ("failed", ProductCode.ONLY_THINKING)
