"""Turns raw events into the numbered events that each audience may see.

An EndUserStream and a DebugStream take the same raw events; each has a gate of its own, and collects events between flushes. Neither does
any I/O: the publisher sends what they flushed to the group of their audience.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from chatui import wire
from renderer.events import RawEvent
from renderer.frame_kinds import is_preamble
from renderer.frames import Frame
from renderer.gate import (
    Audience,
    Gate,
    VisibleClosed,
    VisibleDelta,
    VisibleEvent,
    VisibleOpened,
    VisibleText,
    VisibleWithdrawn,
    Working,
    show,
    why_hidden,
)
from renderer.markup import html
from renderer.markup.blocks import BlockClosed, BlockOpen, BlockPatched
from renderer.markup.growing import GrowingMarkdown, MoreText


@dataclass(slots=True)
class _OpenMessage:
    key: str
    preamble: bool
    markdown: GrowingMarkdown

    @property
    def delta(self) -> wire.DeltaType:
        return "chatui:preamble.delta" if self.preamble else "response.delta"

    @property
    def kind(self) -> wire.PartKind:
        return "preamble" if self.preamble else "final"


class EndUserStream:
    """What people see of a running turn. Events are collected between two flushes, so nothing is sent per token."""

    def __init__(self, turn_id: UUID) -> None:
        self._turn = str(turn_id)
        self._gate = Gate(Audience.END_USER)
        self._number = 0
        self._pending: list[wire.Event] = []
        self._done: list[wire.MessageSoFar] = []
        self._open: _OpenMessage | None = None
        self._cut: str | None = None
        self._working = False
        self._place = 0
        self._steps: list[VisibleText] = []
        self._is_thinking = self._has_answer = False
        self.thought_seconds: int | None = None

    def show_before(self, frames: Sequence[tuple[UUID, Frame]], cut: UUID | None) -> None:
        """What is already shown of the answer that the turn continues. ``cut``: the message that the next answer replaces; the first text
        of that answer is the whole text of this message."""
        for key, frame in frames:
            kind: wire.PartKind = "preamble" if is_preamble(frame.header) else "final"
            self._done.append(wire.MessageSoFar(str(key), kind, html.render_blocks(show(frame, Audience.END_USER))))
        self._cut = str(cut) if cut else None

    def take(self, event: RawEvent, key: UUID, elapsed: int) -> None:
        """A raw event of the frame ``key``, ``elapsed`` milliseconds after the turn began."""
        admitted = self._gate.admit(event)
        if admitted is not None:
            self._show(admitted, str(key), elapsed)

    def add_event(self, event: wire.Event) -> None:
        """An event of the turn itself."""
        self._pending.append(event)

    def step(self, text: VisibleText) -> None:
        """One more line of the summary. Dropped once the answer has begun."""
        if self._is_thinking:
            self._steps.append(text)
            self._pending.append(wire.SummaryStep(text))

    def queue(self, place: int) -> bool:
        """The turn's place in the queue, 0 once it is not in it. Returns whether that is news."""
        is_news, self._place = place != self._place, place
        if is_news:
            self._pending.append(wire.Queued(place))
        return is_news

    def end_thinking(self, elapsed: int) -> None:
        """The answer begins, or the turn ends. Later hidden work is not counted."""
        if self._is_thinking:
            self._is_thinking = False
            self.thought_seconds = round(elapsed / 1000)
            self._pending.append(wire.ThoughtEnded(self.thought_seconds))

    def flush(self) -> list[wire.Numbered]:
        """Everything new since the last flush, numbered."""
        if self._open is not None:
            self._show_tail(self._open)
        pending, self._pending = self._pending, []
        numbered = [wire.Numbered(self._turn, self._number + offset, event) for offset, event in enumerate(pending, start=1)]
        self._number += len(numbered)
        return numbered

    def shown(self) -> list[tuple[str, wire.PartKind]]:
        """The key and kind of each message that pages show, once all have ended."""
        return [(message.message_id, message.kind) for message in self._done]

    def beat(self) -> wire.Beat:
        """That the turn still runs, and the latest number."""
        return wire.Beat(self._turn, self._number)

    def snapshot(self, elapsed: int) -> wire.Snapshot:
        """The whole turn so far, for a page that joins late. Flush right before, so that the sequence numbers fit."""
        messages = list(self._done)
        if self._open is not None:
            messages.append(wire.MessageSoFar(self._open.key, self._open.kind, self._open.markdown.html()))
        steps = tuple(self._steps)
        return wire.Snapshot(self._turn, self._number, elapsed, self._working, steps, self.thought_seconds, tuple(messages), self._place)

    def _show(self, event: VisibleEvent, key: str, elapsed: int) -> None:
        match event:
            case Working():
                self._working = True
                self._is_thinking = self.thought_seconds is None and not self._has_answer
                self._pending.append(wire.WorkingBegan(elapsed))
            case VisibleOpened(header=header):
                self._begin(_OpenMessage(key, is_preamble(header), GrowingMarkdown()), elapsed)
            case VisibleDelta(text=text):
                if self._open is not None:
                    self._show_text(self._open, text)
            case VisibleWithdrawn():
                self._withdraw()
            case VisibleClosed(event=closed):
                self._close(closed.is_preamble_after_all)

    def _begin(self, message: _OpenMessage, elapsed: int) -> None:
        self._working = False
        self._open = message
        if not message.preamble:
            self._has_answer = True
            self.end_thinking(elapsed)
        if self._cut is None or message.preamble:
            self._pending.append(wire.MessageBegan(message.key, message.kind))

    def _show_text(self, message: _OpenMessage, text: VisibleText) -> None:
        blocks = message.markdown.feed(text)
        if self._cut is None or message.preamble:
            self._show_blocks(message, blocks)
            return
        # The page has the closed blocks of the cut message already: only what was open at the cut is sent again.
        closed = sum(isinstance(block, BlockClosed) for block in blocks)
        self._pending.append(wire.MessageBegan(message.key, message.kind, self._cut, closed))
        self._done = [done for done in self._done if done.message_id != self._cut]
        self._cut = None

    def _show_blocks(self, message: _OpenMessage, blocks: Sequence[BlockClosed | BlockPatched]) -> None:
        self._pending.extend(wire.BlockFlushed(message.key, block.index, block.html) for block in blocks)

    def _show_tail(self, message: _OpenMessage) -> None:
        match message.markdown.tail():
            case BlockOpen(index=index, html=block):
                self._pending.append(wire.BlockReplaced(message.delta, message.key, index, block))
            case MoreText(index=index, text=text):
                self._pending.append(wire.BlockGrew(message.delta, message.key, index, text))

    def _withdraw(self) -> None:
        """No more of the open message is sent, and pages remove what they have of it."""
        if self._open is None:
            return
        key, self._open = self._open.key, None
        self._pending = [event for event in self._pending if getattr(event, "message_id", None) != key]
        self._pending.append(wire.MessageWithdrawn(key))

    def _close(self, is_preamble_after_all: bool) -> None:
        if self._open is None:
            return
        message, self._open = self._open, None
        self._show_blocks(message, message.markdown.finish())
        if is_preamble_after_all:
            message.preamble = True
            self._pending.append(wire.MessageRelabelled(message.key, message.kind))
        self._done.append(wire.MessageSoFar(message.key, message.kind, message.markdown.html()))


class DebugStream:
    """Every frame of a running turn, with its header, as text. Collected throughout the turn; published only while someone watches."""

    def __init__(self, turn_id: UUID) -> None:
        self._turn = str(turn_id)
        self._gate = Gate(Audience.DEBUG)
        self._number = 0
        self._frames: list[_DebugFrame] = []
        self._pending: list[wire.Event] = []
        self._unsent: list[VisibleText] = []

    def take(self, event: RawEvent, key: UUID) -> None:
        """A raw event of the frame ``key``."""
        match self._gate.admit(event):
            case VisibleOpened(header=header):
                why = why_hidden(header)
                self._frames.append(_DebugFrame(str(key), header.as_written(), why, []))
                self._pending.append(wire.FrameBegan(str(key), header.as_written(), why))
            case VisibleDelta(text=text):
                self._unsent.append(text)
            case VisibleWithdrawn(header=header):
                self._push_text()
                frame = self._frames[-1]
                frame.header, frame.why_hidden = header.as_written(), why_hidden(header)
                self._pending.append(wire.FrameHidden(str(key), frame.header, frame.why_hidden))
            case VisibleClosed(event=closed):
                self._push_text()
                self._frames[-1].is_open = False
                terminator = closed.terminator.value if closed.terminator else None
                if closed.header is not None:
                    self._frames[-1].header = closed.header.as_written()
                self._pending.append(wire.FrameEnded(str(key), terminator, closed.error.value if closed.error else None))

    def flush(self) -> list[wire.Numbered]:
        """Everything new since the last flush, numbered. Also called while nobody watches, so that little accumulates."""
        self._push_text()
        pending, self._pending = self._pending, []
        numbered = [wire.Numbered(self._turn, self._number + offset, event) for offset, event in enumerate(pending, start=1)]
        self._number += len(numbered)
        return numbered

    def snapshot(self) -> wire.DebugSnapshot:
        """Every frame so far. Flush right before, so that the sequence numbers fit."""
        frames = tuple(
            wire.FrameSoFar(frame.key, frame.header, frame.why_hidden, VisibleText.joined(frame.parts), frame.is_open)
            for frame in self._frames
        )
        return wire.DebugSnapshot(self._turn, self._number, frames)

    def _push_text(self) -> None:
        if self._unsent:
            # One string for each flush: a string for each token of long reasoning would take several times the memory.
            text, self._unsent = VisibleText.joined(self._unsent), []
            self._frames[-1].parts.append(text)
            self._pending.append(wire.FrameGrew(self._frames[-1].key, text))


@dataclass(slots=True)
class _DebugFrame:
    key: str
    header: dict[str, str]
    why_hidden: str | None
    parts: list[VisibleText]
    is_open: bool = True
