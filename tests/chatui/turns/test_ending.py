"""The end of a turn is stored once, and after its frames."""

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Iterator
from uuid import uuid4
from weakref import ref

import pytest

from chatui.database.writer import writer
from chatui.models.turn import TurnPiece
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from tests.support import constants
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.page import Page, answered
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

RENEWAL, END = "UPDATE chatui_turn SET lease_until", "UPDATE chatui_turn SET state"


async def test_pieces_written_just_before_the_end_are_deleted(
    ada: User, backend: ScriptedBackend, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=0.5)
    loop, gate = asyncio.get_running_loop(), asyncio.Event()
    backend.script = [gate, *answer()]

    def renew_meanwhile() -> None:
        assert not TurnPiece.objects.exists(), "the premise"
        time.sleep(1)  # the next renewal asks for them
        TurnPiece.objects.create(turn_id=page.turn.pk, number=99, frame=uuid4(), text="Fo")

    database.before(END, renew_meanwhile)
    async with Page(ada) as page:
        await page.ask()
        await asyncio.wait_for(backend.waiting.wait(), 20)
        database.before(RENEWAL, lambda: loop.call_soon_threadsafe(gate.set))  # the next one is far away
        assert (await page.ended()).state == "completed"
    assert len(database.met) == 2, "the premise"
    assert not await TurnPiece.objects.aexists()


async def test_a_lease_lost_right_after_the_end_changes_nothing(
    ada: User, backend: ScriptedBackend, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A renewal finds that the turn runs no more, before the turn itself hears that its end is stored."""
    constants.change(monkeypatch, lease_tick_seconds=0.02)
    is_renewed = threading.Event()

    def renew_meanwhile() -> None:
        database.before(RENEWAL, is_renewed.set)
        assert is_renewed.wait(20)
        time.sleep(0.1)  # until its result is known

    database.after_commit(END, renew_meanwhile)
    async with Page(ada) as page:
        with caplog.at_level(logging.INFO):
            assert (await page.answered()).state == "completed"
    assert is_renewed.is_set() and [record.getMessage() for record in caplog.records].count("turn ended") == 1


async def test_stop_just_as_the_answer_ends_makes_no_second_end(ada: User, backend: ScriptedBackend, database: Database) -> None:
    loop, ends, is_stopped = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def stop_meanwhile() -> None:
        loop.call_soon_threadsafe(ends.set)
        is_stopped.wait(20)

    database.before(END, stop_meanwhile)
    async with Page(ada) as page:
        await page.ask()
        await asyncio.wait_for(ends.wait(), 20)
        await page.tell("stop")
        await asyncio.sleep(0.1)
        is_stopped.set()
        turn = await page.ended()
    assert (turn.state, await UsageEntry.objects.acount()) == ("completed", 1)


# A turn that has ended is freed at once, without the garbage collector, which would visit the objects of all running turns for that.


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_an_ended_turn_is_freed(is_stopped: bool, ada: User, backend: ScriptedBackend, without_collector: None) -> None:
    await answered(ada)  # what is made once for all turns is there
    gate = asyncio.Event()
    backend.script = [gate, *answer("Four.")]
    gc.collect()
    before = {id(each) for each in _parts_of_turns()}
    async with Page(ada) as page:
        await page.ask()
        await asyncio.wait_for(backend.waiting.wait(), 20)
        turn = [ref(each) for each in _parts_of_turns() if id(each) not in before]
        assert len({type(each()) for each in turn}) >= 5, "or this test proves nothing"
        if is_stopped:
            await page.tell("stop")
        gate.set()
        await page.ended()
    # Otherwise the writer's thread would still hold its last batch, and the scripted backend the requests.
    await writer.run(lambda: None)
    backend.requests.clear()
    assert [each() for each in turn] == [None] * len(turn)


def _parts_of_turns() -> list[object]:
    """What this process holds of its turns while they run."""
    return [each for each in gc.get_objects() if type(each).__module__.startswith("chatui.turns.") and type(each).__weakrefoffset__]
