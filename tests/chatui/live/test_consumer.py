"""The WebSocket of pages: commands, events, reloads and second tabs, and who is refused."""

import asyncio
import json
from collections.abc import Callable
from math import inf
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from chatui.accounts import header_sign_in
from chatui.audit_log.record import Visitor
from chatui.database.faults import DatabaseBusyError
from chatui.live import commands, snapshots
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import attempts, debug_requests
from chatui.turns import running
from chatui.wire import bus
from renderer.events import FrameText
from renderer.markup import html
from tests.chatui.conftest import refuse_log
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.database import Database, watch
from tests.support.database import database as database
from tests.support.limits import set_limits
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, answer, frame
from tests.support.turns import ask, stored

pytestmark = pytest.mark.django_db(transaction=True)

MARKDOWN = "# Title\n\nA *paragraph* of words.\n\n- one\n- two\n\n```python\nprint('x')\n```\n\nThe end."


async def test_a_question_is_accepted_and_its_answer_streams_as_blocks(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer(MARKDOWN)
    async with BrowserSocket(ada) as socket:
        client_id = await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        assert accepted["client_id"] == client_id and accepted["url"] == f"/c/{accepted['conversation']}/"
        events = await socket.until(*ENDS)
    numbers = [event["sequence_number"] for event in events if "turn" in event]
    assert numbers == list(range(1, len(numbers) + 1)), "the page that asks needs no subscription and misses nothing"
    assert shown_text(events) == html.render(_body(await Message.objects.aget(channel="final"))).html


def _body(message: Message) -> str:
    from chatui.store.transcripts import frame_of

    return frame_of(message).body


async def test_a_page_learns_in_one_frame_that_its_question_is_accepted_and_its_turn_has_begun(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer("Four.")
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        await socket.until(*ENDS)
        [frame] = [json.loads(raw) for raw in socket.raw if "chatui:accepted" in raw]
    assert [event["type"] for event in frame] == ["chatui:accepted", "chatui:listed", "response.created"]


async def test_a_late_page_gets_a_snapshot_and_continues_without_gap_or_duplicate(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    words = answer(MARKDOWN * 3)
    middle = len(words) // 2
    assert isinstance(words[middle], FrameText)
    backend.script = [*words[:middle], gate, *words[middle:]]
    async with BrowserSocket(ada) as first:
        await first.send_message()
        accepted = (await first.until("chatui:accepted"))[-1]
        await asyncio.wait_for(backend.waiting.wait(), 5)
        async with BrowserSocket(ada) as late:
            await late.send("subscribe", conversation=accepted["conversation"])
            events = await late.until("chatui:snapshot")
            number = events[-1]["sequence_number"]
            assert events[-1]["messages"][0]["blocks"], "the premise: something was shown before"
            gate.set()
            rest = await late.until(*ENDS)
    fresh = [event for event in rest if event.get("sequence_number", 0) > number]
    assert [event["sequence_number"] for event in fresh] == list(range(number + 1, number + 1 + len(fresh)))
    assert shown_text([events[-1], *fresh]) == html.render(_body(await Message.objects.aget(channel="final"))).html


async def test_a_page_that_has_its_snapshot_is_sent_no_other(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one replaces what the page shows, and what somebody has selected there."""
    monkeypatch.setattr(snapshots, "SNAPSHOT_SECONDS", 0.05)
    gate = asyncio.Event()
    first_word, *rest = answer("Some text.")
    backend.script = [first_word, gate, *rest]
    async with BrowserSocket(ada) as first, BrowserSocket(ada) as late:
        await first.send_message()
        accepted = (await first.until("chatui:accepted"))[-1]
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await late.send("subscribe", conversation=accepted["conversation"])
        await late.until("chatui:snapshot")
        assert "chatui:snapshot" not in [event["type"] for event in await late.silence(1.0)]
        gate.set()
        await late.until(*ENDS)


async def test_working_is_sent_once_however_long_the_model_thinks(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    thoughts = frame(ANALYSIS, "word " * 300)
    backend.script = [gate, *thoughts, *frame(ANALYSIS, "more " * 50), *answer("Done.")]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        await socket.until("chatui:snapshot")
        gate.set()
        events = await socket.until(*ENDS)
    assert [event["type"] for event in events].count("chatui:working") == 1
    assert len(events) < 20, "the visible size must not depend on hidden text"


async def test_nothing_hidden_reaches_the_socket(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*frame(ANALYSIS, "CANARY-ONE "), *answer("Shown.", thought="CANARY-TWO")]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        await socket.until(*ENDS, "chatui:idle")
        assert "CANARY" not in "".join(socket.raw)


@pytest.mark.parametrize("error", ["broken", "busy"])
async def test_stop_works_while_the_database_is_away_for_those_who_follow_the_turn(
    error: str, ada: User, bela: User, backend: ScriptedBackend, database: Database
) -> None:
    away = {"broken": OperationalError("server closed the connection unexpectedly"), "busy": DatabaseBusyError()}
    backend.script = [*frame(FINAL, "Half an answer")[:-1], asyncio.Event()]
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as idle, BrowserSocket(bela) as other:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.until("response.delta")
        database.refuse("SELECT .* FROM chatui_conversation", away[error], times=inf)
        stop = {"conversation": accepted["conversation"], "turn": accepted["turn"]}
        for stranger in (idle, other):
            await stranger.send("stop", **stop)
            assert (await stranger.until("chatui:refused"))[-1]["code"] == "E-X-SERVER-BUSY"
        await socket.send("stop", conversation=stop["conversation"], turn=str(uuid4()))
        assert (await socket.until("chatui:refused"))[-1]["code"] == "E-X-SERVER-BUSY"
        await socket.send("stop", **stop)
        assert (await socket.until(*ENDS))[-1]["state"] == "stopped"
    assert backend.closed == 1


async def test_somebody_else_cannot_stop_follow_or_write(ada: User, bela: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "hm"), gate, *answer()]
    async with BrowserSocket(ada) as ada_socket, BrowserSocket(bela) as bela_socket:
        await ada_socket.send_message()
        accepted = (await ada_socket.until("chatui:accepted"))[-1]
        conversation, turn, question = accepted["conversation"], accepted["turn"], accepted["question"]
        ask = {"client_id": str(uuid4()), "conversation": conversation, "question": question, "effort": "low", "text": "x"}
        for command in (
            {"type": "subscribe", "conversation": conversation},
            {"type": "stop", "conversation": conversation, "turn": turn},
            {"type": "send", **ask},
            {"type": "edit", **ask},
            {"type": "regenerate", **ask},
        ):
            await bela_socket.send_raw(json.dumps(command))
            refused = await bela_socket.next()
            assert (refused["type"], refused["code"]) == ("chatui:refused", "E-X-NOT-FOUND"), command
        gate.set()
        await ada_socket.send("subscribe", conversation=conversation)
        await ada_socket.until(*ENDS, "chatui:idle")
        assert await bela_socket.silence() == []
    assert await Turn.objects.acount() == 1


@pytest.mark.parametrize(
    "frame_text",
    [
        "not json",
        "[]",
        "{}",
        '{"type": 7}',
        '{"type": "delete_everything"}',
        '{"type": "send", "client_id": "x", "text": "y", "effort": "low"}',
        '{"type": "send", "client_id": "0190a0a0-0000-7000-8000-000000000000", "text": ["y"], "effort": "low"}',
        '{"type": "send", "client_id": "0190a0a0-0000-7000-8000-000000000000", "text": "y", "effort": "extreme"}',
        '{"type": "subscribe", "conversation": {"$ne": 1}}',
        "[" * 100_000,
    ],
)
async def test_e_x_command_invalid_frames_are_refused_and_the_socket_stays_open(
    frame_text: str, ada: User, backend: ScriptedBackend
) -> None:
    async with BrowserSocket(ada) as socket:
        await socket.send_raw(frame_text)
        refused = await socket.next()
        assert refused["type"] == "chatui:refused" and refused["code"] in ("E-X-COMMAND", "E-X-NOT-FOUND")
        await socket.send_message()
        assert (await socket.until("chatui:accepted"))[-1]["type"] == "chatui:accepted"


async def test_e_x_rate_a_flood_of_commands_closes_the_socket(ada: User) -> None:
    async with BrowserSocket(ada) as socket:
        for _ in range(60):
            await socket.send("nothing")
        events = await socket.until("closed")
    assert events[-2]["code"] == "E-X-RATE" and socket.close_code == 4429


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "",
        "http://evil.example",
        "http://localhost:8001",
        "https://localhost:8000",
        "http://localhost:8000.evil.example",
        "http://127.0.0.1:8000",
    ],
)
async def test_a_socket_from_a_foreign_page_is_refused(origin: str | None, ada: User) -> None:
    async with BrowserSocket(ada, origin=origin) as socket:
        assert not socket.accepted


async def test_a_foreign_host_is_refused_even_if_origin_matches_it(ada: User) -> None:
    async with BrowserSocket(ada, origin="http://rebound.example", host="rebound.example") as socket:
        assert not socket.accepted


async def test_e_x_signed_out_an_anonymous_socket_is_told_and_closed(db: None) -> None:
    async with BrowserSocket(None) as socket:
        events = await socket.until("closed")
    assert events[0]["code"] == "E-X-SIGNED-OUT" and socket.close_code == 4401


async def test_e_x_too_many_pages_one_person_cannot_take_all_sockets(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.live", MAX_SOCKETS=2)
    async with BrowserSocket(ada), BrowserSocket(ada) as second:
        async with BrowserSocket(ada) as third:
            events = await third.until("closed")
        assert events[-2]["code"] == "E-X-TOO-MANY-PAGES" and third.close_code == 4408
        async with BrowserSocket(bela) as other:
            await other.send("subscribe", conversation=str(uuid4()))
            assert (await other.until("chatui:refused"))[-1]["code"] == "E-X-NOT-FOUND", "somebody else's socket is served"
        await second.send("subscribe", conversation=str(uuid4()))
        await second.until("chatui:refused")
    async with BrowserSocket(ada) as later, BrowserSocket(ada) as latest:  # a closed socket is not counted
        for each in (later, latest):
            await each.send("subscribe", conversation=str(uuid4()))
            await each.until("chatui:refused")


async def test_an_ended_session_is_noticed_at_the_next_command(ada: User) -> None:
    async with BrowserSocket(ada) as socket:
        await Session.objects.all().adelete()
        await socket.send_message()
        assert (await socket.next())["code"] == "E-X-SIGNED-OUT"
    assert not await Message.objects.aexists()


async def test_an_ended_session_is_noticed_without_a_command(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.live", CHECK_SECONDS=0.05)
    async with BrowserSocket(ada) as socket:
        await User.objects.filter(pk=ada.pk).aupdate(is_active=False)
        assert (await socket.until("closed"))[-1]["code"] == 4401


@database_sync_to_async
def open_debug_view(person: User, conversation: str) -> None:
    debug_requests.open_debug_view(Visitor(person, "127.0.0.1", "page"), conversation, "a fault was reported")


FINAL_CODES = {4401, 4403, 4408, 4426}


def busy(*_: object) -> object:
    raise DatabaseBusyError


def broken(*_: object) -> object:
    raise OperationalError("server closed the connection unexpectedly")


async def test_a_page_that_waits_for_a_snapshot_of_a_deleted_conversation_goes_on_when_it_is_back(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SNAPSHOT_SECONDS", 0.05)
    monkeypatch.setattr(running, "ask_snapshot", lambda *_: None)
    conversation = (await stored(ada, ask(), "a process that died")).turn.conversation_id
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(conversation))
        await Conversation.objects.filter(pk=conversation).aupdate(deleted_at=timezone.now())
        assert (await socket.until("chatui:refused"))[-1] == {"type": "chatui:refused", "code": "E-X-NOT-FOUND"}
        await Conversation.objects.filter(pk=conversation).aupdate(deleted_at=None)
        await Turn.objects.aupdate(state="stopped")
        await socket.send("subscribe", conversation=str(conversation))
        assert (await socket.until("chatui:idle"))[-1]["state"] == "stopped"


async def test_pages_that_wait_for_a_snapshot_ask_the_database_less_and_less_often(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SNAPSHOT_SECONDS", 0.05)
    turn = (await stored(ada, ask(), "a process that died")).turn
    asked: list[str] = []
    watch(monkeypatch, lambda _, sql: asked.append(sql) if sql.startswith("SELECT chatui_conversation.") else None)
    wanted: list[object] = []
    monkeypatch.setattr(running, "ask_snapshot", lambda *arguments: wanted.append(arguments))
    async with BrowserSocket(ada) as socket:
        for _ in range(10):  # the page notices the silence, too
            await socket.send("subscribe", conversation=str(turn.conversation_id))
            assert await socket.silence(0.1) == []
        assert 2 <= len(asked) <= 8, "it waits 0.05, 0.1, 0.2, 0.4 and 0.8 s"
        assert len(wanted) >= 10, "a lost one is asked for as soon as the page notices"
        await Turn.objects.filter(pk=turn.pk).aupdate(state="completed")
        assert (await socket.until("chatui:idle"))[-1]["state"] == "completed"


@pytest.mark.parametrize("error", [broken, busy])
async def test_a_page_that_waits_for_a_snapshot_survives_a_database_that_is_away(
    error: Callable[..., object], ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SNAPSHOT_SECONDS", 0.05)
    turn = (await stored(ada, ask(), "a process that died")).turn
    async with BrowserSocket(ada) as socket:
        with monkeypatch.context() as patch:
            await socket.send("subscribe", conversation=str(turn.conversation_id))
            assert await socket.silence(0.1) == [], "the premise: it waits"
            patch.setattr(commands, "subscribe", error)
            assert await socket.silence(0.3) == []
        await Turn.objects.filter(pk=turn.pk).aupdate(state="completed")
        assert (await socket.until("chatui:idle"))[-1]["state"] == "completed"


@pytest.mark.parametrize("error", [broken, busy])
async def test_a_page_that_connects_while_the_database_is_away_is_asked_to_try_again(
    error: Callable[..., object], ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(header_sign_in, "session_of", error)
    async with BrowserSocket(ada) as socket:
        assert not socket.accepted and socket.close_code not in FINAL_CODES
    assert "Traceback" not in caplog.text


async def test_permitted_staff_follow_the_hidden_channels_live(ada: User, grace: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "first thought"), gate, *frame(ANALYSIS, "CANARY-LIVE"), *answer("Shown.")]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        await owner_socket.send_message()
        accepted = (await owner_socket.until("chatui:accepted"))[-1]
        await owner_socket.send("subscribe", conversation=accepted["conversation"])
        await owner_socket.until("chatui:snapshot")
        await open_debug_view(grace, accepted["conversation"])
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await watcher.send("watch", conversation=accepted["conversation"])
        snapshot = (await watcher.until("chatui:debug.snapshot"))[-1]
        assert snapshot["frames"][0]["header"] == {"role": "assistant", "channel": "analysis"}
        assert snapshot["frames"][0]["text"].startswith("first thought")
        gate.set()
        events = await watcher.until("chatui:frame.closed")
        while "CANARY-LIVE" not in "".join(event.get("text", "") for event in events):
            events += await watcher.until("chatui:frame.closed")
        await owner_socket.until(*ENDS)
        assert "CANARY" not in "".join(owner_socket.raw)
    actions = [event.action async for event in AuditEvent.objects.order_by("number")]
    assert actions == ["open debug view"] and (await CountedLine.objects.aget()).counts == {"debug stream": 1}


async def test_e_perm_visibility_watching_without_the_permission_is_refused_and_recorded(
    ada: User, bela: User, sam: User, hank: User, backend: ScriptedBackend
) -> None:
    conversation = await Conversation.objects.acreate(owner=ada, title="private")
    for person in (ada, bela, sam, hank):
        async with BrowserSocket(person) as socket:
            await socket.send("watch", conversation=str(conversation.pk))
            refused = await socket.next()
            assert (refused["type"], refused["code"]) == ("chatui:refused", "E-PERM-VISIBILITY")
    rows = [row async for row in AuditEvent.objects.order_by("number")]
    assert [(row.actor_name, row.code, row.way, row.conversation_id) for row in rows] == [
        (name, "E-PERM-VISIBILITY", "socket", conversation.pk) for name in ("ada", "bela", "sam", "hank")
    ]


@pytest.mark.parametrize(("command", "action"), [("regenerate", "regenerate an answer"), ("edit", "edit a question")])
async def test_e_perm_visibility_a_command_that_names_a_hidden_message_is_refused_like_any_other_and_recorded(
    command: str, action: str, ada: User, bela: User, grace: User, backend: ScriptedBackend
) -> None:
    backend.script = answer("Four.", thought="Two and two.")
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.until(*ENDS)
    await running.settle()
    hidden, shown = await Message.objects.aget(channel="analysis"), await Message.objects.aget(channel="final")
    own = await Conversation.objects.acreate(owner=bela)
    asks = [(ada, accepted["conversation"]), (bela, accepted["conversation"]), (bela, str(own.pk)), (bela, "nonsense")]
    fields = {"effort": "medium", "text": "And now?"} if command == "edit" else {"effort": "medium"}
    for person, conversation in [*asks, (grace, accepted["conversation"])]:
        async with BrowserSocket(person) as socket:
            for named in (uuid4(), shown.pk, hidden.pk):
                await socket.send(command, client_id=str(uuid4()), conversation=conversation, question=str(named), **fields)
                assert (await socket.next())["code"] == "E-X-NOT-FOUND"
    rows = [row async for row in AuditEvent.objects.order_by("number")]
    assert [(row.actor_name, row.code, row.action, str(row.conversation_id)) for row in rows] == [
        (name, "E-PERM-VISIBILITY", action, accepted["conversation"]) for name in ("ada", "bela")
    ], "not grace, who may see it elsewhere; further ones are counted"
    assert await database_sync_to_async(attempts.attempts_of)(bela) == 3


async def test_e_x_opt_in_a_permitted_person_must_opt_in_first(ada: User, grace: User) -> None:
    conversation = await Conversation.objects.acreate(owner=ada)
    async with BrowserSocket(grace) as socket:
        await socket.send("watch", conversation=str(conversation.pk))
        assert (await socket.next())["code"] == "E-X-OPT-IN"
    assert not await AuditEvent.objects.aexists()


async def test_without_an_audit_row_nothing_hidden_is_shown(
    ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await Conversation.objects.acreate(owner=ada)
    await open_debug_view(grace, str(conversation.pk))

    refuse_log(monkeypatch)
    async with BrowserSocket(grace) as watcher:
        await watcher.send("watch", conversation=str(conversation.pk))
        refused = await watcher.next()
    assert (refused["type"], refused["code"]) == ("chatui:refused", "E-X-INTERNAL")


async def test_hidden_text_is_not_sent_over_the_bus_without_watchers(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    original = type(bus.bus()).send

    def spy(to: Any, group: str, message: bus.Message, **more: Any) -> None:
        sent.append(json.dumps(message))
        original(to, group, message, **more)

    monkeypatch.setattr(type(bus.bus()), "send", spy)
    backend.script = answer("Shown.", thought="CANARY-BUS")
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        await socket.until(*ENDS, "chatui:idle")
    assert any("Shown." in message for message in sent), "the premise: visible text is sent over the bus"
    assert not any("CANARY" in message for message in sent)


async def test_two_tabs_see_the_same_turn(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer("Both of you.")]
    async with BrowserSocket(ada) as one, BrowserSocket(ada) as two:
        await one.send_message()
        accepted = (await one.until("chatui:accepted"))[-1]
        for tab in (one, two):
            await tab.send("subscribe", conversation=accepted["conversation"])
            await tab.until("chatui:snapshot")
        gate.set()
        assert shown_text(await one.until(*ENDS)) == shown_text(await two.until(*ENDS)) != ""
