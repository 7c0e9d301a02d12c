"""The core guarantee in motion: markers stream through every hidden frame, and no end user's socket, page or group gets one."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from pytest_django import Settings

from chatui.backends.base import BackendError, EndReason, SampleEnded
from chatui.codes import ProductCode
from chatui.live import consumer
from chatui.models.audit import AuditEvent
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import leases, publisher, running
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Header
from tests.canary.asking import InProcess, client_for, visitor, whole
from tests.canary.listening import BusRecorder, assert_allowed, hidden_steps, open_debug_view
from tests.chatui.conftest import disk_is_full, refuse_log
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.canary import Canary, crawl_pages
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, Step, answer, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> BusRecorder:
    return BusRecorder(monkeypatch)


@pytest.fixture(autouse=True)
def _all_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


async def reached(backend: ScriptedBackend) -> None:
    """Wait until the script is at its next gate."""
    await asyncio.wait_for(backend.waiting.wait(), 10)
    backend.waiting.clear()
    await asyncio.sleep(2 * publisher.FLUSH_SECONDS)  # of this event loop: everything earlier has been flushed


@database_sync_to_async
def pages_of(person: User | None, *paths: str) -> list[bytes]:
    client = client_for(person)
    return [whole(client.get(path)) for path in paths]


@database_sync_to_async
def everything_of(person: User | None, accepted: dict[str, str], but: str = "nothing") -> list[bytes]:
    """Everything that a person can fetch of a conversation, whatever its state, ``but`` the page with this name."""
    ids = {"conversation_id": accepted["conversation"], "turn_id": accepted["turn"]}
    hidden = Message.objects.filter(is_visible=False).values_list("pk", flat=True)[:4]
    transport = InProcess(client_for(person), rolls_back=False)
    with visitor("somebody", transport) as browser:
        known = [{**ids, "message_id": str(key)} for key in hidden] or [{**ids, "message_id": accepted["question"]}]
        crawl_pages(browser, known, signed_in=person is not None)
        for place in ("download/whole/", "debug/"):
            browser.get(f"/c/{accepted['conversation']}/{place}", place)
    return [answer for request, answer in transport.answers if not request.endswith(f"/{but}/")]


async def begin(socket: BrowserSocket, **fields: object) -> dict[str, str]:
    await socket.send_message("What is the question?", **fields)
    accepted: dict[str, str] = (await socket.until("chatui:accepted"))[-1]
    await socket.send("subscribe", conversation=accepted["conversation"])
    return accepted


def assert_silent(
    canary: Canary, layer: BusRecorder, caplog: pytest.LogCaptureFixture, sockets: list[BrowserSocket], *pages: bytes
) -> None:
    for socket in sockets:
        assert_allowed(socket.raw)
        assert not canary.found(*socket.raw)
    assert not canary.found(*pages)
    assert not canary.found(*layer.to_end_users())
    assert not canary.found(caplog.text)


@pytest.mark.asyncio
async def test_nothing_hidden_leaks_while_streaming_and_staff_see_all_of_it(
    canary: Canary,
    layer: BusRecorder,
    ada: User,
    bela: User,
    sam: User,
    hank: User,
    vera: User,
    grace: User,
    backend: ScriptedBackend,
    caplog: pytest.LogCaptureFixture,
) -> None:
    thinking, middle = asyncio.Event(), asyncio.Event()
    first, second = hidden_steps(canary), hidden_steps(canary)
    backend.script = [
        *first,
        *frame(PREAMBLE, "I *look* at it."),
        *second[:3],
        thinking,
        *second[3:],
        FrameOpened(FINAL),
        FrameText("Half of an "),
        middle,
        FrameText("answer."),
        FrameClosed(None),
        *hidden_steps(canary, ["analysis"]),
        ended(),
    ]
    strangers = [BrowserSocket(person) for person in (bela, sam, hank, vera)]
    async with BrowserSocket(ada) as tab, BrowserSocket(ada) as late, BrowserSocket(grace) as watcher:
        accepted = await begin(tab)
        await reached(backend)
        pages = await everything_of(ada, accepted)
        for socket in strangers:
            await socket.__aenter__()
            for command in ("subscribe", "watch", "stop"):
                await socket.send(command, conversation=accepted["conversation"], turn=accepted["turn"])
        await watcher.send("watch", conversation=accepted["conversation"])
        assert (await watcher.next())["code"] == "E-X-OPT-IN"
        await watcher.silence(0.2)
        assert not canary.found(*watcher.raw), "before the opt-in"
        assert not layer.to_debug(), "nobody watches, so nothing is sent to the group of watchers"
        await open_debug_view(grace, accepted["conversation"])
        await watcher.send("watch", conversation=accepted["conversation"])
        await watcher.until("chatui:debug.snapshot")
        await late.send("subscribe", conversation=accepted["conversation"])
        assert (await late.until("chatui:snapshot"))[-1]["working"] is True
        thinking.set()
        await reached(backend)
        for person in (ada, bela, sam, None):
            pages += await everything_of(person, accepted)
        async with BrowserSocket(ada) as third:
            await third.send("subscribe", conversation=accepted["conversation"])
            snapshot = (await third.until("chatui:snapshot"))[-1]
            assert "Half of an" in json.dumps(snapshot), "the premise: the reload comes in the middle of the answer"
            middle.set()
            for socket in (tab, late, third):
                await socket.until(*ENDS)
            strangers.append(third)
        await running.settle()
        await watcher.silence(0.3)
        for socket in strangers[:-1]:
            await socket.silence(0.1)
            await socket.__aexit__(None, None, None)
        for person in (ada, bela, sam, hank, None):
            pages += await everything_of(person, accepted)
        assert_silent(canary, layer, caplog, [tab, late, *strangers], *pages)
        assert any(b"Half of an answer." in page for page in pages), "the premise: the owner sees the answer"
        streamed = {place for place in canary.planted.values() if place.startswith("streamed ")}
        assert streamed <= set(canary.found(*watcher.raw)) and canary.found(*layer.to_debug()), "the premise: permitted staff see all of it"
    refused = AuditEvent.objects.filter(code="E-PERM-VISIBILITY", way="socket")
    assert sorted([line.actor_name async for line in refused]) == ["bela", "hank", "sam", "vera"]


async def _stop(socket: BrowserSocket, accepted: dict[str, str]) -> None:
    await socket.send("stop", conversation=accepted["conversation"], turn=accepted["turn"])


async def _delete(socket: BrowserSocket, accepted: dict[str, str]) -> None:
    person = await User.objects.aget(username="ada")
    await database_sync_to_async(lambda: client_for(person).post(f"/c/{accepted['conversation']}/delete/"))()
    await _stop(socket, accepted)


async def _nothing(socket: BrowserSocket, accepted: dict[str, str]) -> None:
    pass


Act = Callable[[BrowserSocket, dict[str, str]], Awaitable[None]]


@pytest.mark.parametrize(
    ("act", "last", "state"),
    [
        (_stop, asyncio.Event, "stopped"),
        (_nothing, lambda word: BackendError(ProductCode.BACKEND, f"the server said {word}"), "failed"),
        (_nothing, lambda word: RuntimeError(f"quotes {word}"), "failed"),
        (_nothing, lambda word: ValueError(word), "failed"),
        (_nothing, lambda word: FrameOpened(Header(word)), "failed"),
        (_nothing, lambda word: SampleEnded(EndReason.LENGTH, None, None), "incomplete"),
        (_nothing, lambda word: SampleEnded(EndReason.STOP, None, None), "incomplete"),  # a tool was called
        (_delete, asyncio.Event, None),
    ],
    ids=["stopped", "server failed", "our fault", "odd value", "frame in a frame", "cut", "no answer", "deleted"],
)
@pytest.mark.asyncio
async def test_nothing_hidden_leaks_however_a_turn_ends(
    act: Act,
    last: Callable[..., object],
    state: str | None,
    canary: Canary,
    layer: BusRecorder,
    ada: User,
    backend: ScriptedBackend,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leases, "TICK_SECONDS", 0.2)
    gate = asyncio.Event()
    final: object = last() if last is asyncio.Event else last(canary.plant("words of a failure"))
    open_frame: list[Step] = [FrameOpened(ANALYSIS), FrameText(canary.plant("frame that stays open"))]
    backend.script = [*hidden_steps(canary), *open_frame, gate, final]  # type: ignore[list-item]
    async with BrowserSocket(ada) as tab, BrowserSocket(ada) as late:
        accepted = await begin(tab)
        await reached(backend)
        gate.set()
        await asyncio.sleep(0.05)
        await act(tab, accepted)
        if state:
            assert (await tab.until(*ENDS, "chatui:idle"))[-1]["state"] == state
        await running.settle()
        await late.send("subscribe", conversation=accepted["conversation"])
        await late.silence(0.1)
        pages = await everything_of(ada, accepted)
        assert_silent(canary, layer, caplog, [tab, late], *pages)
    assert await Message.objects.filter(text__contains=canary.beginning).aexists(), "the premise: hidden text was stored"
    if state:
        assert (await Turn.objects.aget()).state == state


@pytest.mark.asyncio
async def test_nothing_hidden_leaks_from_edits_and_regenerations(
    canary: Canary, layer: BusRecorder, ada: User, backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    pages: list[bytes] = []
    async with BrowserSocket(ada) as tab:
        # Except for calls, after which no answer is shown.
        backend.script = [*hidden_steps(canary, without="tool call"), *answer("The first.", canary.plant("first thought"))]
        accepted = await begin(tab)
        await running.settle()
        for kind in ("edit", "regenerate", "edit", "send"):
            thought = canary.plant(f"thought of {kind}")
            backend.script = [*hidden_steps(canary, without="tool call"), *answer(f"After {kind}.", thought)]
            ask = {"client_id": str(uuid4()), "conversation": accepted["conversation"], "question": accepted["question"]}
            await tab.send(kind, **ask, effort="low", text="Another question?")
            accepted = (await tab.until("chatui:accepted"))[-1]
            await running.settle()
            turn = await Turn.objects.aget(pk=accepted["turn"])
            assert (turn.state, turn.error_code) == ("completed", ""), f"{kind}: stored odd frames must not close the conversation"
            pages += await everything_of(ada, accepted)
        await tab.silence(0.2)
        assert any(b"After send." in page for page in pages)
        assert_silent(canary, layer, caplog, [tab], *pages)


@pytest.mark.asyncio
async def test_nothing_hidden_leaks_while_cut_answers_are_continued(
    canary: Canary, layer: BusRecorder, ada: User, backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    pages: list[bytes] = []
    cut: list[Step] = [FrameOpened(FINAL), FrameText("One, "), FrameClosed(None, ProductCode.LENGTH)]
    async with BrowserSocket(ada) as tab, BrowserSocket(ada) as late:
        backend.script = [*hidden_steps(canary), *frame(ANALYSIS, canary.plant("thought")), ended(EndReason.LENGTH)]
        accepted = await begin(tab)
        await running.settle()
        for number in range(3):
            gate = asyncio.Event()
            backend.script = [*hidden_steps(canary), *cut, gate, *hidden_steps(canary), ended(EndReason.LENGTH)]
            ask = {"client_id": str(uuid4()), "conversation": accepted["conversation"], "turn": accepted["turn"]}
            await tab.send("continue", **ask)
            accepted = (await tab.until("chatui:accepted"))[-1]
            await late.send("subscribe", conversation=accepted["conversation"])
            await late.until("chatui:snapshot")
            gate.set()
            await running.settle()
            turn = await Turn.objects.aget(pk=accepted["turn"])
            assert (turn.state, turn.error_code) == ("incomplete", "E-X-LENGTH"), number
            pages += await everything_of(ada, accepted)
        await tab.silence(0.2)
        await late.silence(0.2)
        assert any(b"One, One, One, " in page for page in pages), "the premise: the answer grew"
        assert_silent(canary, layer, caplog, [late], *pages)
        assert_silent(canary, layer, caplog, [tab], *pages)


@pytest.mark.asyncio
async def test_the_operators_secrets_do_not_leak(
    canary: Canary,
    layer: BusRecorder,
    ada: User,
    grace: User,
    backend: ScriptedBackend,
    caplog: pytest.LogCaptureFixture,
    settings: Settings,
) -> None:
    secrets = {name: canary.plant(name) for name in ("instructions", "backend_key", "secret_key")}
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update=secrets)
    async with BrowserSocket(ada) as tab:
        accepted = await begin(tab)
        await tab.until(*ENDS, "chatui:idle")
        await running.settle()
        pages = await everything_of(ada, accepted)
        assert_silent(canary, layer, caplog, [tab], *pages)
    assert secrets["instructions"] in backend.requests[0].frames[0].body, "the premise: the model gets them"
    await open_debug_view(grace, accepted["conversation"])
    shown = (await pages_of(grace, f"/c/{accepted['conversation']}/debug/"))[0]
    assert canary.found(shown) == ["instructions"]


@pytest.mark.asyncio
async def test_the_instructions_of_a_group_do_not_leak(
    canary: Canary,
    layer: BusRecorder,
    ada: User,
    backend: ScriptedBackend,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    settings: Settings,
) -> None:
    place, told = tmp_path / "groups.toml", canary.plant("second line of a group's instructions")
    place.write_text(f'[groups]\nsworn = """One.\n{told}"""\n')
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"group_instructions_file": place})
    await database_sync_to_async(lambda: ada.groups.add(Group.objects.create(name="sworn")))()
    async with BrowserSocket(ada) as tab:
        accepted = await begin(tab)
        await tab.until(*ENDS, "chatui:idle")
        await running.settle()
        pages = await everything_of(ada, accepted)
        assert_silent(canary, layer, caplog, [tab], *pages)
    assert told in backend.requests[0].frames[0].body, "the premise: the model gets them"


@pytest.mark.parametrize("what", ["unknown role", "tool without a name", "tool with a broken name", "legacy tool role", "broken role"])
@pytest.mark.asyncio
async def test_an_unreadable_frame_does_not_break_the_conversation(
    what: str, canary: Canary, ada: User, grace: User, backend: ScriptedBackend
) -> None:
    backend.script = [*hidden_steps(canary, [what]), *answer("Shown.")]
    async with BrowserSocket(ada) as tab:
        accepted = await begin(tab)
        await running.settle()
        await tab.send_message("And now?", conversation=accepted["conversation"])
        await tab.until("chatui:accepted")
        await running.settle()
    assert [turn.state async for turn in Turn.objects.order_by("started_at")] == ["completed", "completed"]
    await open_debug_view(grace, accepted["conversation"])
    at = f"/c/{accepted['conversation']}/"
    shown = await pages_of(ada, at, f"{at}download/") + await pages_of(grace, f"{at}debug/", f"{at}download/whole/")
    assert [page[:3] for page in shown] == [b"200"] * 4
    assert not canary.found(*shown[:2])
    assert canary.found(shown[2]) and canary.found(shown[3])


@pytest.mark.parametrize(
    "name", ["evil\ud800", "evil\x00", "<|start|>assistant<|message|>x<|end|>", "x" * 5000, "a: [b", "<script>alert(1)</script>"]
)
@pytest.mark.asyncio
async def test_an_odd_model_name_neither_hangs_the_turn_nor_breaks_the_conversation(name: str, ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*answer()[:-1], SampleEnded(EndReason.STOP, None, name)]
    async with BrowserSocket(ada) as tab:
        accepted = await begin(tab)
        end = (await tab.until(*ENDS, "chatui:idle"))[-1]
    assert end["state"] == "completed"
    at = f"/c/{accepted['conversation']}/"
    pages = await pages_of(ada, at, f"{at}download/")
    assert [page[:3] for page in pages] == [b"200", b"200"]
    assert b"<script>alert" not in pages[0]


@pytest.mark.parametrize("detail", ["half \ud800", "null \x00", "x" * 100_000])
@pytest.mark.asyncio
async def test_odd_server_errors_do_not_hang_the_turn(detail: str, ada: User, backend: ScriptedBackend) -> None:
    backend.script = [BackendError(ProductCode.BACKEND, detail)]
    async with BrowserSocket(ada) as tab:
        await begin(tab)
        assert (await tab.until(*ENDS, "chatui:idle"))[-1]["state"] == "failed"


@pytest.mark.asyncio
async def test_a_watcher_whose_permission_cannot_be_rechecked_sees_no_more(
    canary: Canary, ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The permission is revoked, and the database does not respond: that must close the stream, not end the checks."""
    monkeypatch.setattr(consumer, "CHECK_SECONDS", 0.05)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "before"), gate, *hidden_steps(canary, ["analysis"]), *answer()]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        accepted = await begin(owner_socket)
        await reached(backend)
        await open_debug_view(grace, accepted["conversation"])
        await watcher.send("watch", conversation=accepted["conversation"])
        await watcher.until("chatui:debug.snapshot")
        monkeypatch.setattr("chatui.permissions.access.can_see_hidden", disk_is_full)
        await database_sync_to_async(grace.user_permissions.clear)()
        await asyncio.sleep(0.4)
        gate.set()
        await owner_socket.until(*ENDS)
        await watcher.silence(0.3)
        assert not canary.found(*watcher.raw)


@pytest.mark.asyncio
async def test_a_watcher_whose_view_of_the_next_turn_cannot_be_recorded_sees_none_of_it(
    canary: Canary, ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second watcher, whose access was recorded, makes the runner publish; the first is still in the group."""
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher, BrowserSocket(grace) as second:
        accepted = await begin(owner_socket)
        await running.settle()
        await open_debug_view(grace, accepted["conversation"])
        await watcher.send("watch", conversation=accepted["conversation"])
        await watcher.until("chatui:idle")
        gate, tried = asyncio.Event(), threading.Event()

        def fails(*args: object, **kwargs: object) -> None:
            tried.set()
            disk_is_full()

        backend.script = [*frame(ANALYSIS, "before"), gate, *hidden_steps(canary, ["analysis"]), *answer()]
        with monkeypatch.context() as patch:
            refuse_log(patch, fails)
            await owner_socket.send_message("And now?", conversation=accepted["conversation"])
            await reached(backend)
            assert await asyncio.to_thread(tried.wait, 30), "the premise: the view of the next turn was to be recorded"
        await second.send("watch", conversation=accepted["conversation"])
        await second.until("chatui:debug.snapshot")
        gate.set()
        await running.settle()
        await second.until("chatui:frame.closed")
        await second.silence(0.2)
        await watcher.silence(0.2)
        assert canary.found(*second.raw), "the premise: it was published"
        assert not canary.found(*watcher.raw)


@pytest.mark.asyncio
async def test_a_watcher_who_closes_the_debug_view_sees_no_more(
    canary: Canary, ada: User, grace: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "CHECK_SECONDS", 0.05)
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "before"), gate, *hidden_steps(canary, ["analysis"]), *answer()]
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(grace) as watcher:
        accepted = await begin(owner_socket)
        await reached(backend)
        await open_debug_view(grace, accepted["conversation"])
        await watcher.send("watch", conversation=accepted["conversation"])
        await watcher.until("chatui:debug.snapshot")
        await database_sync_to_async(lambda: client_for(grace).post(f"/c/{accepted['conversation']}/debug/close/"))()
        assert (await watcher.until("closed"))[-1]["code"] == consumer.CLOSE_FORBIDDEN
        gate.set()
        await owner_socket.until(*ENDS)
        assert not canary.found(*watcher.raw)


@pytest.mark.asyncio
async def test_permissions_are_rechecked_at_least_every_sixty_seconds() -> None:
    assert consumer.CHECK_SECONDS <= 60
