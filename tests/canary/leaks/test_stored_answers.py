"""The stored answer of a running turn, which pages of other processes get while Redis is away: nothing in it is hidden."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui import wire
from chatui.database.faults import DatabaseBusyError
from chatui.live import commands, snapshots, stored_answers
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.leases import FRESH, LEASE, Pieces
from chatui.turns.streams import stored as stored_module
from chatui.turns.streams.stored import messages_of, snapshot_of, stored_answer
from chatui.wire import bus as wire_bus
from chatui.wire.bus import bus
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import SUMMARY_NAME
from renderer.frames import Frame, Intent
from renderer.gate import Audience, show
from renderer.markup.growing import GrowingMarkdown
from tests.canary.leaks.test_streaming import begin, reached
from tests.canary.listening import assert_allowed, hidden_steps
from tests.support.browser_socket import BrowserSocket, shown_text
from tests.support.canary import Canary
from tests.support.scripted import FINAL, PREAMBLE, ScriptedBackend, frame
from tests.support.turns import ask, stored

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

OTHER = "another process"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SNAPSHOT_SECONDS", "MAX_SNAPSHOT_SECONDS", "STORED_SECONDS", "SHARE"):
        monkeypatch.setattr(snapshots, name, 0.05)
    monkeypatch.setattr(stored_answers, "SHARED_SECONDS", 0.02)


class Elsewhere:
    """A turn that another process runs, and what that process writes."""

    @classmethod
    async def begun(cls, person: User) -> "Elsewhere":
        return cls((await stored(person, ask(), OTHER)).turn)

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.conversation = str(turn.conversation_id)
        self._pieces = Pieces(turn.pk)

    @database_sync_to_async
    def write(self, *events: RawEvent, key: int = 7, age: timedelta = timedelta()) -> None:
        """Store these events of one frame, ``age`` ago."""
        for event in events:
            self._pieces.take(event, UUID(int=key))
        self.turn.pieces.bulk_create(self._pieces.rows())
        Turn.objects.filter(pk=self.turn.pk).update(lease_until=timezone.now() + LEASE - age)

    @database_sync_to_async
    def store(self, key: int, text: str, *, is_visible: bool, **columns: object) -> None:
        """Store a message of the turn."""
        question = self.turn.question
        place = {"turn": self.turn, "parent": question, "position": question.position + key, "role": "assistant"}
        Message.objects.create(pk=UUID(int=key), conversation=self.turn.conversation, text=text, is_visible=is_visible, **place, **columns)

    @database_sync_to_async
    def end(self) -> None:
        Turn.objects.filter(pk=self.turn.pk).update(state="completed")


async def read(turn: UUID | str) -> str:
    """What a page would get; empty if nothing."""
    answer = await database_sync_to_async(stored_answer)(UUID(str(turn)))
    return wire.encode([await snapshot_of(answer)]) if answer is not None and answer.frames else ""


async def until_read(turn: str, wanted: str) -> str:
    """Read again until it contains ``wanted``, as the process stores its text once a second."""
    async with asyncio.timeout(20):
        while wanted not in (text := await read(turn)):
            await asyncio.sleep(0.05)
    return text


@pytest.mark.asyncio
async def test_hidden_frames_are_not_in_it_whether_open_or_stored(canary: Canary, ada: User, backend: ScriptedBackend) -> None:
    thinking, middle = asyncio.Event(), asyncio.Event()
    backend.script = [
        *(*hidden_steps(canary), *frame(PREAMBLE, "I *look* at it."), *hidden_steps(canary)[:3], thinking, *hidden_steps(canary)[3:]),
        *(FrameOpened(FINAL), FrameText("Half of *an"), middle, FrameText(" answer*."), FrameClosed(None)),
    ]
    async with BrowserSocket(ada) as socket:
        turn = (await begin(socket))["turn"]
        await reached(backend)
        before = await until_read(turn, "look")
        assert '"working":true' in before and not canary.found(before)
        thinking.set()
        await reached(backend)
        text = await until_read(turn, "Half of")
        assert "look" in text and not canary.found(text)
        assert_allowed([before, text])
        middle.set()
        await running.settle()
    assert await read(turn) == "", "the turn has ended, and is read as any other"


@pytest.mark.asyncio
async def test_withdrawn_text_is_not_in_it(canary: Canary, ada: User) -> None:
    turn = await Elsewhere.begun(ada)
    marker = canary.plant("withdrawn text")
    await turn.write(FrameOpened(FINAL), FrameText(marker), FrameWithdrawn(), FrameText(f"more of {marker}"))
    assert await read(turn.turn.pk) == ""


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("is_closed", [False, True])
async def test_text_that_is_withdrawn_disappears_from_the_pages_that_show_it(is_closed: bool, canary: Canary, ada: User) -> None:
    turn = await Elsewhere.begun(ada)
    marker = canary.plant("withdrawn text")
    await turn.write(FrameOpened(PREAMBLE), FrameText("I look."), key=5)
    await turn.write(FrameOpened(FINAL), FrameText(marker))
    async with BrowserSocket(ada) as shown, BrowserSocket(ada) as other:
        await shown.send("subscribe", conversation=turn.conversation)
        assert canary.found(shown_text(await shown.until("chatui:snapshot"))), "the premise"
        if is_closed:
            await turn.store(7, marker, is_visible=False, channel="analysis", intent=Intent.DEBUG)
        else:
            await turn.write(FrameWithdrawn())
        # The second page may show it, too: it has it from the time before Redis was away.
        await other.send("subscribe", conversation=turn.conversation)
        for socket in (shown, other):
            after = (await socket.until("chatui:snapshot"))[-1]
            assert "I look." in shown_text([after]) and not canary.found(str(after)) and after["working"]


@pytest.mark.asyncio
async def test_text_of_a_frame_that_was_stored_hidden_is_not_in_it(canary: Canary, ada: User) -> None:
    """The pieces are read just before the frame is stored under the header that hides it."""
    turn = await Elsewhere.begun(ada)
    marker = canary.plant("hidden after all")
    await turn.write(FrameOpened(FINAL), FrameText(marker))
    assert marker in await read(turn.turn.pk), "the premise"
    await turn.store(7, marker, is_visible=False, channel="analysis")
    assert await read(turn.turn.pk) == ""


@pytest.mark.asyncio
async def test_text_that_may_be_old_is_not_shown(ada: User) -> None:
    """Its process may have withdrawn it since, and could not write that."""
    turn = await Elsewhere.begun(ada)
    await turn.write(FrameOpened(FINAL), FrameText("shown"), age=FRESH / 2)
    assert "shown" in await read(turn.turn.pk)
    await turn.write(age=FRESH * 2)
    assert await read(turn.turn.pk) == ""


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_a_page_is_not_sent_less_than_it_has_heard_of(ada: User) -> None:
    turn = await Elsewhere.begun(ada)
    await turn.write(FrameOpened(FINAL), FrameText("One two"), age=timedelta(seconds=1))
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=turn.conversation)
        await socket.until("chatui:snapshot")
        heard = {"type": "turn.events", "turn": str(turn.turn.pk), "process": OTHER, "json": "[]"}
        bus().send(wire_bus.audience(turn.turn.conversation_id, Audience.END_USER), heard)
        await turn.write(age=timedelta(seconds=0.2))
        await asyncio.sleep(snapshots.SILENT_SECONDS)
        assert await socket.silence(0.5) == []
        await turn.write(FrameText(" three"))
        assert "One two three" in shown_text([(await socket.until("chatui:snapshot"))[-1]])


@pytest.mark.asyncio
async def test_the_summary_is_not_part_of_the_answer(ada: User) -> None:
    turn = await Elsewhere.begun(ada)
    await turn.store(3, "- Looked at it", is_visible=True, channel="commentary", intent=Intent.PREAMBLE, name=SUMMARY_NAME)
    await turn.write(FrameOpened(FINAL), FrameText("Four."))
    text = await read(turn.turn.pk)
    assert "Four." in text and "Looked" not in text


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_a_page_without_a_reply_gets_what_is_stored_again_when_there_is_more(ada: User) -> None:
    turn = await Elsewhere.begun(ada)
    await turn.write(FrameOpened(FINAL), FrameText("One two"))
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=turn.conversation)
        first = (await socket.until("chatui:snapshot"))[-1]
        assert first["sequence_number"] < 0 and "One two</p>" in shown_text([first])
        assert await socket.silence(0.5) == [], "nothing is sent twice"
        await turn.write(FrameText(" three"))
        assert "One two three</p>" in shown_text([(await socket.until("chatui:snapshot"))[-1]])
        await turn.end()
        assert (await socket.until("chatui:idle"))[-1]["state"] == "completed"


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_nobody_else_gets_it(ada: User, bela: User) -> None:
    turn = await Elsewhere.begun(ada)
    await turn.write(FrameOpened(FINAL), FrameText("One two"))
    async with BrowserSocket(bela) as socket:
        await socket.send("subscribe", conversation=turn.conversation)
        assert (await socket.until("chatui:refused"))[-1]["code"] == "E-X-NOT-FOUND"
        assert await socket.silence(0.5) == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_nobody_gets_more_while_their_access_cannot_be_checked(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = await Elsewhere.begun(ada)
    await turn.write(FrameOpened(FINAL), FrameText("One two"))
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=turn.conversation)
        await socket.until("chatui:snapshot")

        def busy(*_: object) -> object:
            raise DatabaseBusyError

        monkeypatch.setattr(commands, "subscribe", busy)
        await socket.silence(0.2)  # a check that was running
        await turn.write(FrameText(" three"))
        assert await socket.silence(1) == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_an_error_is_logged_by_its_kind_and_the_page_learns_of_the_end(
    ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> object:
        raise ValueError("what the model wrote")

    monkeypatch.setattr(stored_module, "stored_answer", broken)
    turn = await Elsewhere.begun(ada)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=turn.conversation)
        assert await socket.silence(0.5) == []
        await turn.end()
        await socket.until("chatui:idle")
    assert "ValueError" in caplog.text and "the model wrote" not in caplog.text


@pytest.mark.asyncio
@pytest.mark.usefixtures("hasty")
async def test_sockets_share_what_one_has_read(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_answers, "SHARED_SECONDS", 60)
    reads: list[object] = []

    def counted(read: Callable[[UUID], object], turn_id: UUID) -> object:
        reads.append(turn_id)
        return read(turn_id)

    monkeypatch.setattr(stored_module, "stored_answer", lambda turn_id: counted(stored_answer, turn_id))
    turn = await Elsewhere.begun(ada)
    await turn.write(FrameOpened(FINAL), FrameText("One two"))
    async with BrowserSocket(ada) as one, BrowserSocket(ada) as two:
        for socket in (one, two):
            await socket.send("subscribe", conversation=turn.conversation)
        for socket in (one, two):
            await socket.until("chatui:snapshot")
    assert len(reads) == 1


def test_text_that_is_being_written_looks_as_in_the_stream() -> None:
    text = "A **bold** [link](https://example.org/x) `code` 【1†L3-L4】\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- **two** $$x^2$$ end."
    for length in range(1, len(text) + 1):
        growing, whole = GrowingMarkdown({}), Frame(FINAL, text[:length])
        for place in range(length):
            growing.feed(show(Frame(FINAL, text[place : place + 1]), Audience.END_USER))
        growing.tail()
        [message] = messages_of([(UUID(int=1), whole)], None, {}, {UUID(int=1)})
        assert message.blocks == growing.html(), text[:length]
