"""What may be sent to a browser about a Turn: a closed list of events, each of which holds only what has passed the gate.

The names are the specification's (section 9) and Open Responses' where they have one; ours begin with ``chatui:``. Fields that carry
something that a model or a person wrote are typed SafeHtml or VisibleText, so that a plain string does not type-check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import ClassVar

from renderer.gate import VisibleText
from renderer.markup.html import SafeHtml


@dataclass(frozen=True, slots=True)
class Event:
    """Something a browser is told. ``type`` is its name on the wire."""

    type: ClassVar[str]

    def as_json(self) -> dict[str, object]:
        """The event as JSON values; absent fields are left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        kind = values.pop("wire_type", self.type)
        return {"type": kind} | {key: _plain(value) for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class TurnCreated(Event):
    """A turn began: the page takes what stands after the question ``after`` away and fetches the new exchange.

    ``continues``: the turn whose answer it goes on with; that answer stays as it is until a message takes its place.
    """

    type = "response.created"
    conversation: str
    question: str
    after: str | None
    kind: str
    continues: str | None = None


@dataclass(frozen=True, slots=True)
class WorkingBegan(Event):
    """Hidden work is going on; ``elapsed`` milliseconds since the turn began. Sent once, whatever its length."""

    type = "chatui:working"
    elapsed: int


@dataclass(frozen=True, slots=True)
class SummaryStep(Event):
    """One more line of what the model has done so far, checked."""

    type = "chatui:summary"
    text: VisibleText


@dataclass(frozen=True, slots=True)
class ThoughtEnded(Event):
    """The answer begins, or the turn ends without one: the hidden work before it took so many whole ``seconds``."""

    type = "chatui:thought"
    seconds: int


@dataclass(frozen=True, slots=True)
class MessageBegan(Event):
    """A visible message begins; ``kind`` is ``final`` or ``preamble``.

    ``continues``: the message whose place it takes, because its text begins with that one's; the first ``blocks`` blocks are the same.
    """

    type = "chatui:message"
    message_id: str
    kind: str
    continues: str | None = None
    blocks: int | None = None


@dataclass(frozen=True, slots=True)
class MessageRelabelled(Event):
    """A visible message that has ended is of another kind than it began as. Its text stays."""

    type = "chatui:relabelled"
    message_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class BlockReplaced(Event):
    """The open block as it can be shown now."""

    type = "response.delta"
    wire_type: str
    message_id: str
    block: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class BlockGrew(Event):
    """More text for the open code block."""

    type = "response.delta"
    wire_type: str
    message_id: str
    block: int
    text: VisibleText


@dataclass(frozen=True, slots=True)
class BlockFlushed(Event):
    """A block is closed and final, or a late definition changed a closed one."""

    type = "response.delta.flush"
    message_id: str
    block: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """The turn's one terminal event; ``message`` is the sentence that belongs to ``code``."""

    type = "response.completed"
    wire_type: str
    state: str
    code: str | None
    message: str | None
    elapsed: int


@dataclass(frozen=True, slots=True)
class FrameBegan(Event):
    """Debug audience: a frame's header, and why an end user does not see it; ``why_hidden`` is absent where they do."""

    type = "chatui:frame.opened"
    message_id: str
    header: dict[str, str]
    why_hidden: str | None


@dataclass(frozen=True, slots=True)
class FrameGrew(Event):
    """Debug audience: more of the open frame's body."""

    type = "chatui:frame.delta"
    message_id: str
    text: VisibleText


@dataclass(frozen=True, slots=True)
class FrameEnded(Event):
    """Debug audience: the open frame ended."""

    type = "chatui:frame.closed"
    message_id: str
    terminator: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class MessageSoFar(Event):
    """One visible message inside a Snapshot."""

    type = "chatui:message"
    message_id: str
    kind: str
    blocks: tuple[SafeHtml, ...]


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """The running turn so far; everything up to and including ``sequence_number`` is in it."""

    type = "chatui:snapshot"
    turn: str
    sequence_number: int
    elapsed: int
    working: bool
    steps: tuple[VisibleText, ...]
    thought: int | None
    messages: tuple[MessageSoFar, ...]


@dataclass(frozen=True, slots=True)
class FrameSoFar(Event):
    """One frame inside a DebugSnapshot."""

    type = "chatui:frame"
    message_id: str
    header: dict[str, str]
    why_hidden: str | None
    text: VisibleText
    open: bool


@dataclass(frozen=True, slots=True)
class DebugSnapshot(Event):
    """Debug audience: every frame of the running turn so far."""

    type = "chatui:debug.snapshot"
    turn: str
    sequence_number: int
    frames: tuple[FrameSoFar, ...]


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event of a turn with the number that this audience sees."""

    turn: str
    sequence_number: int
    event: Event

    def as_json(self) -> dict[str, object]:
        """The event with its turn and number."""
        return self.event.as_json() | {"turn": self.turn, "sequence_number": self.sequence_number}


def encode(events: Iterable[Event | Numbered]) -> str:
    """One socket frame: a JSON array of events, ASCII only, so that no server in between can misread it."""
    return json.dumps([event.as_json() for event in events], separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, SafeHtml):
        return value.html
    if isinstance(value, Event):
        return value.as_json()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
