"""Converts raw events into the numbered events that people may see.

Events are collected between flushes, and the publisher sends what was flushed. Text that takes long to render is handed out as a Rendering,
to be run in another thread. Later events wait for it, except withdrawals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from chatui import wire
from chatui.turns.streams.rendering import OpenMessage, Rendering
from renderer.events import FrameClosed, RawEvent
from renderer.frame_kinds import is_json, is_preamble, is_tool_line
from renderer.gate import Audience, Gate, VisibleClosed, VisibleDelta, VisibleEvent, VisibleOpened, VisibleText, VisibleWithdrawn, Working
from renderer.markup.citations import CitableSource
from renderer.markup.growing import STEP_CHARS, STEP_COST, BlockClosed, BlockPatched, GrowingMarkdown, MoreText, in_steps
from renderer.markup.tails import BlockOpen

_JOINED_CHARS = 256


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A visible event of the frame ``key``, ``elapsed`` milliseconds after the turn began; or a line of the summary."""

    event: VisibleEvent | wire.SummaryStep | _TurnOver
    key: str = ""
    elapsed: int = 0


@dataclass(slots=True)
class _Thinking:
    """How long hidden work takes before the answer begins, over all rounds of the turn. Later hidden work does not count."""

    is_on: bool = False
    has_answer: bool = False
    seconds: int | None = None

    def work(self) -> None:
        """Hidden work begins."""
        self.is_on = not self.has_answer

    def answer(self, seconds: int) -> bool:
        """The answer begins. Returns whether this ends the thinking."""
        self.has_answer = True
        return self.end(seconds)

    def end(self, seconds: int) -> bool:
        """The answer begins, or the turn ends. Returns whether this ends the thinking."""
        was_on, self.is_on = self.is_on, False
        if was_on:
            self.seconds = seconds
        return was_on

    def go_on(self) -> None:
        """What began as the answer is none. If there was any thinking before it, that goes on."""
        self.is_on, self.has_answer, self.seconds = self.is_on or self.seconds is not None, False, None


@dataclass(frozen=True, slots=True)
class _TurnOver:
    """The turn ends, and with it the thinking."""


class EndUserStream:
    """The visible part of a running turn. Events are collected between two flushes, so nothing is sent per token."""

    def __init__(self, turn_id: UUID, first: int = 1, *, can_answer_now: bool = False) -> None:
        """``first``: the number of the first event. ``can_answer_now``: whether the person may end the thinking once."""
        self.pages: dict[int, CitableSource] = {}
        """The pages that the answer may cite, by cursor. Tools add more while the turn runs."""
        self.begins = False
        """Whether the first text of a message has arrived since the last flush."""
        self._has_opened = False
        self._can_answer_now = can_answer_now
        self._turn = str(turn_id)
        self._key = ""
        self._gate = Gate(Audience.END_USER)
        self._number = first - 1
        self._pending: list[wire.Event] = []
        self._done: list[wire.MessageSoFar] = []
        self._open: OpenMessage | None = None
        self._arrived: deque[_Arrived] = deque()
        self._rendering: Rendering | None = None
        self._spent = 0
        self._cut: str | None = None
        self._joined: tuple[str, str] | None = None
        """The keys of the message that begins with the text of the cut one, and of the cut one; None until it opens."""
        self._working = self._is_checking = False
        self._place = self._files = 0
        self._waiting_calls = self._waits_since = self._waited = 0
        self._steps: list[wire.SummaryLine] = []
        self._arrived_thinking, self._thinking = _Thinking(), _Thinking()
        """The thinking as far as it has arrived, and as far as it is shown."""
        self._is_answering = False
        self._seconds_before = 0
        self._steps_before: tuple[wire.SummaryLine, ...] = ()

    def show_before(self, messages: Sequence[wire.MessageSoFar], cut: UUID | None) -> None:
        """Set the part of the continued answer that is already visible. ``cut``: the message that the next answer replaces; the first text
        event of that answer contains the whole text of this message."""
        self._done += messages
        self._cut = str(cut) if cut else None

    def add_thinking_before(self, seconds: int, steps: tuple[wire.SummaryLine, ...]) -> None:
        """Set the thinking time and the summary lines of the continued answer. They are shown together with those of this turn."""
        self._seconds_before = seconds
        self._steps_before = steps

    def take(self, event: RawEvent, key: UUID, elapsed: int) -> None:
        """Collect a raw event of the frame ``key``, ``elapsed`` milliseconds after the turn began."""
        admitted = self._gate.admit(event)
        if admitted is None:
            return
        self._count(admitted, elapsed)
        if isinstance(admitted, VisibleDelta):
            self.begins, self._has_opened = self.begins or self._has_opened, False
            if self._cut is None:
                self._take_text(admitted.text, self._key, elapsed)
                return
        elif isinstance(admitted, VisibleOpened):
            self._has_opened, self._key = True, str(key)
            if self._cut is not None and self._joined is None and not is_preamble(admitted.header):
                self._joined = (self._key, self._cut)
        elif isinstance(admitted, VisibleWithdrawn):
            self._withdraw(elapsed)
            return
        self._arrived.append(_Arrived(admitted, self._key, elapsed))

    def _take_text(self, text: VisibleText, key: str, elapsed: int) -> None:
        """Queue text, joined with the piece before it while both are short. If nobody watches, all text waits here."""
        last = self._arrived[-1] if self._arrived else None
        if (
            last is not None
            and last.key == key
            and isinstance(last.event, VisibleDelta)
            and len(last.event.text) + len(text) <= _JOINED_CHARS
        ):
            self._arrived[-1] = _Arrived(VisibleDelta(VisibleText.joined([last.event.text, text])), key, last.elapsed)
        else:
            self._arrived.extend(_Arrived(VisibleDelta(step), key, elapsed) for step in in_steps(text))

    def add_event(self, event: wire.Event) -> None:
        """Add an event about the turn itself."""
        self._pending.append(event)

    def set_checking(self) -> None:
        """The answer comes, and is shown once all of it was checked."""
        self._is_checking = True
        self._pending.append(wire.Checking())

    def step(self, line: wire.SummaryLine) -> None:
        """Add a line of the summary. It is dropped if the answer has begun."""
        self._arrived.append(_Arrived(wire.SummaryStep(line)))

    def set_position(self, place: int) -> bool:
        """Set the turn's position in the queue; 0 once it is no longer queued. Returns whether it has changed."""
        is_news, self._place = place != self._place, place
        if is_news:
            self._pending.append(wire.Queued(place))
        return is_news

    @property
    def thought_seconds(self) -> int | None:
        """How long the model thought before the answer began; None if nothing was hidden, or it still thinks."""
        return self._arrived_thinking.seconds

    def end_thinking(self, elapsed: int) -> None:
        """The turn ends, and with it the thinking."""
        self._arrived_thinking.end(self._thought(elapsed))
        if self.has_unshown:
            self._arrived.append(_Arrived(_TurnOver(), "", elapsed))
        else:
            self._show_end_of_thinking(self._thinking.end, elapsed)

    def _show_end_of_thinking(self, end: Callable[[int], bool], elapsed: int) -> None:
        seconds = self._thought(elapsed)
        if end(seconds):
            self._pending.append(wire.ThoughtEnded(self._seconds_before + seconds))

    def _thought(self, elapsed: int) -> int:
        """The seconds so far, without those in which calls waited for the person."""
        return round(max(0, elapsed - self._waited) / 1000)

    def _count(self, event: VisibleEvent, elapsed: int) -> None:
        """Count the thinking time from an event that arrives, whether or not it is shown."""
        match event:
            case Working():
                self._arrived_thinking.work()
            case VisibleOpened(header=header):
                self._is_answering = not is_preamble(header)
                if self._is_answering:
                    self._arrived_thinking.answer(self._thought(elapsed))
            case VisibleWithdrawn() if self._is_answering:
                self._arrived_thinking.go_on()
            case VisibleClosed(event=closed) if closed.is_preamble_after_all:
                self._arrived_thinking.go_on()

    def note_answer_now(self, elapsed: int) -> None:
        """The person has ended the thinking: every page removes the button."""
        self._can_answer_now = False
        self._pending.append(wire.WorkingBegan(elapsed, can_answer_now=False))

    def set_waiting_calls(self, count: int, elapsed: int) -> None:
        """Set how many calls wait for the person. The time that they take to decide does not count as thinking."""
        if count and not self._waiting_calls:
            self._waits_since = elapsed
        elif self._waiting_calls and not count:
            self._waited += elapsed - self._waits_since
        self._waiting_calls = count
        self._pending.append(wire.CallsWait(count))

    def set_files(self, count: int) -> None:
        """Set how many files there are for the person. Only the number is sent, never the files."""
        self._files = count
        self._pending.append(wire.FilesCame(count))

    def flush(self, *, is_watched: bool = True) -> list[wire.Numbered]:
        """All new events since the last flush, numbered. Call ``take_rendering`` afterwards. Without ``is_watched``, text and everything
        after it waits unrendered, because nobody would read it."""
        self.begins = False
        self._show_arrived(is_watched=is_watched)
        if is_watched and self._open is not None and self._rendering is None:
            self._show_tail(self._open, self._open.markdown.tail())
        pending, self._pending = self._pending, []
        numbered = [wire.Numbered(self._turn, self._number + offset, event) for offset, event in enumerate(pending, start=1)]
        self._number += len(numbered)
        return numbered

    @property
    def has_unshown(self) -> bool:
        """Whether anything that arrived is not rendered yet."""
        return self._rendering is not None or bool(self._arrived)

    @property
    def is_behind(self) -> bool:
        """Whether ``flush`` has not yet returned everything that arrived."""
        return self.has_unshown or bool(self._pending)

    @property
    def only_ends(self) -> bool:
        """Whether nothing arrived since the last flush but the end of a message, whose text has been shown."""
        is_alone = len(self._arrived) == 1 and not self._pending and self._rendering is None
        return is_alone and isinstance(self._arrived[0].event, VisibleClosed)

    def take_rendering(self) -> Rendering | None:
        """The work that another thread must do now; returned once. Until it is passed to ``rendered``, new events wait."""
        if self._rendering is None or self._rendering.is_handed_out:
            return None
        self._rendering.is_handed_out = True
        return self._rendering

    def rendered(self, done: Rendering) -> None:
        """Take back work from ``take_rendering`` that has run or failed; if it failed, the message stays as it was. Then call ``flush``."""
        if done is not self._rendering:
            return  # withdrawn meanwhile
        self._rendering = None
        if done.text is None:
            self._end_message(done.message, done.blocks, done.closed)
        else:
            self._show_fed(done.message, done.blocks)
            self._show_tail(done.message, done.tail)

    def shown(self) -> list[tuple[str, wire.PartKind]]:
        """The key and kind of each visible message that has ended."""
        return [(message.message_id, message.kind) for message in self._done]

    def beat(self) -> wire.Beat:
        """An event that says that the turn is still running, with the latest sequence number."""
        return wire.Beat(self._turn, self._number)

    def snapshot(self, elapsed: int) -> wire.Snapshot:
        """The whole turn so far, for a page that joins late. Call ``flush`` just before, so that the sequence numbers match."""
        messages = list(self._done)
        if self._open is not None:
            blocks = self._open.markdown.html() if self._rendering is None else self._rendering.before
            messages.append(wire.MessageSoFar(self._open.key, self._open.kind, blocks))
        thinking = self._thinking
        is_working, is_over = self._working or thinking.is_on, thinking.seconds is not None
        thought = self._seconds_before + thinking.seconds if thinking.seconds is not None else None
        steps = (*(self._steps_before if is_over else ()), *self._steps)
        can_answer_now, calls_wait = self._can_answer_now and thinking.is_on, self._waiting_calls
        checking = self._is_checking or None
        more = (tuple(messages), self._place, can_answer_now, calls_wait, self._files, checking)
        return wire.Snapshot(self._turn, self._number, elapsed, is_working, steps, thought, *more)

    def _show_arrived(self, *, is_watched: bool) -> None:
        """Show queued events until one takes too long to render here, by itself or together with those before it."""
        self._spent = 0
        while self._arrived and self._rendering is None:
            if not is_watched and isinstance(self._arrived[0].event, VisibleDelta):
                break
            arrived = self._arrived.popleft()
            self._show(arrived.event, arrived.key, arrived.elapsed)

    def _show(self, event: VisibleEvent | wire.SummaryStep | _TurnOver, key: str, elapsed: int) -> None:
        match event:
            case wire.SummaryStep():
                self._show_step(event)
            case _TurnOver():
                self._show_end_of_thinking(self._thinking.end, elapsed)
            case Working():
                self._thinking.work()
                self._show_working(elapsed)
            case VisibleOpened(header=header):
                markdown = GrowingMarkdown(self.pages, is_json=is_json(header))
                self._begin(OpenMessage(key, is_preamble(header), markdown, is_tool_line(header)), elapsed)
            case VisibleDelta(text=text) if self._open is not None:
                self._show_text(self._open, self._with_more_text(text))
            case VisibleClosed(event=closed) if self._open is not None:
                self._close(self._open, closed)

    def _show_step(self, step: wire.SummaryStep) -> None:
        if self._thinking.is_on:
            self._steps.append(step.line)
            self._pending.append(step)

    def _go_on_thinking(self, elapsed: int) -> None:
        self._thinking.go_on()
        if self._thinking.is_on:
            self._show_working(elapsed)

    def _show_working(self, elapsed: int) -> None:
        self._working, self._is_checking = True, False
        self._pending.append(wire.WorkingBegan(elapsed, can_answer_now=self._can_answer_now and self._thinking.is_on))

    def _begin(self, message: OpenMessage, elapsed: int) -> None:
        self._working = self._is_checking = False
        self._open = message
        if not message.preamble:
            self._show_end_of_thinking(self._thinking.answer, elapsed)
        if self._cut is None or message.preamble:
            self._pending.append(wire.MessageBegan(message.key, message.kind))

    def _with_more_text(self, text: VisibleText) -> VisibleText:
        """The text joined with the pieces that follow, so that small pieces are rendered together. The text before a cut stays separate."""
        parts, length = [text], len(text)
        while self._cut is None and self._arrived and isinstance(event := self._arrived[0].event, VisibleDelta):
            length += len(event.text)
            if length > STEP_CHARS:
                break
            parts.append(event.text)
            self._arrived.popleft()
        return VisibleText.joined(parts) if len(parts) > 1 else text

    def _is_handed_out(self, cost: int, message: OpenMessage, text: VisibleText | None, closed: FrameClosed | None = None) -> bool:
        """Add the cost of rendering to this step. If it is too high, hand the work out to another thread and return True."""
        self._spent += cost
        if self._spent <= STEP_COST:
            return False
        self._rendering = Rendering(message, text, closed, message.markdown.html())
        return True

    def _show_text(self, message: OpenMessage, text: VisibleText) -> None:
        if not self._is_handed_out(message.markdown.cost_to_feed(text), message, text):
            self._show_fed(message, message.markdown.feed(text))

    def _show_fed(self, message: OpenMessage, blocks: Sequence[BlockClosed | BlockPatched]) -> None:
        if self._cut is not None and not message.preamble:
            # The page has the closed blocks of the cut message already: only what was open at the cut is sent again.
            closed = sum(isinstance(block, BlockClosed) for block in blocks)
            self._pending.append(wire.MessageBegan(message.key, message.kind, self._cut, closed))
            self._replace_cut()
        else:
            self._show_blocks(message, blocks)

    def _show_blocks(self, message: OpenMessage, blocks: Sequence[BlockClosed | BlockPatched]) -> None:
        self._pending.extend(wire.BlockFlushed(message.key, block.index, block.html) for block in blocks)

    def _replace_cut(self) -> None:
        self._done = [done for done in self._done if done.message_id != self._cut]
        self._cut = None

    def _show_tail(self, message: OpenMessage, tail: BlockOpen | MoreText | None) -> None:
        match tail:
            case BlockOpen(index=index, html=block):
                self._pending.append(wire.BlockReplaced(message.delta, message.key, index, block))
            case MoreText(index=index, text=text):
                self._pending.append(wire.BlockGrew(message.delta, message.key, index, text))

    def _withdraw(self, elapsed: int) -> None:
        """Withdraw the message that was opened last; pages remove what they already show of it."""
        key, was_answer = self._drop_arrived(), False
        if key is None:
            if self._open is None:
                return
            key, was_answer, self._open, self._rendering = self._open.key, not self._open.preamble, None, None
        self._pending = [event for event in self._pending if getattr(event, "message_id", None) != key]
        self._pending.append(wire.MessageWithdrawn(key))
        if was_answer:
            self._go_on_thinking(elapsed)
        if self._joined and key == self._joined[0]:
            # Pages that have not heard of the new message yet show the beginning of its text as the cut one.
            self._pending.append(wire.MessageWithdrawn(self._joined[1]))
            self._replace_cut()

    def _drop_arrived(self) -> str | None:
        """Drop the queued events of the last message. Returns its key if none of its events was shown before."""
        dropped: list[_Arrived] = []
        remaining: list[_Arrived] = []
        while self._arrived and not (dropped and isinstance(dropped[-1].event, VisibleOpened)):
            arrived = self._arrived.pop()
            (dropped if isinstance(arrived.event, VisibleDelta | VisibleOpened) else remaining).append(arrived)
        self._arrived.extend(reversed(remaining))
        return dropped[-1].key if dropped and isinstance(dropped[-1].event, VisibleOpened) else None

    def _close(self, message: OpenMessage, closed: FrameClosed) -> None:
        if not self._is_handed_out(message.markdown.cost_to_finish(), message, None, closed):
            self._end_message(message, message.markdown.finish(is_cut=closed.terminator is None), closed)

    def _end_message(self, message: OpenMessage, blocks: Sequence[BlockClosed | BlockPatched], closed: FrameClosed | None) -> None:
        self._open = None
        self._show_blocks(message, blocks)
        if closed is not None and closed.is_preamble_after_all:
            message.preamble = True
            self._thinking.go_on()
            self._pending.append(wire.MessageRelabelled(message.key, message.kind))
        self._done.append(wire.MessageSoFar(message.key, message.kind, message.markdown.html()))
