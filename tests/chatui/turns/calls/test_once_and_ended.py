"""A tool call runs at most once, and ends on timeout, on Stop and when its conversation is deleted."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from chatui.models.conversation import Conversation
from chatui.models.tools import ToolCall
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.calls.conductor import Conductor
from chatui.turns.calls.requested import Requested
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from renderer.events import FrameOpened, FrameText
from renderer.frames import Frame
from renderer.ocml import document
from tests.chatui.tools import offering
from tests.chatui.turns.calls.calling import LATE, RAN, STOPPED, answered, blocks, call, calls, fetch, hangs, ran, replies, rows_of
from tests.chatui.turns.test_turns import ask, begin, run
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


async def test_a_tool_that_times_out_is_stopped_and_the_model_is_told(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    STOPPED.clear()
    offering.offer(monkeypatch, hangs, blocks, tool_seconds=0.3)
    turn, found = await answered(ada, backend, call("hangs", "c1"), call("blocks", "c2"))
    assert turn.state == "completed"
    assert [reply["error"]["code"] for reply in found.values()] == ["E-TOOL-TIMEOUT"] * 2
    assert await asyncio.to_thread(STOPPED.wait, 5), "a function can see that nobody waits"
    await ran("hangs: cancelled")


async def test_the_model_can_shorten_the_deadline_but_not_extend_it(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, hangs, tool_seconds=0.5)
    started = time.monotonic()
    _, found = await answered(ada, backend, call("hangs", "c1", deadline_ms=100), call("hangs", "c2", deadline_ms=60_000))
    assert time.monotonic() - started < 5
    assert ["0.1 s" in reply["error"]["message"] for reply in found.values()] == [True, False]


async def test_stop_ends_a_tool_within_a_second_and_stores_a_reply(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, hangs)
    backend.script = calls(call("hangs", "c1"))
    started = await begin(ada, ask())
    await ran("hangs")
    start = time.monotonic()
    await running.stop(TurnPlace(started.turn.pk, PROCESS))
    await running.settle()
    assert time.monotonic() - start < 1.0
    turn = await Turn.objects.aget(pk=started.turn.pk)
    assert turn.state == "stopped" and (await replies(turn))["c1"]["error"]["code"] == "E-TOOL-CANCELLED"
    await ran("hangs: cancelled")
    assert len(backend.requests) == 1


async def test_call_ids_stay_unique_if_the_server_restarts_its_numbering(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch)
    backend.script = calls(call("fetch", "call_0", key="a"))
    backend.following = [calls(call("fetch", "call_0", key="b")), answer()]
    turn = await run(ada, ask())
    ids = list(await replies(turn))
    assert RAN == ["a", "b"] and len(set(ids)) == 2 and ids[0] == "call_0"
    assert await ToolCall.objects.filter(turn=turn).acount() == 2


async def test_a_claim_is_written_before_the_tool_runs_and_only_once(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed: list[int] = []

    def looks() -> str:
        """Checks whether its own call is claimed."""
        claimed.append(ToolCall.objects.count())
        return "seen"

    offering.offer(monkeypatch, looks)
    turn, found = await answered(ada, backend, call("looks", "c1"))
    assert claimed == [1] and found["c1"]["ok"]
    stored = [document.parse_frame(row.text) for row in await rows_of(turn)]
    assert [type(each) for each in stored] == [Frame] * len(stored)


async def test_a_call_claimed_elsewhere_is_not_run(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, fetch)
    hold = asyncio.Event()
    backend.script, backend.following = [hold, *calls(call("fetch", "c1", key="a"))], [answer()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await ToolCall.objects.acreate(turn_id=started.turn.pk, call_id="c1", tool="fetch")
    hold.set()
    await running.settle()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    assert RAN == [] and (turn.state, (await replies(turn))["c1"]["ok"]) == ("completed", False)


async def test_deleting_the_conversation_ends_the_tool(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, hangs)
    backend.script = calls(call("hangs", "c1"))
    started = await begin(ada, ask())
    await ran("hangs")
    await Conversation.objects.filter(pk=started.turn.conversation_id).adelete()
    await asyncio.wait_for(running.settle(), 10)
    await ran("hangs: cancelled")


async def test_duplicate_and_orphan_replies_are_dropped(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run_call = Conductor._run_call

    async def twice(conductor: Conductor, call: Requested) -> None:
        await run_call(conductor, call)
        await run_call(conductor, call)
        conductor._reply(replace(call.frame, header=replace(call.frame.header, call_id="nobody")), LATE)

    monkeypatch.setattr(Conductor, "_run_call", twice)
    offering.offer(monkeypatch, fetch)
    turn, found = await answered(ada, backend, call("fetch", "c1", key="a"))
    rows = [row.call_id for row in await rows_of(turn) if row.role == "tool"]
    assert rows == ["c1"] == list(found) and found["c1"]["ok"]
    assert caplog.text.count("a reply to a call that waits for none was dropped") == 2


async def test_stop_during_sampling_stores_a_reply_for_the_call_not_yet_started(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch)
    backend.script = [*call("fetch", "c1", key="a"), FrameOpened(ANALYSIS), FrameText("and then"), asyncio.Event()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 5)
    await running.stop(TurnPlace(started.turn.pk, PROCESS))
    await running.settle()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    reply = (await replies(turn))["c1"]
    assert (turn.state, reply["error"]["code"]) == ("stopped", "E-TOOL-CANCELLED") and "no effect" in reply["error"]["message"]
    assert RAN == []
