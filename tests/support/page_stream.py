"""What pages get of one turn, of events that no model wrote: whoever changes how a turn is shown changes it here, and in no test."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from chatui import wire
from chatui.turns import publisher
from chatui.turns.streams.end_user import EndUserStream
from renderer.events import RawEvent


class PageStream:
    """A turn as pages see it: raw events and summary lines in, numbered events of the wire out."""

    def __init__(self, turn: UUID | None = None, *, can_answer_now: bool = False) -> None:
        self._stream = EndUserStream(turn or uuid4(), can_answer_now=can_answer_now)

    def take(self, event: RawEvent, key: UUID, milliseconds: int = 0) -> None:
        """An event of the message with this key, so long after the turn began."""
        self._stream.take(event, key, milliseconds)

    def step(self, line: wire.SummaryLine) -> None:
        """A line of the summary."""
        self._stream.step(line)

    def show_before(self, messages: Sequence[wire.MessageSoFar], cut: UUID, *, stays: bool = False) -> None:
        """What was shown before the turn, with the text of the cut message that it goes on with."""
        self._stream.show_before(list(messages), cut, stays=stays)

    def add_event(self, event: wire.Event) -> None:
        """An event of the turn that belongs to no message."""
        self._stream.add_event(event)

    def note_answer_now(self, milliseconds: int) -> None:
        """The person has asked for the answer."""
        self._stream.note_answer_now(milliseconds)

    def end_thinking(self, milliseconds: int) -> None:
        self._stream.end_thinking(milliseconds)

    @property
    def thought_seconds(self) -> int | None:
        """How long the model has thought; None while it does."""
        return self._stream.thought_seconds

    def flush(self, *, is_watched: bool = True) -> list[wire.Numbered]:
        """What is sent now. ``is_watched``: whether a page follows."""
        return self._stream.flush(is_watched=is_watched)

    @property
    def has_unshown(self) -> bool:
        """Whether text waits to be rendered."""
        return self._stream.has_unshown

    def snapshot(self, milliseconds: int = 0) -> wire.Snapshot:
        """What a page gets that opens now."""
        return self._stream.snapshot(milliseconds)


def noted(patch: pytest.MonkeyPatch) -> list[Any]:
    """The streams of all turns that begin from now on."""
    streams: list[Any] = []

    class Noted(EndUserStream):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            streams.append(self)

    patch.setattr(publisher, "EndUserStream", Noted)
    return streams


def break_flushes(patch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be rendered for pages."""

    def broken(*_: Any, **__: Any) -> Iterable[Any]:
        raise RuntimeError("nothing can be shown")

    patch.setattr(EndUserStream, "flush", broken)


def watch_all(patch: pytest.MonkeyPatch) -> None:
    """From now on, every turn is shown as if a page followed it."""
    patch.setattr(publisher.Publisher, "is_watched", True)
