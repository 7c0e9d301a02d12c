"""The events of a turn for the chat page, with only text that the person may see, and for the debug view, with every frame.

Names come from the specification (section 9) and from Open Responses; those that are the product's own begin with ``chatui:``. In the
events for the chat page, fields with text by a model or a person have the type SafeHtml or VisibleText, so that a plain string does not
type-check. Those for the debug view have every frame as text, hidden frames included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from chatui.wire.base import Event, Item
from renderer.gate import VisibleText
from renderer.markup.html import SafeHtml

PartKind = Literal["final", "preamble", "tool"]
DeltaType = Literal["response.delta", "chatui:preamble.delta"]
Delay = Literal["chatui:checking", "chatui:saving"]
EndType = Literal["response.completed", "response.incomplete", "response.failed", "response.cancel"]


@dataclass(frozen=True, slots=True)
class TurnEvent(Event):
    """A step of a turn, sent as ``Numbered``."""


@dataclass(frozen=True, slots=True)
class TurnCreated(TurnEvent):
    """A turn began: the page removes everything after the message ``after`` and shows the new exchange."""

    types = ("response.created",)
    conversation: str
    question: str
    after: str | None
    """The id of the last message that stays; absent if none does."""
    kind: str
    """``send``, ``edit``, ``regenerate`` or ``continue``."""
    continued_turn: str | None = None
    """The turn whose answer this one continues. That answer stays as it is until a message replaces it."""
    html: SafeHtml | None = None
    """The question as a page shows it; absent for an old question."""
    language: str | None = None
    """That of the asking page, in which the buttons of ``html`` are. A page in another language fetches the question."""
    choice: str | None = None
    """The model that the conversation stays with; absent if the turn leaves it as it is."""
    effort: str | None = None
    """The reasoning effort that the conversation stays with; absent if the turn leaves it as it is."""


@dataclass(frozen=True, slots=True)
class WorkingBegan(TurnEvent):
    """Hidden work has begun. Sent once, however long the work takes, and again when ``can_answer_now`` changes."""

    types = ("chatui:working",)
    elapsed: int
    """In milliseconds since the turn began."""
    can_answer_now: bool
    """Whether the person may end the work with the command ``answer_now``."""


@dataclass(frozen=True, slots=True)
class SummaryLine(Item):
    """A line of the summary of the model's work."""

    sentences: dict[str, str]
    """The product's own words, by the code of the language, with ``{}`` for each text of ``about``."""
    about: tuple[VisibleText, ...]
    """Spans of what the person wrote."""


@dataclass(frozen=True, slots=True)
class SummaryStep(TurnEvent):
    """A new line of the summary of the model's work so far."""

    types = ("chatui:summary",)
    line: SummaryLine


@dataclass(frozen=True, slots=True)
class AskedFor(TurnEvent):
    """What a page shows, instead of its word for thinking, until there is a line of the summary: what was asked for, told from the question
    alone."""

    types = ("chatui:asked",)
    line: SummaryLine | None = None
    """Absent: the page shows its own word again."""


@dataclass(frozen=True, slots=True)
class ThoughtEnded(TurnEvent):
    """The answer begins, or the turn ends without one."""

    types = ("chatui:thought",)
    seconds: int
    """How long the hidden work took, in whole seconds: with that of an answer that the turn continues, but without the time in which calls
    waited for the person."""


@dataclass(frozen=True, slots=True)
class MessageBegan(TurnEvent):
    """A visible message begins."""

    types = ("chatui:message",)
    message_id: str
    kind: PartKind
    continued_message: str | None = None
    """The message that it replaces, because its text begins with the text of that one."""
    blocks: int | None = None
    """How many blocks of the replaced message, counted from its first, are the same in this one."""


@dataclass(frozen=True, slots=True)
class MessageRelabelled(TurnEvent):
    """A visible message that has ended turned out to be of another kind. Its text is unchanged."""

    types = ("chatui:relabelled",)
    message_id: str
    kind: PartKind


@dataclass(frozen=True, slots=True)
class MessageWithdrawn(TurnEvent):
    """A message turned out to be hidden: the page removes it. It is stored as hidden, and no later event mentions it."""

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
class Queued(TurnEvent):
    """The turn waits until others have ended."""

    types = ("chatui:queued",)
    place: int
    """Its position in the queue, counted from 1; 0: it no longer waits."""


@dataclass(frozen=True, slots=True)
class CallsWait(TurnEvent):
    """A tool call waits for the person's decision, or one was decided, or a tool's server has written a text to the person. The page
    fetches the cards: no event contains anything of a call or a text."""

    types = ("chatui:calls_wait",)
    count: int
    """How many calls wait now."""
    told: int | None = None
    """How many texts there are by tools' servers."""


@dataclass(frozen=True, slots=True)
class FilesCame(TurnEvent):
    """A tool has made a file for the person. The page fetches the turn's files, in its own language."""

    types = ("chatui:files",)
    count: int
    """How many files the turn has now."""


@dataclass(frozen=True, slots=True)
class ToolProgress(TurnEvent):
    """How far a call is that a tool's server runs, at most once a second. Shown in the line of work, as plain text, until something newer
    is."""

    types = ("chatui:progress",)
    server: VisibleText
    """Its name."""
    percent: int | None = None
    """How far the call is, in per cent; absent if the server has not said."""
    words: VisibleText | None = None
    """The server's own, if the operator allows it to speak to people."""


@dataclass(frozen=True, slots=True)
class Delayed(TurnEvent):
    """Why people see nothing new for a while: the page has a sentence for each type. It holds until text or work comes.

    ``chatui:checking``: text of the answer comes. Nothing proves that the model server keeps reasoning apart, so it is shown once all of it
    was checked. ``chatui:saving``: the answer is complete, but the database is slow to store it. The end follows once it is stored.
    """

    types = get_args(Delay)
    type: Delay


@dataclass(frozen=True, slots=True)
class AnswerRow(Item):
    """The row below an answer: what differs from the page's template of it. Everything is text, never HTML."""

    has: tuple[str, ...]
    """Which of the template's elements it has."""
    finals: tuple[str, ...]
    """The addresses of the answer's final messages."""
    facts: tuple[str, ...]
    """Names and remarks."""
    at: str | None = None
    """When the answer ended."""
    verdict: str | None = None
    """How it is rated: ``up``, ``down`` or empty."""


@dataclass(frozen=True, slots=True)
class TurnEnded(TurnEvent):
    """The turn's one terminal event."""

    types = get_args(EndType)
    type: EndType
    state: str
    code: str | None
    """Why it failed or was cut off; the sentence for it is in ``html``."""
    elapsed: int
    """In milliseconds since the turn began."""
    context: int | None = None
    """How full the model's context is now, in per cent, in steps of five; absent if unknown."""
    left_out: int | None = None
    """How many of the oldest questions were left out of the model's prompt."""
    row: AnswerRow | None = None
    """The row below the answer. Absent if it and ``html`` could not be read in time: then the page fetches both."""
    html: SafeHtml | None = None
    """What is above that row, if anything is: files, sources, a notice, the switch between versions."""
    language: str | None = None
    """That of the asking page, in which ``row`` and ``html`` are. A page in another language fetches both."""


@dataclass(frozen=True, slots=True)
class Beat(Event):
    """The turn is still running. Sent after two seconds without an event."""

    types = ("chatui:beat",)
    turn: str
    sequence_number: int
    """That of the turn's latest event."""


@dataclass(frozen=True, slots=True)
class MessageSoFar(Item):
    """One visible message inside a Snapshot."""

    message_id: str
    kind: PartKind
    blocks: tuple[SafeHtml, ...]


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """The running turn so far."""

    types = ("chatui:snapshot",)
    turn: str
    sequence_number: int
    """That of the last event that is part of it."""
    elapsed: int
    """In milliseconds since the turn began."""
    working: bool
    """Whether hidden work goes on."""
    steps: tuple[SummaryLine, ...]
    """The summary of the model's work. Once the answer begins, with the lines of the answer that the turn continues."""
    thought: int | None
    """As ``seconds`` of ThoughtEnded; absent until the answer begins."""
    messages: tuple[MessageSoFar, ...]
    place: int
    """As in Queued."""
    can_answer_now: bool
    """As in WorkingBegan."""
    calls_wait: int
    """As ``count`` of CallsWait."""
    files: int
    """As ``count`` of FilesCame."""
    delay: Delay | None = None
    """The type of the Delayed that still holds."""
    asked: SummaryLine | None = None
    """The line of the last AskedFor."""
    uses_tool: bool | None = None
    """Whether the newest thing that people see is that a tool is called, and no hidden work has begun since."""
    told: int | None = None
    """As in CallsWait."""


@dataclass(frozen=True, slots=True)
class FrameBegan(TurnEvent):
    """A frame begins."""

    types = ("chatui:frame.opened",)
    message_id: str
    header: dict[str, str]
    why_hidden: str | None
    """Why an end user does not see it; absent if they do."""


@dataclass(frozen=True, slots=True)
class FrameGrew(TurnEvent):
    """More of the open frame's body."""

    types = ("chatui:frame.delta",)
    message_id: str
    text: VisibleText


@dataclass(frozen=True, slots=True)
class FrameHidden(TurnEvent):
    """The open frame is hidden from end users from now on."""

    types = ("chatui:frame.withdrawn",)
    message_id: str
    header: dict[str, str]
    """The new one."""
    why_hidden: str | None
    """As in FrameBegan."""


@dataclass(frozen=True, slots=True)
class FrameEnded(TurnEvent):
    """The open frame ended."""

    types = ("chatui:frame.closed",)
    message_id: str
    terminator: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class FrameSoFar(Item):
    """One frame inside a DebugSnapshot."""

    message_id: str
    header: dict[str, str]
    why_hidden: str | None
    """As in FrameBegan."""
    text: VisibleText
    open: bool
    """Whether it has not ended."""


@dataclass(frozen=True, slots=True)
class DebugSnapshot(Event):
    """Every frame of the running turn so far."""

    types = ("chatui:debug.snapshot",)
    turn: str
    sequence_number: int
    frames: tuple[FrameSoFar, ...]
