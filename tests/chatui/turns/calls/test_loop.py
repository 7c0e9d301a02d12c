"""The tool loop: each call gets a reply that the model can act on, and a failing call affects only itself."""

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.audit_log.record import SHELL
from chatui.backends.base import EndReason, GivenReasoning, SampleEnded
from chatui.models.conversation import Conversation
from chatui.models.tools import ToolCall
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.tools import stored
from chatui.turns import running
from chatui.turns.calls.conductor import Conductor
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from renderer.events import FrameOpened, FrameText
from renderer.frames import Channel, Frame, Terminator
from renderer.ocml import document
from tests.chatui.turns.calls.calling import (
    LATE,
    RAN,
    STOPPED,
    World,
    blocks,
    call,
    calls,
    fails,
    fetch,
    hangs,
    lists,
    ran,
    replies,
    rows_of,
)
from tests.support.cost import ends_within
from tests.support.scripted import ANALYSIS, CALL, PREAMBLE, Step, answer, frame
from tests.support.turns import ask, begin, run

pytestmark = pytest.mark.django_db(transaction=True)


async def test_parallel_calls_run_concurrently_and_reply_in_any_order(world: World) -> None:
    world.offer(fetch)
    turn, found = await world.answered(call("fetch", "c1", key="slow"), call("fetch", "c2", key="fast"))
    assert turn.state == "completed" and RAN == ["slow", "fast"]
    assert [(call_id, reply["content"]) for call_id, reply in found.items()] == [("c2", {"value": "FAST"}), ("c1", {"value": "SLOW"})]
    assert all(reply["provenance"]["source"] == "tests:fetch" for reply in found.values())
    assert 150 < found["c1"]["provenance"]["duration_ms"] < 2000, "staff see how long it took"


@pytest.mark.parametrize(("language", "line"), [("", "Looking at the clock"), ("ko", "시계 보기"), ("xx", "Looking at the clock")])
async def test_a_line_of_ours_is_in_the_language_of_the_page_that_asked(language: str, line: str, world: World) -> None:
    world.offer("current_time")
    world.backend.script, world.backend.following = calls(call("current_time", "c1")), [answer("Noon.")]
    rows = await rows_of(await run(world.ada, ask(language=language)))
    assert [each.body for row in rows if (each := document.parse_frame(row.text)).header.name == "tool_activity"] == [line]


@pytest.mark.parametrize(
    ("steps", "code", "expected"),
    [
        (call("nothing", "c1"), "E-CALL-SCHEMA", "There is no tool functions.nothing. The tools are: functions.fails, functions.fetch."),
        (call("fetch", "c1"), "E-CALL-SCHEMA", '"key" is a required property'),
        (call("fetch", "c1", key=3), "E-CALL-SCHEMA", "key: 3 is not of type"),
        (call("fetch", "c1", key="a", other=1), "E-CALL-SCHEMA", "Additional properties"),
        (call("fetch", "c1", "analysis", key="a"), "E-CALL-SCHEMA", "commentary"),
        (frame(replace(CALL, recipient="functions.fetch"), "{oops", Terminator.CALL), "E-CALL-SCHEMA", "JSON"),
        (frame(replace(CALL, recipient="python", constrain=None), "1 + 1", Terminator.CALL), "E-CALL-SCHEMA", "no tool python"),
        (call("fails", "c1"), "E-X-TOOL-FAILED", "The tool failed (RuntimeError)."),
        (call("fails", "c1", key="explained"), "E-X-TOOL-FAILED", "There is no such page. Try another name."),
    ],
)  # fmt: skip
async def test_every_failure_becomes_a_reply_and_the_turn_continues(
    steps: list[Step], code: str, expected: str, world: World, caplog: Any
) -> None:
    world.offer(fetch, fails)
    turn, found = await world.answered(steps)
    assert turn.state == "completed" and len(world.backend.requests) == 2
    [reply] = found.values()
    assert (reply["ok"], reply["error"]["code"]) == (False, code) and expected in reply["error"]["message"]
    [row] = [row for row in await rows_of(turn) if row.role == "tool"]
    assert row.error_code == code and not row.is_visible
    assert "SECRET" not in caplog.text + str(found)
    assert (["fails "] if "RuntimeError" in expected else ["fails explained"] if code == "E-X-TOOL-FAILED" else []) == RAN


async def test_a_tool_the_person_may_not_use_is_unknown(world: World, bela: User) -> None:
    world.offer(fetch, tools={"fetch": ("staff",)})
    await database_sync_to_async(lambda: Group.objects.create(name="staff").user_set.add(bela))()
    world.backend.script, world.backend.following = calls(call("fetch", "c1", key="a")), [answer()]
    assert not (await replies(await run(world.ada, ask())))["c1"]["ok"] and not world.backend.requests[0].tools
    world.backend.script, world.backend.following = calls(call("fetch", "c1", key="a")), [answer()]
    assert (await replies(await run(bela, ask())))["c1"]["ok"] and world.backend.requests[2].tools
    assert RAN == ["a"]


async def test_what_is_switched_off_while_an_answer_is_written_is_not_called_any_more(world: World) -> None:
    world.offer(fetch)
    hold = asyncio.Event()
    world.backend.script, world.backend.following = [hold, *calls(call("fetch", "c1", key="a"))], [answer()]
    started = await begin(world.ada, ask())
    await asyncio.wait_for(world.backend.waiting.wait(), 5)
    await database_sync_to_async(lambda: stored.switch(SHELL, "fetch", is_on=False))()
    hold.set()
    await running.settle()
    found = await replies(await Turn.objects.aget(pk=started.turn.pk))
    assert not found["c1"]["ok"] and not RAN


async def test_the_limit_of_calls_ends_the_tools_and_tells_the_model(world: World) -> None:
    world.offer(fetch, tool_calls=2)
    turn, found = await world.answered(*(call("fetch", f"c{n}", key=str(n)) for n in range(4)))
    assert RAN == ["0", "1"] and turn.state == "completed"
    assert sorted((call_id, reply["error"] and reply["error"]["code"]) for call_id, reply in found.items()) == [
        ("c0", None), ("c1", None), ("c2", "E-X-TOOL"), ("c3", "E-X-TOOL"),
    ]  # fmt: skip


async def test_a_model_that_keeps_calling_unknown_tools_is_cut_off(world: World) -> None:
    world.offer(fetch)
    world.backend.script = calls(call("nothing", "c1"))
    turn = await run(world.ada, ask())
    assert (turn.state, turn.error_code, len(world.backend.requests)) == ("incomplete", "E-X-TOOL", 4)


async def test_the_total_time_of_calls_is_limited(world: World) -> None:
    world.offer(hangs, fetch, tool_turn_seconds=0.2)
    world.backend.script = calls(call("hangs", "c1"))
    world.backend.following = [calls(call("fetch", "c2", key="late")), answer()]
    turn = await run(world.ada, ask())
    assert [reply["error"]["code"] for reply in (await replies(turn)).values()] == ["E-TOOL-TIMEOUT", "E-X-TOOL"]
    assert "late" not in RAN


async def test_a_long_reply_is_truncated_with_a_note(world: World) -> None:
    world.offer(lists, tool_reply_chars=200)
    _, found = await world.answered(call("lists", "c1", count=100_000))
    content = found["c1"]["content"]
    assert content[:3] == [0, 1, 2] and content[-1].endswith("of 100,000 rows left out here]") and len(json.dumps(content)) < 260


async def test_the_server_gets_its_reasoning_back_until_it_answers(world: World) -> None:
    world.offer(fetch)
    given = GivenReasoning({"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz"}]})
    world.backend.script = [*frame(ANALYSIS, "hm"), *call("fetch", "c1", key="a"), SampleEnded(EndReason.TOOL_CALLS, reasoning=given)]
    world.backend.following = [answer(), answer()]
    turn = await run(world.ada, ask())
    assert world.backend.requests[1].given_back == {"c1": given} and "xyz" not in repr(world.backend.requests[1])
    await run(world.ada, ask(conversation=turn.conversation_id))
    assert not world.backend.requests[2].given_back and all(
        frame.header.channel != Channel.ANALYSIS for frame in world.backend.requests[2].frames
    )
    assert any(frame.terminator is Terminator.CALL for frame in world.backend.requests[2].frames), "calls and replies stay"


async def test_a_model_cannot_forge_a_message_of_the_product(world: World) -> None:
    world.offer(fetch)
    forged = replace(PREAMBLE, name="tool_activity")
    turn, _ = await world.answered(frame(forged, "Deleting everything"), call("fetch", "c1", key="a"))
    lines = [(row.author, row.name, document.parse_frame(row.text).body) for row in await rows_of(turn) if row.is_visible]
    assert lines[:2] == [("model", "", "Deleting everything "), ("product", "tool_activity", "Using a tool")]


# A tool call runs at most once, and ends on timeout, on Stop and when its conversation is deleted.


async def test_a_tool_that_times_out_is_stopped_and_the_model_is_told(world: World) -> None:
    STOPPED.clear()
    world.offer(hangs, blocks, tool_seconds=0.3)
    turn, found = await world.answered(call("hangs", "c1"), call("blocks", "c2"))
    assert turn.state == "completed"
    assert [reply["error"]["code"] for reply in found.values()] == ["E-TOOL-TIMEOUT"] * 2
    assert await asyncio.to_thread(STOPPED.wait, 5), "a function can see that nobody waits"
    await ran("hangs: cancelled")


async def test_the_model_can_shorten_the_deadline_but_not_extend_it(world: World) -> None:
    world.offer(hangs, tool_seconds=0.5)
    _, found = await world.answered(call("hangs", "c1", deadline_ms=100), call("hangs", "c2", deadline_ms=3_600_000))
    assert [seconds in reply["error"]["message"] for seconds, reply in zip(("0.1 s", "0.5 s"), found.values(), strict=True)] == [True, True]


async def test_stop_ends_a_tool_within_a_second_and_stores_a_reply(world: World) -> None:
    world.offer(hangs)
    world.backend.script = calls(call("hangs", "c1"))

    async def stopped() -> float:
        RAN.clear()
        world.backend.requests.clear()
        started = await begin(world.ada, ask())
        await ran("hangs")
        start = time.monotonic()
        await running.stop(TurnPlace(started.turn.pk, PROCESS))
        await running.settle()
        took = time.monotonic() - start
        turn = await Turn.objects.aget(pk=started.turn.pk)
        assert turn.state == "stopped" and (await replies(turn))["c1"]["error"]["code"] == "E-TOOL-CANCELLED"
        await ran("hangs: cancelled")
        assert len(world.backend.requests) == 1
        return took

    await ends_within(1.0, stopped)


async def test_call_ids_stay_unique_if_the_server_restarts_its_numbering(world: World) -> None:
    world.offer(fetch)
    world.backend.script = calls(call("fetch", "call_0", key="a"))
    world.backend.following = [calls(call("fetch", "call_0", key="b")), answer()]
    turn = await run(world.ada, ask())
    ids = list(await replies(turn))
    assert RAN == ["a", "b"] and len(set(ids)) == 2 and ids[0] == "call_0"
    assert await ToolCall.objects.filter(turn=turn).acount() == 2


async def test_a_claim_is_written_before_the_tool_runs_and_only_once(world: World) -> None:
    claimed: list[int] = []

    def looks() -> str:
        """Checks whether its own call is claimed."""
        claimed.append(ToolCall.objects.count())
        return "seen"

    world.offer(looks)
    turn, found = await world.answered(call("looks", "c1"))
    assert claimed == [1] and found["c1"]["ok"]
    stored = [document.parse_frame(row.text) for row in await rows_of(turn)]
    assert [type(each) for each in stored] == [Frame] * len(stored)


async def test_a_call_claimed_elsewhere_is_not_run(world: World) -> None:
    world.offer(fetch)
    hold = asyncio.Event()
    world.backend.script, world.backend.following = [hold, *calls(call("fetch", "c1", key="a"))], [answer()]
    started = await begin(world.ada, ask())
    await asyncio.wait_for(world.backend.waiting.wait(), 5)
    await ToolCall.objects.acreate(turn_id=started.turn.pk, call_id="c1", tool="fetch")
    hold.set()
    await running.settle()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    assert RAN == [] and (turn.state, (await replies(turn))["c1"]["ok"]) == ("completed", False)


async def test_deleting_the_conversation_ends_the_tool(world: World) -> None:
    world.offer(hangs)
    world.backend.script = calls(call("hangs", "c1"))
    started = await begin(world.ada, ask())
    await ran("hangs")
    await Conversation.objects.filter(pk=started.turn.conversation_id).adelete()
    await asyncio.wait_for(running.settle(), 10)
    await ran("hangs: cancelled")


async def test_duplicate_and_orphan_replies_are_dropped(world: World, caplog: pytest.LogCaptureFixture) -> None:
    run_call = Conductor._run_call

    async def twice(conductor: Conductor, call: Any) -> None:
        await run_call(conductor, call)
        await run_call(conductor, call)
        conductor._reply(replace(call.frame, header=replace(call.frame.header, call_id="nobody")), LATE)

    world.monkeypatch.setattr(Conductor, "_run_call", twice)
    world.offer(fetch)
    turn, found = await world.answered(call("fetch", "c1", key="a"))
    rows = [row.call_id for row in await rows_of(turn) if row.role == "tool"]
    assert rows == ["c1"] == list(found) and found["c1"]["ok"]
    assert caplog.text.count("a reply to a call that waits for none was dropped") == 2


async def test_stop_during_sampling_stores_a_reply_for_the_call_not_yet_started(world: World) -> None:
    world.offer(fetch)
    world.backend.script = [*call("fetch", "c1", key="a"), FrameOpened(ANALYSIS), FrameText("and then"), asyncio.Event()]
    started = await begin(world.ada, ask())
    await asyncio.wait_for(world.backend.waiting.wait(), 5)
    await running.stop(TurnPlace(started.turn.pk, PROCESS))
    await running.settle()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    reply = (await replies(turn))["c1"]
    assert (turn.state, reply["error"]["code"]) == ("stopped", "E-TOOL-CANCELLED") and "no effect" in reply["error"]["message"]
    assert RAN == []
