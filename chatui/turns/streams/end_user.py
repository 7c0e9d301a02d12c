"""Converts raw events into the numbered events that people may see.

Events are collected between flushes, and the publisher sends what was flushed. Text is rendered when it is flushed, a bounded amount each
time, and not at all while nobody watches.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from chatui import wire
from renderer.events import FrameClosed, RawEvent
from renderer.frame_kinds import is_json, is_preamble, is_tool_line
from renderer.frames import Header
from renderer.gate import Audience, Gate, VisibleClosed, VisibleDelta, VisibleOpened, VisibleText, VisibleWithdrawn, Working
from renderer.markup import html
from renderer.markup.citations import CitableSource
from renderer.markup.growing import STEP_CHARS, BlockClosed, BlockOpen, BlockPatched, GrowingMarkdown, MoreText, in_steps

_JOINED_CHARS = 256


def kind_of(header: Header) -> wire.PartKind:
    """The kind of a visible message."""
    return "tool" if is_tool_line(header) else "preamble" if is_preamble(header) else "final"


@dataclass
class OpenMessage:
    """A visible message that is being written. ``pages``: those that it may cite."""

    key: str
    kind: wire.PartKind
    pages: dict[int, CitableSource]
    is_json: bool

    @cached_property
    def markdown(self) -> GrowingMarkdown:
        """The message's text as it is shown. Made when somebody watches."""
        return GrowingMarkdown(self.pages, is_json=self.is_json)

    @property
    def delta(self) -> wire.DeltaType:
        return "response.delta" if self.kind == "final" else "chatui:preamble.delta"


@dataclass(slots=True)
class _Text:
    message: OpenMessage
    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class _End:
    message: OpenMessage
    closed: FrameClosed


@dataclass(frozen=True, slots=True)
class _Replacement:
    """The message that begins with the text of the cut one, and the cut one: their keys."""

    key: str
    cut: str


@dataclass(slots=True)
class _Thinking:
    """How long hidden work takes before the answer begins, over all rounds of the turn. Later hidden work does not count."""

    is_on: bool = False
    has_answer: bool = False
    seconds: int | None = None

    def work(self) -> None:
        self.is_on = not self.has_answer

    def answer(self, seconds: int) -> bool:
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


class EndUserStream:
    """The visible part of a running turn. Events are collected between two flushes, so nothing is sent per token."""

    def __init__(self, turn_id: UUID, first: int = 1, *, can_answer_now: bool = False) -> None:
        """``first``: the number of the first event. ``can_answer_now``: whether the person may end the thinking once."""
        self.pages: dict[int, CitableSource] = {}
        """The pages that the answer may cite, by cursor. Tools add more while the turn runs."""
        self.begins = False
        """Whether the first text of a message has arrived since the last flush."""
        self.waits_until: float | None = None
        self._has_opened = False
        self._can_answer_now = can_answer_now
        self._turn = str(turn_id)
        self._gate = Gate(Audience.END_USER)
        self._number = first - 1
        self._pending: list[wire.Event] = []
        """Events about the turn itself, which wait for no text."""
        self._waiting: deque[wire.Event | _Text | _End] = deque()
        self.done: list[wire.MessageSoFar] = []
        """The messages that have ended, as far as they are shown."""
        self._open: OpenMessage | None = None
        self._cut: str | None = None
        """The key of the cut message that the next answer replaces; None once pages have been told so."""
        self._cut_to_restore: wire.MessageSoFar | None = None
        """The cut message, if it is shown again when its replacement is withdrawn."""
        self._replacement: _Replacement | None = None
        """None until it opens."""
        self._working = False
        self._delay: wire.Delay | None = None
        self.place = 0
        """The turn's position in the queue; 0 if it is not queued."""
        self._files = 0
        self._waiting_calls = self._notices = self._waits_since = self._waited = 0
        self._asked: wire.SummaryLine | None = None
        self._steps: list[wire.SummaryLine] = []
        self._thinking = _Thinking()
        self._seconds_before = 0
        self._steps_before: tuple[wire.SummaryLine, ...] = ()

    def show_before(
        self,
        messages: Sequence[wire.MessageSoFar],
        cut: UUID | None,
        seconds: int = 0,
        steps: tuple[wire.SummaryLine, ...] = (),
        *,
        stays: bool = False,
    ) -> None:
        """Set the part of the continued answer that is already visible. ``cut``: the message that the next answer replaces; the first text
        event of that answer contains the whole text of this message. ``seconds``: its thinking time, and ``steps`` the lines of its
        summary, which are shown together with those of this turn. ``stays``: the cut message is shown again if that answer is withdrawn."""
        self.done += messages
        self._cut = str(cut) if cut else None
        self._cut_to_restore = next((each for each in messages if each.message_id == self._cut), None) if stays else None
        self._seconds_before, self._steps_before = seconds, steps

    def take(self, event: RawEvent, key: UUID, elapsed: int) -> None:
        """Collect a raw event of the frame ``key``, ``elapsed`` milliseconds after the turn began."""
        match self._gate.admit(event):
            case Working():
                self._thinking.work()
                self._show_working(elapsed)
            case VisibleOpened(header=header):
                self._begin(str(key), header, elapsed)
            case VisibleDelta(text=text) if self._open is not None:
                self.begins, self._has_opened = self.begins or self._has_opened, False
                self._add_text(self._open, text)
            case VisibleWithdrawn() if self._open is not None:
                self._withdraw(self._open, elapsed)
            case VisibleClosed(event=closed) if self._open is not None:
                self._waiting.append(_End(self._open, closed))
                self._open = None
                if closed.is_preamble_after_all:
                    self._thinking.go_on()

    def _begin(self, key: str, header: Header, elapsed: int) -> None:
        self._working, self._delay = False, None
        self._has_opened = True
        self._open = message = OpenMessage(key, kind_of(header), self.pages, is_json(header))
        if message.kind == "final":
            self._show_end_of_thinking(self._thinking.answer, elapsed)
            if self._cut is not None and self._replacement is None:
                self._replacement = _Replacement(key, self._cut)
        self._waiting.append(wire.MessageBegan(message.key, message.kind))

    def _add_text(self, message: OpenMessage, text: VisibleText) -> None:
        """Queue text, joined with the piece before it while both are short. The text before a cut stays separate."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, _Text) and last.message is message and self._cut is None and len(last.text) + len(text) <= _JOINED_CHARS:
            last.text = VisibleText.joined([last.text, text])
        elif len(text) <= STEP_CHARS:
            self._waiting.append(_Text(message, text))
        else:
            self._waiting.extend(_Text(message, step) for step in in_steps(text))

    def add_event(self, event: wire.Event) -> None:
        """Add an event about the turn itself. What the last ones say is also part of a snapshot."""
        self._pending.append(event)
        match event:
            case wire.Queued(place=place):
                self.place = place
            case wire.FilesCame(count=count):
                self._files = count
            case wire.Delayed(type=delay):
                self._delay = delay
            case wire.AskedFor(line=line):
                self._asked = line

    def step(self, line: wire.SummaryLine) -> None:
        """Add a line of the summary. It is dropped if the answer has begun."""
        if self._thinking.is_on:
            self._steps.append(line)
            self._waiting.append(wire.SummaryStep(line))

    @property
    def thought_seconds(self) -> int | None:
        """How long the model thought before the answer began; None if nothing was hidden, or it still thinks."""
        return self._thinking.seconds

    def end_thinking(self, elapsed: int) -> None:
        self._show_end_of_thinking(self._thinking.end, elapsed)

    def _show_end_of_thinking(self, end: Callable[[int], bool], elapsed: int) -> None:
        seconds = self._thought(elapsed)
        if end(seconds):
            self._waiting.append(wire.ThoughtEnded(self._seconds_before + seconds))

    def _thought(self, elapsed: int) -> int:
        """The seconds so far, without those in which calls waited for the person."""
        return round(max(0, elapsed - self._waited) / 1000)

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
        self._pending.append(wire.CallsWait(count, self._notices or None))

    def set_notices(self, count: int) -> None:
        """Set how many texts of tools' servers there are for the person."""
        self._notices = count
        self._pending.append(wire.CallsWait(self._waiting_calls, count))

    def flush(self, *, is_watched: bool = True, now: float = math.inf) -> list[wire.Numbered]:
        """New events since the last flush, numbered. At most STEP_CHARS of text are rendered: if ``has_unshown``, call this again after
        other turns had their time, and at ``waits_until``. Without ``is_watched``, text and everything after it waits unrendered, because
        nobody would read it. ``now``: in seconds; without it, no text waits for the open block to be rendered again."""
        self.begins, self.waits_until = False, None
        events, self._pending = self._pending, []
        room = STEP_CHARS if is_watched else 0
        while self._waiting and (room > 0 or not isinstance(self._waiting[0], _Text | _End)):
            match self._waiting.popleft():
                case _Text(message=message, text=text):
                    text = self._with_more_text(message, text)
                    room -= len(text)
                    events += self._show_text(message, text)
                case _End(message=message, closed=closed):
                    events += self._end_message(message, closed)
                case wire.MessageBegan(message_id=key, kind=kind) if self._cut not in (None, key) and kind != "preamble":
                    pass  # its first text begins it, in the place of the cut message
                case event:
                    events.append(event)
        if is_watched and self._open is not None and not self.has_unshown:
            events += _shown_tail(self._open, self._open.markdown.tail(now))
            self.waits_until = self._open.markdown.waits_until
        numbered = [wire.Numbered(self._turn, number, event) for number, event in enumerate(events, self._number + 1)]
        self._number += len(numbered)
        return numbered

    @property
    def has_unshown(self) -> bool:
        """Whether any text that arrived is not rendered yet."""
        return bool(self._waiting) and any(isinstance(each, _Text | _End) for each in self._waiting)

    @property
    def only_ends(self) -> bool:
        """Whether nothing arrived since the last flush but the end of a message, whose text has been shown."""
        return not self._pending and len(self._waiting) == 1 and isinstance(self._waiting[0], _End)

    def beat(self) -> wire.Beat:
        """An event that says that the turn is still running, with the latest sequence number."""
        return wire.Beat(self._turn, self._number)

    def named_documents(self) -> dict[int, CitableSource]:
        """The passages that the answer may name, by cursor. The right to them may have ended since they were found."""
        return {cursor: page for cursor, page in self.pages.items() if page.title and page.is_document}

    def snapshot(self, elapsed: int) -> wire.Snapshot:
        """The whole turn so far, for a page that joins late, without citations of passages that have no title any more. Call ``flush`` just
        before, until nothing is unshown."""
        messages = list(self.done)
        if self._open is not None:
            messages.append(wire.MessageSoFar(self._open.key, self._open.kind, self._open.markdown.html()))
        messages = list(map(self._permitted, messages))
        thinking = self._thinking
        is_working, is_over = self._working or thinking.is_on, thinking.seconds is not None
        thought = self._seconds_before + thinking.seconds if thinking.seconds is not None else None
        steps = (*(self._steps_before if is_over else ()), *self._steps)
        # A tool is the newest thing that people see.
        uses_tool = is_working and not self._working and bool(messages) and messages[-1].kind == "tool"
        return wire.Snapshot(
            self._turn,
            self._number,
            elapsed,
            is_working,
            steps,
            thought,
            tuple(messages),
            place=self.place,
            can_answer_now=self._can_answer_now and thinking.is_on,
            calls_wait=self._waiting_calls,
            files=self._files,
            delay=self._delay,
            asked=self._asked,
            uses_tool=uses_tool or None,
            told=self._notices or None,
        )

    def _show_working(self, elapsed: int) -> None:
        self._working, self._delay = True, None
        self._waiting.append(wire.WorkingBegan(elapsed, can_answer_now=self._can_answer_now and self._thinking.is_on))

    def _with_more_text(self, message: OpenMessage, text: VisibleText) -> VisibleText:
        """The text joined with the pieces that follow, so that small pieces are rendered together. The text before a cut stays separate."""
        parts, length = [text], len(text)
        while self._cut is None and self._waiting and isinstance(more := self._waiting[0], _Text) and more.message is message:
            length += len(more.text)
            if length > STEP_CHARS:
                break
            parts.append(more.text)
            self._waiting.popleft()
        return VisibleText.joined(parts) if len(parts) > 1 else text

    def _show_text(self, message: OpenMessage, text: VisibleText) -> list[wire.Event]:
        blocks = message.markdown.feed(text)
        if self._cut is None or message.kind != "final":
            return _shown_blocks(message, blocks)
        # The page has the closed blocks of the cut message already: only what was open at the cut is sent again.
        began = wire.MessageBegan(message.key, message.kind, self._cut, sum(isinstance(block, BlockClosed) for block in blocks))
        self._replace_cut()
        return [began]

    def _replace_cut(self) -> None:
        self.done = [done for done in self.done if done.message_id != self._cut]
        self._cut = None

    def _withdraw(self, message: OpenMessage, elapsed: int) -> None:
        """Withdraw the open message; pages remove what they already show of it."""
        self._open = None
        self._waiting = deque(each for each in self._waiting if not _is_of(message, each))
        self._waiting.append(wire.MessageWithdrawn(message.key))
        if message.kind == "final":
            self._thinking.go_on()
            if self._thinking.is_on:
                self._show_working(elapsed)
        if self._replacement is None or message.key != self._replacement.key:
            return
        if self._cut_to_restore:
            self._show_cut_again(self._cut_to_restore)
        else:
            # Pages that have not heard of the new message yet show the beginning of its text as the cut one.
            self._waiting.append(wire.MessageWithdrawn(self._replacement.cut))
            self._replace_cut()

    def _permitted(self, message: wire.MessageSoFar) -> wire.MessageSoFar:
        """The message without citations of passages that have no title any more."""
        if gone := {page.url for page in self.pages.values() if not page.title and page.is_document}:
            blocks = tuple(html.without_citations(block, gone) for block in message.blocks)
            return wire.MessageSoFar(message.message_id, message.kind, blocks)
        return message

    def _show_cut_again(self, cut: wire.MessageSoFar) -> None:
        """The next answer replaces it again. Pages that have not heard of the withdrawn one still show it."""
        self._replacement = None
        if self._cut is None:
            self._cut = cut.message_id
            self.done.append(cut)
            blocks = (wire.BlockFlushed(cut.message_id, index, block) for index, block in enumerate(self._permitted(cut).blocks))
            self._waiting.extend((wire.MessageBegan(cut.message_id, cut.kind), *blocks))

    def _end_message(self, message: OpenMessage, closed: FrameClosed) -> list[wire.Event]:
        events = _shown_blocks(message, message.markdown.finish(is_cut=closed.terminator is None))
        if closed.is_preamble_after_all:
            message.kind = "preamble"
            events.append(wire.MessageRelabelled(message.key, message.kind))
        self.done.append(wire.MessageSoFar(message.key, message.kind, message.markdown.html()))
        return events


def _is_of(message: OpenMessage, waiting: wire.Event | _Text | _End) -> bool:
    if isinstance(waiting, _Text | _End):
        return waiting.message is message
    return getattr(waiting, "message_id", None) == message.key


def _shown_blocks(message: OpenMessage, blocks: Sequence[BlockClosed | BlockPatched]) -> list[wire.Event]:
    return [wire.BlockFlushed(message.key, block.index, block.html) for block in blocks]


def _shown_tail(message: OpenMessage, tail: BlockOpen | MoreText | None) -> list[wire.Event]:
    match tail:
        case BlockOpen(index=index, html=block):
            return [wire.BlockReplaced(message.delta, message.key, index, block)]
        case MoreText(index=index, text=text):
            return [wire.BlockGrew(message.delta, message.key, index, text)]
    return []
