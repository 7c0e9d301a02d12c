"""A streaming debug view: it says why each frame is hidden, ends on time, and waits for a second person's approval."""

import asyncio
import json
import threading
from datetime import timedelta
from uuid import UUID

import pytest
import pytest_django
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group, Permission
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.live import snapshots
from chatui.models.audit import AttemptWarning, AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.keys import new_key
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import debug_requests
from chatui.turns import running
from chatui.wire.bus import audience as audience_group
from chatui.wire.bus import bus
from chatui.wire.bus import person as person_group
from renderer.gate import Audience
from tests.chatui.conftest import OPENING, PASSWORD, make_person, signed_in
from tests.support import page_queues
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.limits import set_limits
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)


@database_sync_to_async
def open_debug_view(person: User, conversation: str) -> None:
    debug_requests.open_debug_view(Visitor(person, "127.0.0.1", "page"), conversation, OPENING["reason"])


async def begin(socket: BrowserSocket) -> str:
    await socket.send_message()
    conversation: str = (await socket.until("chatui:accepted"))[-1]["conversation"]
    await socket.send("subscribe", conversation=conversation)
    return conversation


async def test_live_frames_say_why_they_are_hidden(ada: User, grace: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "first thought"), gate, *answer("Shown.", thought="second")]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        conversation = await begin(owner_socket)
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await open_debug_view(grace, conversation)
        await watcher.send("watch", conversation=conversation)
        (first,) = (await watcher.until("chatui:debug.snapshot"))[-1]["frames"]
        gate.set()
        await owner_socket.until(*ENDS)
        opened = [event for event in await watcher.silence(0.3) if event["type"] == "chatui:frame.opened"]
        assert "why_hidden" not in "".join(owner_socket.raw)
    assert "reasoning" in first["why_hidden"]
    assert [(event["header"]["channel"], "why_hidden" in event) for event in opened] == [("analysis", True), ("final", False)]


async def test_a_snapshot_after_the_view_was_left_is_dropped(ada: User) -> None:
    conversation = await Conversation.objects.acreate(owner=ada)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(conversation.pk))
        await socket.until("chatui:idle")
        for audience in (Audience.DEBUG, Audience.END_USER):
            snapshot = json.dumps([{"type": f"snapshot for {audience}"}])
            bus().send(person_group(ada.pk), {"type": "turn.snapshot", "audience": audience.value, "json": snapshot})
        assert [event["type"] for event in await socket.silence()] == [f"snapshot for {Audience.END_USER}"]


async def test_e_x_opt_in_an_expired_view_is_closed_while_it_streams(
    ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, "chatui.live", CHECK_SECONDS=0.05)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "before"), gate, *frame(ANALYSIS, "CANARY-AFTER"), *answer()]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        conversation = await begin(owner_socket)
        await open_debug_view(grace, conversation)
        await watcher.send("watch", conversation=conversation)
        await watcher.until("chatui:debug.snapshot")
        await watcher.silence(0.2)
        assert watcher.close_code is None, "the premise: while there is time, it continues"
        await DebugRequest.objects.aupdate(expires_at=timezone.now() - timedelta(seconds=1))
        events = await watcher.until("closed")
        gate.set()
        await owner_socket.until(*ENDS)
        assert events[-2]["code"] == "E-X-OPT-IN" and watcher.close_code == 4403
        assert "CANARY-AFTER" not in "".join(watcher.raw)


@pytest.mark.parametrize("way", ["account", "group", "group is deleted", "account is deleted"])
async def test_revoking_the_permission_in_the_admin_pages_ends_the_stream_at_once(way: str, ada: User, backend: ScriptedBackend) -> None:
    @database_sync_to_async
    def prepare() -> tuple[User, User, Group]:
        names = ("view_hidden_channels", "view_any_conversation")
        watching = make_person("vera", *(() if way.startswith("group") else names), staff=True)
        group = Group.objects.create(name="watchers")
        group.permissions.set(Permission.objects.filter(codename__in=names))
        if way.startswith("group"):
            watching.groups.add(group)
        return User.objects.get(pk=watching.pk), User.objects.create_superuser("root", password=PASSWORD), group

    @database_sync_to_async
    def take_back(root: User, person: User, group: Group) -> None:
        path, data = {
            "account": (f"people/{person.pk}/groups/", {"is_staff": "on"}),
            "group": (f"groups/{group.pk}/", {"name": group.name}),
            "group is deleted": (f"groups/{group.pk}/delete/", {}),
            "account is deleted": (f"people/{person.pk}/erase/", {"name": person.username}),
        }[way]
        assert signed_in(root).post(f"/manage/{path}", data).status_code in (200, 302)

    vera, root, group = await prepare()
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "before"), gate, *frame(ANALYSIS, "CANARY-AFTER"), *answer()]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(vera) as watcher:
        conversation = await begin(owner_socket)
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await open_debug_view(vera, conversation)
        await watcher.send("watch", conversation=conversation)
        await watcher.until("chatui:debug.snapshot")
        await take_back(root, vera, group)
        await watcher.until("closed")
        gate.set()
        await owner_socket.until(*ENDS)
        assert "CANARY-AFTER" not in "".join(watcher.raw)


async def test_nothing_is_streamed_until_the_request_is_approved(
    ada: User, grace: User, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"debug_approval": True})
    vera = await database_sync_to_async(make_person)("vera", "view_hidden_channels", "view_any_conversation", staff=True)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "CANARY-THOUGHT"), gate, *answer()]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        conversation = await begin(owner_socket)
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await open_debug_view(grace, conversation)
        await watcher.send("watch", conversation=conversation)
        assert (await watcher.next())["code"] == "E-X-OPT-IN"
        debug_request = await DebugRequest.objects.aget()
        decide = database_sync_to_async(debug_requests.decide)
        await decide(Visitor(vera, "127.0.0.1", "page"), conversation, debug_request.pk, approves=True)
        await watcher.send("watch", conversation=conversation)
        await watcher.until("chatui:debug.snapshot")
        assert "CANARY-THOUGHT" in watcher.raw[-1] and "CANARY-THOUGHT" not in watcher.raw[0]
        gate.set()
        await owner_socket.until(*ENDS)


@pytest.mark.parametrize("how", ["the regular check", "another turn", "a missing snapshot"])
async def test_a_permission_withdrawn_while_watching_closes_the_stream_and_is_no_attempt(
    how: str, ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, "chatui.live", CHECK_SECONDS=0.05 if how == "the regular check" else 600)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "hm"), gate, *frame(ANALYSIS, "CANARY-AFTER"), *answer()]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        await owner_socket.send_message()
        accepted = (await owner_socket.until("chatui:accepted"))[-1]
        await open_debug_view(grace, accepted["conversation"])
        if how == "a missing snapshot":
            monkeypatch.setattr(snapshots, "SNAPSHOT_SECONDS", 0.05)
            monkeypatch.setattr(running, "ask_snapshot", _no_snapshot)
        await watcher.send("watch", conversation=accepted["conversation"])
        if how == "a missing snapshot":
            await granted(1)
        else:
            await watcher.until("chatui:debug.snapshot", "chatui:idle")
        if how == "another turn":
            gate.set()
            await owner_socket.send("subscribe", conversation=accepted["conversation"])
            await owner_socket.until(*ENDS, "chatui:idle")
        await database_sync_to_async(grace.user_permissions.clear)()
        if how == "another turn":
            backend.script = answer()
            await owner_socket.send_message("And now?", conversation=accepted["conversation"])
        events = await watcher.until("closed")
        gate.set()
        assert events[-2]["code"] == "E-PERM-VISIBILITY" and watcher.close_code == 4403
        assert how == "another turn" or "CANARY-AFTER" not in "".join(watcher.raw)
    assert not await AuditEvent.objects.filter(code="E-PERM-VISIBILITY").aexists()


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_turn_that_begins_while_access_is_checked_is_not_missed(
    is_over: bool, ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, begun = threading.Event(), threading.Event()

    def wait() -> None:
        checked.set()
        begun.wait(20)

    page_queues.after_watch(monkeypatch, wait)
    gate = asyncio.Event()
    conversation = str((await Conversation.objects.acreate(owner=ada)).pk)
    await open_debug_view(grace, conversation)
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        await watcher.send("watch", conversation=conversation)
        await asyncio.to_thread(checked.wait, 20)
        backend.script = [*frame(ANALYSIS, "a thought"), gate, *answer()]
        await owner_socket.send_message("A question", conversation=conversation)
        await asyncio.wait_for(backend.waiting.wait(), 20)
        if is_over:
            gate.set()
            await owner_socket.until(*ENDS)
            while not await Turn.objects.filter(state=TurnState.COMPLETED).aexists():
                await asyncio.sleep(0.02)
        begun.set()
        last = (await watcher.until("chatui:debug.snapshot", "chatui:idle"))[-1]
        gate.set()
        assert last["turn"] == str((await Turn.objects.aget()).pk)
        assert is_over or [each["text"].strip() for each in last["frames"]] == ["a thought"]
        if not is_over:
            await owner_socket.until(*ENDS)


async def granted(streams: int) -> None:
    while (await CountedLine.objects.aget()).counts.get("debug stream", 0) < streams:
        await asyncio.sleep(0.02)


def _no_snapshot(*_: object) -> None:
    """The runner has ended."""


async def test_an_open_page_that_reconnects_after_revocation_raises_no_alarm(ada: User, grace: User) -> None:
    conversation = await Conversation.objects.acreate(owner=ada)
    await open_debug_view(grace, str(conversation.pk))
    await database_sync_to_async(grace.user_permissions.clear)()
    for _ in range(6):
        async with BrowserSocket(grace) as socket:
            await socket.send("watch", conversation=str(conversation.pk))
            assert (await socket.next())["code"] == "E-PERM-VISIBILITY"
    ways = [line.way async for line in AuditEvent.objects.filter(code="E-PERM-VISIBILITY")]
    assert ways == ["reconnect"] and not await AttemptWarning.objects.aexists()


async def test_streamed_turns_are_counted_in_one_access_notice(ada: User, grace: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        await owner_socket.send_message()
        accepted = (await owner_socket.until("chatui:accepted"))[-1]
        await owner_socket.send("subscribe", conversation=accepted["conversation"])
        await owner_socket.until(*ENDS, "chatui:idle")
        await open_debug_view(grace, accepted["conversation"])
        await watcher.send("watch", conversation=accepted["conversation"])
        await watcher.until("chatui:idle")
        gate = asyncio.Event()
        backend.script = [*frame(ANALYSIS, "second turn"), gate, *answer()]
        await owner_socket.send_message("And now?", conversation=accepted["conversation"])
        await watcher.until("chatui:debug.snapshot", "chatui:frame.closed")
        gate.set()
    assert (await CountedLine.objects.aget()).counts == {"debug stream": 2}
    assert [event.action async for event in AuditEvent.objects.all()] == ["open debug view"]


async def test_a_turn_streams_nothing_until_watching_it_is_recorded(ada: User, grace: User, backend: ScriptedBackend) -> None:
    backend.script = answer()
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        conversation = await begin(owner_socket)
        await owner_socket.until(*ENDS, "chatui:idle")
        await open_debug_view(grace, conversation)
        await watcher.send("watch", conversation=conversation)
        recorded = UUID((await watcher.until("chatui:idle"))[-1]["turn"])
        for turn in (new_key(), recorded):
            events = {"type": "turn.events", "turn": str(turn), "process": "", "json": json.dumps([{"type": str(turn)}])}
            bus().send(audience_group(UUID(conversation), Audience.DEBUG), events)
        assert [event["type"] for event in await watcher.silence()] == [str(recorded)]
