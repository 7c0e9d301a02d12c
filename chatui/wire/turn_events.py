"""The events of a turn for the chat page. They contain only text that the person may see.

Names come from the specification (section 9) and from Open Responses where they have one; the product's own begin with ``chatui:``. Fields
that hold what a model or a person wrote are typed SafeHtml or VisibleText, so that a plain string does not type-check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from chatui.wire.base import Event, Item
from renderer.gate import VisibleText
from renderer.markup.html import SafeHtml

PartKind = Literal["final", "preamble", "tool"]
DeltaType = Literal["response.delta", "chatui:preamble.delta"]
EndType = Literal["response.completed", "response.incomplete", "response.failed", "response.cancel"]


@dataclass(frozen=True, slots=True)
class TurnEvent(Event):
    """A step of a turn, sent as ``Numbered``."""


@dataclass(frozen=True, slots=True)
class TurnCreated(TurnEvent):
    """A turn began: the page removes everything after the message ``after`` and shows the new exchange.

    ``kind`` is a value of ``turns.start.Kind``. ``continued_turn``: the turn whose answer this one continues; that answer stays as it is
    until a message takes its place. ``html``: the question as a page shows it; absent where it is an old one. Its buttons are worded in
    ``language``, the asking page's: a page of another one fetches the question.
    """

    types = ("response.created",)
    conversation: str
    question: str
    after: str | None
    kind: str
    continued_turn: str | None = None
    html: SafeHtml | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class WorkingBegan(TurnEvent):
    """Hidden work has begun, ``elapsed`` milliseconds after the turn began. Sent once, however long the work takes; and once more where
    ``can_answer_now`` changes: whether the person may end the work with the command ``answer_now``."""

    types = ("chatui:working",)
    elapsed: int
    can_answer_now: bool


@dataclass(frozen=True, slots=True)
class SummaryStep(TurnEvent):
    """One more checked line of the summary of what the model has done so far."""

    types = ("chatui:summary",)
    text: VisibleText


@dataclass(frozen=True, slots=True)
class ThoughtEnded(TurnEvent):
    """The answer begins, or the turn ends without one. The hidden work before it took this many whole ``seconds``, with those of the answer
    that the turn continues."""

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
    """A visible message that has ended turned out to be of another kind. Its text stays."""

    types = ("chatui:relabelled",)
    message_id: str
    kind: PartKind


@dataclass(frozen=True, slots=True)
class MessageWithdrawn(TurnEvent):
    """A message turned out not to be visible: the page removes it. It is stored as hidden, and no later event is about it."""

    types = ("chatui:withdrawn",)
    message_id: str


@dataclass(frozen=True, slots=True)
class BlockReplaced(TurnEvent):
    """The open block in its current form."""

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
    """A block is closed and final, or a later link definition changed a closed one."""

    types = ("response.delta.flush",)
    message_id: str
    block: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class PlainEnd(Item):
    """What stands below a completed answer that differs from others only in this: the page copies the piece ``answer-end`` that it holds.

    All of it is text, and never HTML. ``at``: when the answer ended, in ISO 8601. ``names``: what people call its back end, and its model.
    ``rated``: whether it has thumbs.
    """

    message_id: str
    at: str
    names: tuple[str, ...]
    rated: bool


@dataclass(frozen=True, slots=True)
class TurnEnded(TurnEvent):
    """The turn's one terminal event. The sentence for ``code`` is in ``html``.

    ``context``: how full the model's context is now, in steps of five per cent; absent where that is not known. ``left_out``: how many of
    the oldest questions the model was not shown.
    What stands below the answer from now on is ``plain``, or else ``html``, worded in ``language``, the asking page's. Where both are
    absent, it could not be made in time: then the page fetches it, and so does a page of another language that is sent HTML.
    """

    types = get_args(EndType)
    type: EndType
    state: str
    code: str | None
    elapsed: int
    context: int | None = None
    left_out: int | None = None
    html: SafeHtml | None = None
    language: str | None = None
    plain: PlainEnd | None = None


@dataclass(frozen=True, slots=True)
class Queued(TurnEvent):
    """The turn waits until others have ended: ``place`` is its number in the queue, from 1. 0: it waits no more."""

    types = ("chatui:queued",)
    place: int


@dataclass(frozen=True, slots=True)
class CallsWait(TurnEvent):
    """The number of tool calls that wait for the person is now ``count``, or another one of them was decided. The page fetches their cards:
    nothing of a call is in any event."""

    types = ("chatui:calls_wait",)
    count: int


@dataclass(frozen=True, slots=True)
class FilesCame(TurnEvent):
    """A tool has left a file for the person; the turn has ``count`` now. The page fetches them, in its own language."""

    types = ("chatui:files",)
    count: int


@dataclass(frozen=True, slots=True)
class Saving(TurnEvent):
    """The answer is whole, but the database is slow to take it. The end follows when it is stored."""

    types = ("chatui:saving",)


@dataclass(frozen=True, slots=True)
class Beat(Event):
    """The turn still runs, and ``sequence_number`` is its latest. Sent after two seconds without an event."""

    types = ("chatui:beat",)
    turn: str
    sequence_number: int


@dataclass(frozen=True, slots=True)
class MessageSoFar(Item):
    """One visible message inside a Snapshot."""

    message_id: str
    kind: PartKind
    blocks: tuple[SafeHtml, ...]


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """The running turn so far; everything up to and including ``sequence_number`` is in it. ``place``: as in Queued.

    ``thought`` is None until the answer begins. Then it counts the seconds, and ``steps`` holds the lines, of the continued answer, too.
    ``can_answer_now``: as in WorkingBegan. ``calls_wait``: as in CallsWait. ``files``: as in FilesCame.
    """

    types = ("chatui:snapshot",)
    turn: str
    sequence_number: int
    elapsed: int
    working: bool
    steps: tuple[VisibleText, ...]
    thought: int | None
    messages: tuple[MessageSoFar, ...]
    place: int
    can_answer_now: bool
    calls_wait: int
    files: int
