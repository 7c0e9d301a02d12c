"""A turn that has ended is freed at once, without the garbage collector, which would visit the objects of all running turns for that."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from chatui.database.writer import writer
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.runner import Runner
from tests.chatui.turns.test_turns import ask
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_an_ended_turn_is_freed(is_stopped: bool, ada: User, backend: ScriptedBackend, without_collector: None) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer("Four.")]
    await running.ask(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 20)
    turn = _only_turn()
    assert all(each() is not None for each in turn), "or this test proves nothing"
    if is_stopped:
        next(iter(running._runners.values()))[0].stop()
    gate.set()
    await running.settle()
    # Otherwise the writer's thread would still hold its last batch, and the scripted backend the requests.
    await writer.run(lambda: None)
    backend.requests.clear()
    assert [each() for each in turn] == [None] * len(turn)


def _only_turn() -> list[ref[object]]:
    [(runner, _)] = running._runners.values()
    return [ref(each) for each in _parts(runner)]


def _parts(runner: Runner) -> list[object]:
    return [runner, runner._running.pieces, runner._frames, *runner._stages, *runner._samplings]
