"""Approval of tool calls: a call that is not declared harmless waits for the user, runs once if allowed, and is a reply if declined."""

import asyncio
import json
import re
import time
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.shares import ShareLink
from chatui.models.tools import ToolApproval, ToolCall, ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.formats import format_of
from tests.chatui.backends.wire import posts
from tests.chatui.turns.calls.calling import RAN, World, call, calls, fetch, hangs, ran, replies
from tests.chatui.turns.calls.test_wire_formats import model_of, transcript
from tests.support import constants
from tests.support.browser_socket import BrowserSocket
from tests.support.cost import ends_within
from tests.support.other_processes import reap
from tests.support.page import begun, opened, posted, settled, told
from tests.support.scripted import answer

pytestmark = pytest.mark.django_db(transaction=True)


def send(key: str) -> str:
    """Sends something."""
    RAN.append(f"send {key}")
    return "sent"


def offer(world: World, **values: Any) -> None:
    world.offer(fetch, send, hangs, **{"tools_without_approval": ["fetch", "hangs"], **values})


async def wait_for_approvals(turn_id: UUID, count: int = 1) -> list[ToolApproval]:
    """The waiting calls, as soon as there are ``count`` of them."""
    async with asyncio.timeout(10):
        while True:
            rows = [row async for row in ToolApproval.objects.filter(turn=turn_id, decision="waiting").order_by("asked_at", "pk")]
            if len(rows) == count:
                return rows
            await asyncio.sleep(0.02)


def _posted(person: User, row: ToolApproval, decision: str, conversation: UUID | None = None) -> int:
    client = Client()
    client.force_login(person)
    where = conversation or Turn.objects.get(pk=row.turn_id).conversation_id
    answered = client.post(f"/c/{where}/calls/{row.pk}/", {"decision": decision}, headers={"accept": "application/json"})
    return answered.status_code


async def decide(person: User, row: ToolApproval, decision: str, conversation: UUID | None = None) -> int:
    """The server's response to a decision that is posted as a page posts it."""
    return await database_sync_to_async(_posted)(person, row, decision, conversation)


async def start_turn(world: World, *steps: Any, conversation: UUID | None = None) -> UUID:
    world.backend.script, world.backend.following = calls(*steps), [answer("Done.")]
    return (await begun(world.ada, conversation=conversation)).pk


async def waiting(world: World, key: str) -> tuple[UUID, ToolApproval]:
    """A turn whose one call waits for its person."""
    offer(world)
    turn_id = await start_turn(world, call("send", "c1", key=key))
    [row] = await wait_for_approvals(turn_id)
    return turn_id, row


async def ended(turn_id: UUID) -> tuple[Turn, dict[str, dict[str, Any]]]:
    await settled()
    turn = await Turn.objects.select_related("conversation").aget(pk=turn_id)
    return turn, await replies(turn)


async def audit_lines() -> list[tuple[str, str]]:
    return [(row.actor_name, row.detail) async for row in AuditEvent.objects.filter(action="tool call decided").order_by("number")]


async def test_an_allowed_call_runs_once_and_the_decision_is_in_the_audit_log_without_arguments(world: World) -> None:
    turn_id, row = await waiting(world, "SECRET")
    await asyncio.sleep(0.1)
    assert RAN == [] and await ToolCall.objects.acount() == 0, "nothing ran or was claimed before"
    assert await decide(world.ada, row, "once") == 200
    turn, found = await ended(turn_id)
    assert turn.state == "completed" and found["c1"]["ok"] and RAN == ["send SECRET"]
    assert await audit_lines() == [("ada", "send: once")]
    assert await ToolRule.objects.acount() == 0


@pytest.mark.parametrize(("decision", "expected"), [("declined", "declined this call"), ("never", "does not want this tool")])
async def test_a_declined_call_becomes_a_reply_to_the_model(decision: str, expected: str, world: World) -> None:
    turn_id, row = await waiting(world, "a")
    assert await decide(world.ada, row, decision) == 200
    turn, found = await ended(turn_id)
    assert turn.state == "completed" and RAN == [] and len(world.backend.requests) == 2
    assert found["c1"]["error"]["code"] == "E-X-TOOL-DECLINED" and expected in found["c1"]["error"]["message"]
    assert await ToolRule.objects.filter(tool="send", is_allowed=False).aexists() is (decision == "never")


async def test_harmless_calls_run_while_the_person_decides_and_each_call_has_its_card(world: World) -> None:
    offer(world)
    turn_id = await start_turn(world, call("send", "c1", key="a"), call("fetch", "c2", key="b"), call("send", "c3", key="c"))
    first, second = sorted(await wait_for_approvals(turn_id, 2), key=lambda row: row.call_id)
    await ran("b")
    assert await decide(world.ada, second, "once") == 200
    await ran("send c")
    assert await decide(world.ada, first, "declined") == 200
    _, found = await ended(turn_id)
    assert {call_id: reply["ok"] for call_id, reply in found.items()} == {"c1": False, "c2": True, "c3": True}
    assert RAN == ["b", "send c"]


async def test_an_always_allowed_tool_runs_unasked_in_that_conversation_only(world: World) -> None:
    offer(world)
    turn_id = await start_turn(world, call("send", "c1", key="a"), call("send", "c2", key="b"))
    rows = await wait_for_approvals(turn_id, 2)
    assert await decide(world.ada, rows[0], "always") == 200
    turn, _ = await ended(turn_id)
    assert sorted(RAN) == ["send a", "send b"], "the other card was about the same tool"
    again = await start_turn(world, call("send", "c9", key="again"), conversation=turn.conversation_id)
    await ended(again)
    assert RAN[-1] == "send again" and await ToolApproval.objects.filter(turn=again, decision="ruled", arguments="").aexists()
    elsewhere = await start_turn(world, call("send", "c1", key="elsewhere"))
    assert await decide(world.ada, (await wait_for_approvals(elsewhere))[0], "declined") == 200
    await ended(elsewhere)
    assert "send elsewhere" not in RAN and await audit_lines() == [("ada", "send: always"), ("ada", "send: declined")]


async def test_a_changed_tool_needs_approval_again(world: World) -> None:
    turn_id, row = await waiting(world, "a")
    await decide(world.ada, row, "always")
    turn, _ = await ended(turn_id)
    await ToolRule.objects.all().aupdate(fingerprint="of another description")
    again = await start_turn(world, call("send", "c2", key="b"), conversation=turn.conversation_id)
    assert await decide(world.ada, (await wait_for_approvals(again))[0], "declined") == 200
    await ended(again)
    assert RAN == ["send a"]


async def test_a_tool_switched_off_during_an_answer_does_not_run(world: World) -> None:
    offer(world)
    world.backend.script = calls(call("send", "c1", key="a"))
    world.backend.following = [calls(call("send", "c2", key="b")), answer()]
    turn_id = (await begun(world.ada)).pk
    await decide(world.ada, (await wait_for_approvals(turn_id))[0], "never")
    turn, found = await ended(turn_id)
    assert [reply["error"]["code"] for reply in found.values()] == ["E-X-TOOL-DECLINED"] * 2 and RAN == []
    await start_turn(world, conversation=turn.conversation_id)
    await settled()
    assert "send" not in {tool.name for tool in world.backend.requests[-1].tools}, "and it is not offered any more"


async def test_an_undecided_call_expires_and_waiting_does_not_count_as_tool_time(world: World) -> None:
    offer(world, tool_approval_seconds=0.5, tool_turn_seconds=0.4)
    world.backend.script = calls(call("send", "c1", key="a"))
    world.backend.following = [calls(call("fetch", "c2", key="b")), answer()]
    turn_id = (await begun(world.ada)).pk
    [row] = await wait_for_approvals(turn_id)
    turn, found = await ended(turn_id)
    assert found["c1"]["error"]["code"] == "E-X-TOOL-DECLINED" and "in time" in found["c1"]["error"]["message"]
    assert found["c2"]["ok"] and RAN == ["b"], "half a second of waiting does not count towards the tools' 0.4 seconds"
    assert turn.state == "completed" and (await ToolApproval.objects.aget(pk=row.pk)).decision == "lapsed"
    assert await decide(world.ada, row, "once") == 409 and await audit_lines() == [], "too late"


async def test_of_simultaneous_decisions_only_one_counts(world: World) -> None:
    turn_id, row = await waiting(world, "a")
    statuses = await asyncio.gather(*(decide(world.ada, row, "once") for _ in range(6)), decide(world.ada, row, "declined"))
    assert sorted(statuses) == [200] + [409] * 6
    await ended(turn_id)
    assert len(RAN) <= 1 and len(await audit_lines()) == 1
    decision = (await ToolApproval.objects.aget(pk=row.pk)).decision
    assert (decision == "once") is (RAN == ["send a"])


@pytest.mark.parametrize("word", ["waiting", "lapsed", "ONCE"])
async def test_only_the_person_can_approve(word: str, world: World) -> None:
    turn_id, row = await waiting(world, "a")
    assert await decide(world.ada, row, word) == 409 and await audit_lines() == []
    assert await decide(world.ada, row, "declined") == 200, "the premise: it still waits"
    await ended(turn_id)


async def test_nobody_else_can_decide_even_through_their_own_conversation(world: World, bela: User, grace: User) -> None:
    turn_id, row = await waiting(world, "a")
    own = await Conversation.objects.acreate(owner=bela, title="Mine", effort="medium")
    other = await Conversation.objects.acreate(owner=world.ada, title="Mine, too", effort="medium")
    refused = [await decide(bela, row, "once"), await decide(grace, row, "once"), await decide(bela, row, "once", own.pk)]
    assert refused == [404] * 3 and await decide(world.ada, row, "once", other.pk) == 404, "the address names the conversation"
    assert RAN == [] and await audit_lines() == []
    assert await decide(world.ada, row, "once") == 200
    await ended(turn_id)
    assert await decide(world.ada, row, "declined") == 409, "an answer that has ended"


async def test_stop_and_deletion_end_the_wait_within_a_second(world: World) -> None:
    offer(world)

    async def ended_by(way: str) -> float:
        turn_id = await start_turn(world, call("send", "c1", key=way), call("hangs", "c2"))
        [row] = await wait_for_approvals(turn_id)
        await ran("hangs")
        started = time.monotonic()
        if way == "stop":
            await told(world.ada, await Turn.objects.aget(pk=turn_id), "stop")
        else:
            await Conversation.objects.filter(turns=turn_id).aupdate(deleted_at="2026-01-01T00:00:00Z")
        turn, found = await ended(turn_id)
        took = time.monotonic() - started
        assert turn.state == "stopped"
        assert found["c1"]["error"]["code"] == "E-TOOL-CANCELLED" and "had no effect" in found["c1"]["error"]["message"]
        assert "is not known" in found["c2"]["error"]["message"], "that one had started"
        await lapsed(row)
        RAN.clear()
        return took

    for way in ("stop", "delete"):
        await ends_within(2.0, partial(ended_by, way))


async def lapsed(row: ToolApproval) -> None:
    async with asyncio.timeout(5):
        while (await ToolApproval.objects.aget(pk=row.pk)).decision != "lapsed":
            await asyncio.sleep(0.02)


async def test_answer_now_declines_waiting_calls(world: World) -> None:
    turn_id, row = await waiting(world, "a")
    await told(world.ada, await Turn.objects.aget(pk=turn_id), "answer_now")
    turn, found = await ended(turn_id)
    assert turn.state == "completed" and found["c1"]["error"]["code"] == "E-X-TOOL-DECLINED" and RAN == []
    assert world.backend.requests[-1].tools == () and (await ToolApproval.objects.aget(pk=row.pk)).decision == "lapsed"


async def test_a_decision_made_in_another_process_is_noticed_without_a_message(world: World) -> None:
    offer(world)
    constants.change(world.monkeypatch, decision_seconds=0.1)
    turn_id = await start_turn(world, call("send", "c1", key="a"))
    [row] = await wait_for_approvals(turn_id)
    await ToolApproval.objects.filter(pk=row.pk).aupdate(decision="once", decided_at=timezone.now())
    _, found = await ended(turn_id)
    assert found["c1"]["ok"] and RAN == ["send a"]


async def test_a_waiting_call_of_a_dead_process_is_declined(world: World) -> None:
    turn_id, row = await waiting(world, "a")
    await Turn.objects.filter(pk=turn_id).aupdate(lease_owner="dead", lease_until="2020-01-01T00:00:00Z")
    await settled()  # as if this process had never had it: it notices that it has lost it, and writes nothing
    await ToolApproval.objects.filter(pk=row.pk).aupdate(decision="waiting")
    await reap()
    assert (await Turn.objects.aget(pk=turn_id)).state == "interrupted"
    assert (await ToolApproval.objects.aget(pk=row.pk)).decision == "lapsed"
    assert await decide(world.ada, row, "once") == 409 and RAN == []


async def test_events_announce_waiting_calls_without_their_content(world: World) -> None:
    offer(world)
    world.backend.script, world.backend.following = calls(call("send", "c1", key="SECRETKEY")), [answer("Done.")]
    async with BrowserSocket(world.ada) as socket:
        await socket.send_message("Hello")
        events = await socket.until("chatui:calls_wait")
        assert events[-1]["count"] == 1
        turn = await Turn.objects.aget()
        [row] = await wait_for_approvals(turn.pk)
        async with BrowserSocket(world.ada) as late:
            await late.send("subscribe", conversation=str(turn.conversation_id))
            assert (await late.until("chatui:snapshot"))[-1]["calls_wait"] == 1, "for a page that connects late"
        await decide(world.ada, row, "once")
        events += await socket.until("response.completed")
        assert [event["count"] for event in events if event["type"] == "chatui:calls_wait"] == [1, 0]
        assert "SECRETKEY" not in json.dumps(socket.raw) and RAN == ["send SECRETKEY"]
    await settled()


async def waiting_in_list(person: User) -> list[bool]:
    """For each conversation of the person's list, whether it is marked as waiting, as after a reload."""
    page = await opened(person, "/conversations/")
    return ["conversation-waits" in link for link in re.findall(r"<a [^>]*href=\"/c/.*?</a>", page, re.DOTALL)]


@pytest.mark.parametrize("decision", ["once", "declined", ""], ids=["allowed", "declined", "lapsed"])
async def test_every_page_of_the_person_learns_that_an_answer_waits_and_nothing_of_the_call(
    decision: str, world: World, bela: User
) -> None:
    offer(world, **({} if decision else {"tool_approval_seconds": 0.5}))
    world.backend.script, world.backend.following = (
        calls(call("send", "c1", key="SECRETKEY"), call("send", "c2", key="SECRETKEY")),
        [answer("Done.")],
    )
    async with BrowserSocket(world.ada) as aside, BrowserSocket(bela) as stranger:
        turn_id = (await begun(world.ada)).pk
        rows = await wait_for_approvals(turn_id, 2)
        events = await aside.until("chatui:waits")
        assert await waiting_in_list(world.ada) == [True] and await waiting_in_list(bela) == []
        for row in rows if decision else ():
            await decide(world.ada, row, decision)
        events += await aside.until("chatui:answered")
        await settled()
        assert await waiting_in_list(world.ada) == [False]
        conversation = str((await Turn.objects.aget(pk=turn_id)).conversation_id)
        told = [event for event in events if event["type"] == "chatui:waits"]
        assert told == [{"type": "chatui:waits", "conversation": conversation, "waits": waits} for waits in (True, False)]
        assert not any(word in "".join(aside.raw) for word in ("SECRETKEY", "send", "Sends"))
        await stranger.send("probe")
        assert (await stranger.next())["type"] == "chatui:alive" and conversation not in "".join(stranger.raw)


async def test_the_list_marks_no_call_whose_process_died_or_whose_time_is_over(world: World) -> None:
    turn_id, row = await waiting(world, "a")
    assert await waiting_in_list(world.ada) == [True]
    await ToolApproval.objects.filter(pk=row.pk).aupdate(lapses_at="2020-01-01T00:00:00Z")
    assert await waiting_in_list(world.ada) == [False]
    await ToolApproval.objects.filter(pk=row.pk).aupdate(lapses_at=row.lapses_at)
    await told(world.ada, await Turn.objects.aget(pk=turn_id), "stop")
    await settled()
    assert await waiting_in_list(world.ada) == [False]


def _everything_that_leaves(person: User, row: Turn) -> str:
    """Everything that leaves a conversation other than through its owner's page, and what other people get of the cards."""
    client = Client()
    client.force_login(person)
    at = f"/c/{row.conversation_id}/"
    assert "SECRETKEY" in client.get(f"{at}turns/{row.pk}/calls/").content.decode(), "the premise: its owner reads it"
    leaf = Message.objects.filter(turn=row, is_visible=True).order_by("position").last()
    assert leaf is not None
    client.post(f"{at}share/", {"leaf": str(leaf.pk), "days": "7"})
    shared = Client().get(f"/s/{ShareLink.objects.get().token}/").content.decode()
    assert "Done." in shared, "the premise"
    ways = ["download/", "download/?format=markdown", "download/?format=json", f"messages/{leaf.pk}/text/", "share/"]
    return shared + "".join(client.get(at + way).content.decode() for way in ways) + client.get("/search/?q=SECRETKEY").content.decode()


async def test_arguments_appear_on_the_card_only(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "chatui")
    turn_id, row = await waiting(world, "SECRETKEY")
    await decide(world.ada, row, "once")
    turn, _ = await ended(turn_id)
    found = (
        (await database_sync_to_async(_everything_that_leaves)(world.ada, turn)).replace('value="SECRETKEY"', "").replace("“SECRETKEY”", "")
    )
    assert "SECRETKEY" not in found and "SECRETKEY" not in caplog.text
    assert "SECRETKEY" not in repr(await ToolApproval.objects.aget()) and RAN == ["send SECRETKEY"]


async def test_a_conversation_with_calls_and_decisions_can_be_erased(world: World) -> None:
    turn_id, row = await waiting(world, "a")
    await decide(world.ada, row, "always")
    turn, _ = await ended(turn_id)
    assert await ToolCall.objects.acount() == await ToolApproval.objects.acount() == await ToolRule.objects.acount() == 1
    for step in ("delete", "erase"):
        assert await posted(world.ada, f"/c/{turn.conversation_id}/{step}/") == 302
    left = [await rows.objects.acount() for rows in (ToolCall, ToolApproval, ToolRule, Turn, Conversation)]
    assert left == [0] * 5


@pytest.mark.served
@pytest.mark.parametrize("kind", ["chat", "responses", "harmony-vllm"])
@pytest.mark.parametrize(("decision", "says", "runs"), [("once", "sent", ["send a"]), ("declined", "E-X-TOOL-DECLINED", [])])
async def test_over_each_wire_format_nothing_runs_before_the_decision_and_the_reply_states_it(
    kind: str, decision: str, says: str, runs: list[str], world: World, vocabulary: Vocabulary
) -> None:
    of = format_of(vocabulary, kind)
    async with model_of(world.monkeypatch, of, of.called("send", {"key": "a"}, thought="I send it."), of.says("Done.")) as server:
        offer(world)
        turn_id = (await begun(world.ada)).pk
        [row] = await wait_for_approvals(turn_id)
        assert (RAN, len(posts(server))) == ([], 1)
        assert await decide(world.ada, row, decision) == 200
        turn, _ = await ended(turn_id)
    assert (turn.state, turn.error_code, RAN) == ("completed", "", runs)
    first, second = posts(server)
    assert says in of.sent(second) and says not in of.sent(first)
    frames, seen = await transcript(turn)
    assert seen[-1] == ("", "Done.") and ("tool_activity" in [name for name, _ in seen]) is bool(runs)
    assert [frame.header.role for frame in frames if frame.header.call_id] == ["assistant", "tool"]
