"""What people are told about a Turn: only what has passed the gate.

The names are the specification's (section 9) and Open Responses' where they have one; ours begin with ``chatui:``. Fields that carry
something that a model or a person wrote are typed SafeHtml or VisibleText, so that a plain string does not type-check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from chatui.wire.base import Event, Item
from renderer.gate import VisibleText
from renderer.markup.html import SafeHtml

PartKind = Literal["final", "preamble"]
DeltaType = Literal["response.delta", "chatui:preamble.delta"]
EndType = Literal["response.completed", "response.incomplete", "response.failed", "response.cancel"]


@dataclass(frozen=True, slots=True)
class TurnEvent(Event):
    """A step of a turn, sent as ``Numbered``."""


@dataclass(frozen=True, slots=True)
class TurnCreated(TurnEvent):
    """A turn began: the page removes everything after the message ``after`` and fetches the new exchange.

    ``kind`` is a value of ``turns.start.Kind``. ``continued_turn``: the turn whose answer this one continues; that answer stays as it is
    until a message takes its place.
    """

    types = ("response.created",)
    conversation: str
    question: str
    after: str | None
    kind: str
    continued_turn: str | None = None


@dataclass(frozen=True, slots=True)
class WorkingBegan(TurnEvent):
    """Hidden work is going on; ``elapsed`` milliseconds since the turn began. Sent once, whatever its length."""

    types = ("chatui:working",)
    elapsed: int


@dataclass(frozen=True, slots=True)
class SummaryStep(TurnEvent):
    """One more line of what the model has done so far, checked."""

    types = ("chatui:summary",)
    text: VisibleText


@dataclass(frozen=True, slots=True)
class ThoughtEnded(TurnEvent):
    """The answer begins, or the turn ends without one: the hidden work before it took so many whole ``seconds``."""

    types = ("chatui:thought",)
    seconds: int


@dataclass(frozen=True, slots=True)
class MessageBegan(TurnEvent):
    """A visible message begins.

    ``continued_message``: the message whose place it takes, because its text begins with that one's; the first ``blocks`` blocks are the
    same.
    """

    types = ("chatui:message",)
    message_id: str
    kind: PartKind
    continued_message: str | None = None
    blocks: int | None = None


@dataclass(frozen=True, slots=True)
class MessageRelabelled(TurnEvent):
    """A visible message that has ended is of another kind than it began as. Its text stays."""

    types = ("chatui:relabelled",)
    message_id: str
    kind: PartKind


@dataclass(frozen=True, slots=True)
class MessageWithdrawn(TurnEvent):
    """A visible message is none: the page removes it. It is not kept as visible, and no later event is about it."""

    types = ("chatui:withdrawn",)
    message_id: str


@dataclass(frozen=True, slots=True)
class BlockReplaced(TurnEvent):
    """The open block as it can be shown now."""

    types = get_args(DeltaType)
    type: DeltaType
    message_id: str
    block: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class BlockGrew(TurnEvent):
    """More text for the open code block."""

    types = get_args(DeltaType)
    type: DeltaType
    message_id: str
    block: int
    text: VisibleText


@dataclass(frozen=True, slots=True)
class BlockFlushed(TurnEvent):
    """A block is closed and final, or a late definition changed a closed one."""

    types = ("response.delta.flush",)
    message_id: str
    block: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class TurnEnded(TurnEvent):
    """The turn's one terminal event; ``message`` is the sentence that belongs to ``code``."""

    types = get_args(EndType)
    type: EndType
    state: str
    code: str | None
    message: str | None
    elapsed: int


@dataclass(frozen=True, slots=True)
class MessageSoFar(Item):
    """One visible message inside a Snapshot."""

    message_id: str
    kind: PartKind
    blocks: tuple[SafeHtml, ...]


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """The running turn so far; everything up to and including ``sequence_number`` is in it."""

    types = ("chatui:snapshot",)
    turn: str
    sequence_number: int
    elapsed: int
    working: bool
    steps: tuple[VisibleText, ...]
    thought: int | None
    messages: tuple[MessageSoFar, ...]
