"""The tool loop: each call gets a reply that the model can act on, and a failing call affects only itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.backends.base import EndReason, GivenReasoning, SampleEnded
from chatui.models.message import Message
from chatui.models.user import User
from renderer.frames import Channel, Terminator, Transcript
from renderer.ocml import document
from tests.chatui.tools import offering
from tests.chatui.turns.calls.calling import RAN, answered, call, calls, fails, fetch, hangs, lists, replies, rows_of
from tests.chatui.turns.test_turns import ask, run
from tests.support.scripted import ANALYSIS, CALL, PREAMBLE, ScriptedBackend, Step, answer, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


async def test_parallel_calls_run_concurrently_and_reply_in_any_order(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch)
    turn, found = await answered(ada, backend, call("fetch", "c1", key="slow"), call("fetch", "c2", key="fast"))
    assert turn.state == "completed" and RAN == ["slow", "fast"]
    assert [(call_id, reply["content"]) for call_id, reply in found.items()] == [("c2", {"value": "FAST"}), ("c1", {"value": "SLOW"})]
    assert all(reply["provenance"]["source"] == "tests:fetch" for reply in found.values())
    assert 150 < found["c1"]["provenance"]["duration_ms"] < 2000, "staff see how long it took"


async def test_the_transcript_of_a_turn_with_calls_is_valid(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, fetch)
    turn, _ = await answered(ada, backend, frame(PREAMBLE, "I look"), call("fetch", "c1", key="a"), call("fetch", "c2", key="b"))
    rows = await database_sync_to_async(lambda: list(Message.objects.filter(conversation=turn.conversation).order_by("position")))()
    report = document.check(document.dump_document_header(Transcript(())) + "\n".join(row.text for row in rows))
    assert report.is_clean, report.problems


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
    steps: list[Step], code: str, expected: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    offering.offer(monkeypatch, fetch, fails)
    turn, found = await answered(ada, backend, steps)
    assert turn.state == "completed" and len(backend.requests) == 2
    [reply] = found.values()
    assert (reply["ok"], reply["error"]["code"]) == (False, code) and expected in reply["error"]["message"]
    [row] = [row for row in await rows_of(turn) if row.role == "tool"]
    assert row.error_code == code and not row.is_visible
    assert "SECRET" not in caplog.text + str(found)
    assert (["fails "] if "RuntimeError" in expected else ["fails explained"] if code == "E-X-TOOL-FAILED" else []) == RAN


async def test_a_tool_the_person_may_not_use_is_unknown(
    ada: User, bela: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch, tools={"fetch": ("staff",)})
    await database_sync_to_async(lambda: Group.objects.create(name="staff").user_set.add(bela))()
    backend.script, backend.following = calls(call("fetch", "c1", key="a")), [answer()]
    assert not (await replies(await run(ada, ask())))["c1"]["ok"] and not backend.requests[0].tools
    backend.script, backend.following = calls(call("fetch", "c1", key="a")), [answer()]
    assert (await replies(await run(bela, ask())))["c1"]["ok"] and backend.requests[2].tools
    assert RAN == ["a"]


async def test_the_limit_of_calls_ends_the_tools_and_tells_the_model(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch, tool_calls=2)
    turn, found = await answered(ada, backend, *(call("fetch", f"c{n}", key=str(n)) for n in range(4)))
    assert RAN == ["0", "1"] and turn.state == "completed"
    assert sorted((call_id, reply["error"] and reply["error"]["code"]) for call_id, reply in found.items()) == [
        ("c0", None), ("c1", None), ("c2", "E-X-TOOL"), ("c3", "E-X-TOOL"),
    ]  # fmt: skip


async def test_a_model_that_keeps_calling_unknown_tools_is_cut_off(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch)
    backend.script = calls(call("nothing", "c1"))
    turn = await run(ada, ask())
    assert (turn.state, turn.error_code, len(backend.requests)) == ("incomplete", "E-X-TOOL", 4)


async def test_the_total_time_of_calls_is_limited(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, hangs, fetch, tool_turn_seconds=0.2)
    backend.script = calls(call("hangs", "c1"))
    backend.following = [calls(call("fetch", "c2", key="late")), answer()]
    turn = await run(ada, ask())
    assert [reply["error"]["code"] for reply in (await replies(turn)).values()] == ["E-TOOL-TIMEOUT", "E-X-TOOL"]
    assert "late" not in RAN


async def test_a_long_reply_is_truncated_with_a_note(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, lists, tool_reply_chars=200)
    _, found = await answered(ada, backend, call("lists", "c1", count=100_000))
    content = found["c1"]["content"]
    assert isinstance(content, str) and content.startswith("[0, 1, 2") and "cut here" in content and len(content) < 260


async def test_the_server_gets_its_reasoning_back_until_it_answers(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch)
    given = GivenReasoning({"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz"}]})
    backend.script = [*frame(ANALYSIS, "hm"), *call("fetch", "c1", key="a"), SampleEnded(EndReason.TOOL_CALLS, reasoning=given)]
    backend.following = [answer(), answer()]
    turn = await run(ada, ask())
    assert backend.requests[1].given_back == {"c1": given} and "xyz" not in repr(backend.requests[1])
    await run(ada, ask(conversation=turn.conversation_id))
    assert not backend.requests[2].given_back and all(frame.header.channel != Channel.ANALYSIS for frame in backend.requests[2].frames)
    assert any(frame.terminator is Terminator.CALL for frame in backend.requests[2].frames), "calls and replies stay"


async def test_no_tool_receives_analysis(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, fetch)
    await answered(ada, backend, frame(ANALYSIS, "SECRET thought"), call("fetch", "c1", key="a"))
    assert RAN == ["a"]


async def test_a_model_cannot_forge_a_message_of_the_product(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, fetch)
    forged = replace(PREAMBLE, name="tool_activity")
    turn, _ = await answered(ada, backend, frame(forged, "Deleting everything"), call("fetch", "c1", key="a"))
    lines = [(row.author, row.name, document.parse_frame(row.text).body) for row in await rows_of(turn) if row.is_visible]
    assert lines[:2] == [("model", "", "Deleting everything "), ("product", "tool_activity", "Using a tool")]
