"""The queues of a socket: messages that arrive behind a slow command are bounded, and so is what waits for a slow page.

Closed sockets are no longer counted. Once a page that read slowly or not at all has caught up, it gets the current state.
"""

import asyncio
import gc
import json
import threading
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from chatui.live.page_socket import CHARS_A_COMMAND, COMMANDS_BURST, MAX_EVER, MAX_JOINED, MAX_UNREAD, TOO_FAST
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.turns import running
from chatui.wire.bus import PROCESS, audience, bus
from renderer.gate import Audience
from tests.chatui.database.locks import needs_sqlite, write_lock
from tests.support import page_queues
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.database import watch
from tests.support.limits import set_limits
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import ask, begin

CONVERSATION = "SELECT chatui_conversation."
"""How the statement begins that a page's subscription sends first."""


def sender(*texts: str) -> Any:
    messages = iter([{"type": "websocket.receive", "text": text} for text in texts])

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    return receive


def is_queued(text: str) -> bool:
    return False


async def take_all(queue: Any) -> list[str]:
    found = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            while True:
                found.append((await queue.next())["text"])
    queue.stop()
    return found


async def test_a_flood_becomes_one_message_and_the_rest_is_dropped() -> None:
    queue = page_queues.inbound(sender(*["{}"] * 5000), is_queued)
    assert await take_all(queue) == ["{}"] * int(COMMANDS_BURST) + [TOO_FAST]


async def test_a_long_message_counts_as_several() -> None:
    queue = page_queues.inbound(sender(*["x" * CHARS_A_COMMAND * 4] * 50), is_queued)
    assert len(await take_all(queue)) <= COMMANDS_BURST / 4


@pytest.mark.django_db(transaction=True)
async def test_commands_behind_a_slow_one_are_counted_on_arrival(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, tried = threading.Event(), 0

    def slow(_: object, sql: str) -> None:
        nonlocal tried
        if sql.startswith(CONVERSATION):
            tried += 1
            gate.wait(20)

    watch(monkeypatch, slow)
    async with BrowserSocket(ada) as socket:
        for _ in range(300):
            await socket.send_raw(json.dumps({"type": "subscribe", "conversation": str(uuid4())}) + " " * 1000)
        await asyncio.sleep(0.2)
        gate.set()
        events = await socket.until("closed")
    assert events[-2]["code"] == "E-X-RATE" and tried <= COMMANDS_BURST + 20, "few more than the burst"


@needs_sqlite
@pytest.mark.django_db(transaction=True)
async def test_the_connection_is_confirmed_while_a_question_waits_for_the_database(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = answer("Four.")
    monkeypatch.setattr(running, "ASK_PATIENCE", 2.0)
    async with BrowserSocket(ada) as socket:
        with write_lock():
            await socket.send_message()
            await socket.send(type="pong", number=0)
            for _ in range(3):
                await socket.send(type="probe")
                assert [event["type"] for event in await socket.until("chatui:alive", "chatui:refused")] == ["chatui:alive"]
            refused = (await socket.until("chatui:refused", "chatui:accepted"))[-1]
            assert refused["code"] == "E-X-SERVER-BUSY"
        await socket.send_message()
        await socket.until(*ENDS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_page_that_caught_up_while_it_opens_another_conversation_stays_in_that_one(
    is_refused: bool, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [await Conversation.objects.acreate(owner=ada, title=title) for title in ("first", "second")]
    begun = list[str]()
    arrived, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(_: object, sql: str) -> None:
        if sql.startswith(CONVERSATION):
            begun.append(sql)
            if len(begun) == 2:
                loop.call_soon_threadsafe(arrived.set)
                assert gate.wait(20)

    def publish(conversation: Conversation, text: str) -> None:
        events = {"type": "turn.events", "turn": str(uuid4()), "process": PROCESS, "json": json.dumps([{"type": text}])}
        bus().send(audience(conversation.pk, Audience.END_USER), events)

    watch(monkeypatch, slow)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(first.pk))
        await socket.until("chatui:idle")
        for _ in range(2):  # more than a page may have unread: it misses the second, and has caught up when it confirms the first
            publish(first, "x" * MAX_UNREAD)
        while not arrived.is_set():
            await socket.silence(0.1)
        await socket.send("subscribe", conversation=str(second.pk))
        assert (await socket.until("chatui:idle"))[-1]["conversation"] == str(second.pk)
        if is_refused:
            await Conversation.objects.filter(pk=first.pk).aupdate(deleted_at=timezone.now())
        gate.set()
        assert await socket.silence(0.3) == []
        publish(first, "of the first")
        publish(second, "of the second")
        assert [event["type"] for event in await socket.silence(0.3)] == ["of the second"]


@needs_sqlite
@pytest.mark.django_db(transaction=True)
async def test_a_refusal_that_nobody_waits_for_is_no_error(
    ada: User, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "ASK_PATIENCE", 0.3)
    known = asyncio.all_tasks()
    with write_lock():
        asking = asyncio.create_task(begin(ada, ask(text="Anybody?", effort="low")))
        await asyncio.sleep(0.05)
        asking.cancel()
        others = asyncio.all_tasks() - known
        done, _ = await asyncio.wait(others, timeout=20)
        assert len(done) == len(others)
    del asking, others, done
    gc.collect()
    assert "never retrieved" not in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["the handler fails", "the task is cancelled"])
async def test_a_closed_socket_is_no_longer_counted(fault: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise asyncio.CancelledError if fault == "the task is cancelled" else BaseException("out of the blue")

    page_queues.break_receive(monkeypatch, broken)
    set_limits(monkeypatch, "chatui.live", MAX_SOCKETS=1)
    socket = BrowserSocket(ada)
    await socket.__aenter__()
    async with BrowserSocket(ada) as refused:
        assert (await refused.until("closed"))[-2]["code"] == "E-X-TOO-MANY-PAGES", "the premise"
    await socket.send_raw("{}")
    with pytest.raises(BaseException, match=r".*"):
        await socket._communicator.wait(timeout=5)
    monkeypatch.undo()
    set_limits(monkeypatch, "chatui.live", MAX_SOCKETS=1)
    async with BrowserSocket(ada) as another:
        await another.send("subscribe", conversation=str(uuid4()))
        assert (await another.until("chatui:refused"))[-1]["code"] == "E-X-NOT-FOUND"


class Page:
    """Records what was sent to the page, and how often it was notified that it has caught up."""

    def __init__(self) -> None:
        self.frames: list[str] = []
        self.caught_up = 0
        self.given_up = 0
        self.outbox = page_queues.outbox(self._take, self._note, self._give_up)

    def _take(self, frame: str) -> None:
        self.frames.append(frame)

    def _note(self) -> None:
        self.caught_up += 1

    def _give_up(self) -> None:
        self.given_up += 1

    @property
    def pings(self) -> list[int]:
        return [event["number"] for frame in self.frames if frame.startswith('[{"type":"chatui:ping"') for event in json.loads(frame)]


async def test_replies_keep_their_order_and_those_of_one_step_share_a_frame() -> None:
    page = Page()
    for number in range(5):
        page.outbox.put(json.dumps([number, "x"]))
    assert page.frames == [], "the premise: others may follow in this step"
    await asyncio.sleep(0.01)
    page.outbox.put(json.dumps([5]))
    await asyncio.sleep(0.01)
    assert [json.loads(frame) for frame in page.frames] == [[0, "x", 1, "x", 2, "x", 3, "x", 4, "x"], [5]]


async def test_events_are_sent_in_the_step_that_made_them_with_the_replies_before_them() -> None:
    page = Page()
    page.outbox.put_events(json.dumps(["first"]))
    page.outbox.put(json.dumps(["accepted"]))
    page.outbox.put_events(json.dumps(["begun"]))
    page.outbox.put(json.dumps(["later"]))
    sent_at_once = [json.loads(frame) for frame in page.frames]
    await asyncio.sleep(0.01)
    assert sent_at_once == [["first"], ["accepted", "begun"]]
    assert [json.loads(frame) for frame in page.frames[2:]] == [["later"]]


async def test_long_frames_are_not_joined_with_others() -> None:
    page = Page()
    frames = [json.dumps([text]) for text in ("x" * MAX_JOINED, "short", "also", "y" * MAX_JOINED, "z" * (MAX_JOINED - 20), "w" * 20)]
    for frame in frames:
        page.outbox.put(frame)
    page.outbox.flush()
    assert [json.loads(frame) for frame in page.frames] == [
        json.loads(frames[0]),
        ["short", "also"],
        *(json.loads(frame) for frame in frames[3:]),
    ]


async def test_a_page_that_confirms_nothing_is_sent_a_bounded_amount() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
    assert sum(map(len, page.frames)) <= MAX_UNREAD // 2 + 11_000
    assert page.pings, "else it could never report that it has caught up"


async def test_a_page_that_keeps_up_also_gets_large_events_and_confirms_them() -> None:
    page = Page()
    page.outbox.put_events("x" * 3 * MAX_UNREAD)
    page.outbox.put_events("left out")
    assert len(page.frames[0]) == 3 * MAX_UNREAD and "left out" not in page.frames
    page.outbox.confirmed(page.pings[-1])
    assert page.caught_up == 1


async def test_a_page_that_asks_but_never_reads_is_dropped() -> None:
    page = Page()
    for _ in range(MAX_EVER // 100_000 + 2):
        page.outbox.put("x" * 100_000)
    assert page.given_up > 0


async def test_a_page_that_has_caught_up_is_told_once_and_gets_events_again() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
    page.outbox.confirmed(10)
    assert page.caught_up == 0, "nearly all of it is still unread"
    page.outbox.confirmed(page.pings[-1])
    page.outbox.confirmed(page.pings[-1])
    assert page.caught_up == 1
    page.outbox.put_events("new")
    assert page.frames[-1] == "new"


@pytest.mark.parametrize("number", [-5, 10**30])
async def test_an_unsent_number_confirms_no_more_than_was_sent(number: int) -> None:
    pages = [Page(), Page()]
    for page in pages:
        page.outbox.put("x" * 100)
        page.outbox.flush()
        page.outbox.confirmed(number if page is pages[0] else 0)
        for _ in range(200):
            page.outbox.put_events("x" * 10_000)
    told, untold = [sum(map(len, page.frames)) for page in pages]
    assert abs(told - untold) <= 10_100, "as much as a page gets that says nothing"


async def test_a_reply_is_sent_even_if_the_page_is_behind() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
    page.outbox.put('["reply"]')
    page.outbox.flush()
    assert json.loads(page.frames[-1])[-1] == "reply"
