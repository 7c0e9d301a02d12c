"""A turn that only an API program reads renders nothing for pages; a page that opens it at any time sees all of it."""

import asyncio
import json
import time
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from chatui import wire
from chatui.turns import publisher
from chatui.turns.publisher import Publisher
from chatui.turns.streams.program import ProgramStream
from chatui.wire import bus as wire_bus
from chatui.wire.bus import PROCESS, bus
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE
from renderer.frames import Header, Terminator
from renderer.gate import Audience
from renderer.markup.growing import GrowingMarkdown
from tests.support.recorded_frames import unstored

WORDS = [f"Some **words** of line {number}.\n\n" for number in range(50)]


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is rendered."""
    found: list[str] = []
    feed = GrowingMarkdown.feed

    def recorded(markdown: GrowingMarkdown, text: Any) -> Any:
        found.append(str(text))
        return feed(markdown, text)

    monkeypatch.setattr(GrowingMarkdown, "feed", recorded)
    return found


class Turn:
    """A turn that thinks, announces a plan and writes an answer."""

    def __init__(self, *, is_programs: bool = True) -> None:
        self.program = ProgramStream()
        running = unstored(program=SimpleNamespace(stream=self.program) if is_programs else None)
        self.conversation = running.turn.conversation_id
        self.publisher = Publisher(running)
        self.received: list[dict[str, Any]] = []

    async def think(self) -> None:
        self._take(ANALYSIS, ["Well"])
        await asyncio.sleep(0.1)
        self._take(PREAMBLE, ["A plan."])
        await asyncio.sleep(0.1)

    async def write(self, words: list[str], key: UUID) -> None:
        for word in words:
            self.publisher.take(FrameText(word), key)
            await asyncio.sleep(0)

    def _take(self, header: Header, words: list[str]) -> None:
        key = uuid4()
        written: list[RawEvent] = [FrameOpened(header), *map(FrameText, words), FrameClosed(Terminator.END)]
        for event in written:
            self.publisher.take(event, key)

    async def answer(self, *, joins: int | None = None) -> None:
        await self.think()
        key = uuid4()
        self.publisher.take(FrameOpened(ANSWER), key)
        for number, word in enumerate(WORDS):
            if number == joins:
                self.join()
            await self.write([word], key)
        self.publisher.take(FrameClosed(Terminator.RETURN), key)
        await asyncio.sleep(2 * publisher.FLUSH_SECONDS)

    def join(self) -> None:
        """Subscribe as a page does: join the group of its audience and request the snapshot."""
        group = wire_bus.audience(self.conversation, Audience.END_USER)
        bus().join(group, self._hear, elsewhere=False)
        bus().join("a page", self._hear, elsewhere=False)
        self.publisher.send_snapshot(Audience.END_USER, PROCESS, "a page")

    def _hear(self, group: str, message: Any) -> None:
        self.received += json.loads(message["json"])

    async def end(self) -> int | None:
        await self.publisher.catch_up()
        thought = self.publisher.end_thinking()
        self.publisher.stop()
        return thought


async def test_nothing_is_rendered_without_viewers_but_thinking_time_is_counted(rendered: list[str]) -> None:
    turn, twin = Turn(), Turn(is_programs=False)
    started = time.monotonic()
    for each in (turn, twin):
        each.publisher._started -= 5  # seconds
    await turn.answer()
    assert not turn.publisher.is_watched and await turn.end() in seconds_since(started, 5) and not rendered
    events = []
    while turn.program._waiting or turn.program._texts:
        events.append(await turn.program.next())
    assert "".join(str(getattr(event, "text", "")) for event in events) == "A plan." + "".join(WORDS)
    await twin.answer(joins=0)
    assert twin.publisher.is_watched and await twin.end() in seconds_since(started, 5)
    assert "Some" in "".join(rendered), "the twin: for a page all of it is"


def seconds_since(started: float, earlier: int) -> range:
    """Whole seconds since ``earlier`` seconds before ``started``: on a busy machine the test itself takes some."""
    return range(earlier, earlier + int(time.monotonic() - started) + 2)


@pytest.mark.parametrize("joins", [0, 25, 49])
async def test_a_viewer_sees_what_there_was_and_what_comes(joins: int) -> None:
    turn = Turn()
    await turn.answer(joins=joins)
    assert turn.publisher.is_watched
    await turn.end()
    received = json.dumps(turn.received)
    assert all(f"line {number}." in received for number in range(50)) and "A plan." in received and "Well" not in received


ENDED = wire.TurnEnded("response.completed", "completed", None, 1)


async def test_a_viewer_who_comes_after_the_answer_sees_it_whole() -> None:
    turn = Turn()
    await turn.answer()
    await turn.publisher.catch_up()
    turn.join()
    await turn.publisher.catch_up()
    assert turn.publisher.is_shown_whole
    turn.publisher.end(ENDED)
    turn.publisher.stop()
    received = json.dumps(turn.received)
    assert all(f"line {number}." in received for number in range(50)) and turn.received[-1]["type"] == "response.completed"


async def test_a_viewer_who_got_the_stored_answer_is_not_sent_it_again() -> None:
    turn = Turn()
    await turn.answer()
    await turn.publisher.catch_up()
    bus().join(wire_bus.audience(turn.conversation, Audience.END_USER), turn._hear, elsewhere=False)
    await turn.publisher.catch_up()
    assert not turn.publisher.is_shown_whole, "the part below the answer is not sent: the page fetches it together with the answer"
    turn.publisher.end(ENDED)
    await asyncio.sleep(2 * publisher.FLUSH_SECONDS)
    turn.publisher.stop()
    assert "line" not in json.dumps(turn.received) and turn.received[-1]["type"] == "response.completed"
