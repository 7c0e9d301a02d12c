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
    """A turn began: the page removes everything after the message ``after`` and shows the new exchange.

    ``kind``: ``send``, ``edit``, ``regenerate`` or ``continue``. ``continued_turn``: the turn whose answer this one continues; that answer
    stays as it is until a message replaces it. ``html``: the question as a page shows it; absent for an old question. Its buttons are in
    ``language``, that of the asking page: a page in another language fetches the question. ``choice`` and ``effort``: the model and the
    reasoning effort that the conversation stays with; absent if the turn leaves them as they are.
    """

    types = ("response.created",)
    conversation: str
    question: str
    after: str | None
    kind: str
    continued_turn: str | None = None
    html: SafeHtml | None = None
    language: str | None = None
    choice: str | None = None
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class WorkingBegan(TurnEvent):
    """Hidden work has begun, ``elapsed`` milliseconds after the turn began. Sent once, however long the work takes, and again when
    ``can_answer_now`` changes: whether the person may end the work with the command ``answer_now``."""

    types = ("chatui:working",)
    elapsed: int
    can_answer_now: bool


@dataclass(frozen=True, slots=True)
class SummaryLine(Item):
    """A line of the summary of the model's work. ``sentences``: the product's own words, by the code of the language, with ``{}`` for each
    of ``about``: spans of what the person wrote."""

    sentences: dict[str, str]
    about: tuple[VisibleText, ...]


@dataclass(frozen=True, slots=True)
class SummaryStep(TurnEvent):
    """A new line of the summary of the model's work so far."""

    types = ("chatui:summary",)
    line: SummaryLine


@dataclass(frozen=True, slots=True)
class AskedFor(TurnEvent):
    """What a page shows, instead of its word for thinking, until there is a line of the summary: what was asked for, told from the question
    alone. Without ``line``, its own word again."""

    types = ("chatui:asked",)
    line: SummaryLine | None = None


@dataclass(frozen=True, slots=True)
class ThoughtEnded(TurnEvent):
    """The answer begins, or the turn ends without one. The hidden work before it took this many whole ``seconds``, including those of an
    answer that the turn continues."""

    types = ("chatui:thought",)
    seconds: int


@dataclass(frozen=True, slots=True)
class MessageBegan(TurnEvent):
    """A visible message begins.

    ``continued_message``: the message that it replaces, because its text begins with the text of that one. The first ``blocks`` blocks are
    unchanged.
    """

    types = ("chatui:message",)
    message_id: str
    kind: PartKind
    continued_message: str | None = None
    blocks: int | None = None


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
    """The turn waits until others have ended. ``place`` is its position in the queue, counted from 1; 0: it no longer waits."""

    types = ("chatui:queued",)
    place: int


@dataclass(frozen=True, slots=True)
class CallsWait(TurnEvent):
    """``count`` tool calls now wait for the person, or one of them was decided, or a tool's server said something to the person; ``told``:
    how many such texts there are. The page fetches the cards: no event contains anything of a call or a text."""

    types = ("chatui:calls_wait",)
    count: int
    told: int | None = None


@dataclass(frozen=True, slots=True)
class FilesCame(TurnEvent):
    """A tool has made a file for the person; the turn now has ``count`` files. The page fetches them, in its own language."""

    types = ("chatui:files",)
    count: int


@dataclass(frozen=True, slots=True)
class ToolProgress(TurnEvent):
    """How far a call is that a tool's server runs, at most once a second: in ``percent``, and in the server's own ``words`` if the
    operator allows it to speak to people. ``server``: its name. Shown in the line of work, as plain text, until something newer is."""

    types = ("chatui:progress",)
    server: VisibleText
    percent: int | None = None
    words: VisibleText | None = None


@dataclass(frozen=True, slots=True)
class Delayed(TurnEvent):
    """Why people see nothing new for a while, without any fields: the page has a sentence for each type. It holds until text or work comes.

    ``chatui:checking``: text of the answer comes. Nothing proves that the model server keeps reasoning apart, so it is shown once all of it
    was checked. ``chatui:saving``: the answer is complete, but the database is slow to store it. The end follows once it is stored.
    """

    types = get_args(Delay)
    type: Delay


@dataclass(frozen=True, slots=True)
class AnswerRow(Item):
    """The row below an answer: what differs from the page's template of it. Everything is text, never HTML.

    ``has``: which of the template's elements it has. ``finals``: the addresses of its final messages. ``facts``: names and remarks. ``at``:
    when the answer ended. ``verdict``: how it is rated, ``up``, ``down`` or empty.
    """

    has: tuple[str, ...]
    finals: tuple[str, ...]
    facts: tuple[str, ...]
    at: str | None = None
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded(TurnEvent):
    """The turn's one terminal event. The sentence for ``code`` is in ``html``.

    ``context``: how full the model's context is now, in steps of five per cent; absent if unknown. ``left_out``: how many of the oldest
    questions were left out of the model's prompt.
    ``row``: the row below the answer. ``html``: what is above that row, if anything is: files, sources, a notice, the switch between
    versions. Both in ``language``, that of the asking page. Without ``row``, they could not be read in time, and the page fetches them; so
    does a page in another language.
    """

    types = get_args(EndType)
    type: EndType
    state: str
    code: str | None
    elapsed: int
    context: int | None = None
    left_out: int | None = None
    row: AnswerRow | None = None
    html: SafeHtml | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Beat(Event):
    """The turn is still running, and ``sequence_number`` is its latest. Sent after two seconds without an event."""

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
    """The running turn so far, up to and including ``sequence_number``. ``place``: as in Queued.

    ``thought`` is None until the answer begins. From then on it includes the seconds of the continued answer, and ``steps`` its lines.
    ``can_answer_now``: as in WorkingBegan. ``calls_wait`` and ``told``: as in CallsWait. ``files``: as in FilesCame.
    ``delay``: the type of the Delayed that still holds. ``asked``: the line of the last AskedFor. ``uses_tool``: the newest thing that
    people see is that a tool is called, and no hidden work has begun since.
    """

    types = ("chatui:snapshot",)
    turn: str
    sequence_number: int
    elapsed: int
    working: bool
    steps: tuple[SummaryLine, ...]
    thought: int | None
    messages: tuple[MessageSoFar, ...]
    place: int
    can_answer_now: bool
    calls_wait: int
    files: int
    delay: Delay | None = None
    asked: SummaryLine | None = None
    uses_tool: bool | None = None
    told: int | None = None


@dataclass(frozen=True, slots=True)
class FrameBegan(TurnEvent):
    """A frame begins. ``why_hidden`` says why an end user does not see it; absent if they do."""

    types = ("chatui:frame.opened",)
    message_id: str
    header: dict[str, str]
    why_hidden: str | None


@dataclass(frozen=True, slots=True)
class FrameGrew(TurnEvent):
    """More of the open frame's body."""

    types = ("chatui:frame.delta",)
    message_id: str
    text: VisibleText


@dataclass(frozen=True, slots=True)
class FrameHidden(TurnEvent):
    """The open frame is hidden from end users from now on; ``header`` is its new header."""

    types = ("chatui:frame.withdrawn",)
    message_id: str
    header: dict[str, str]
    why_hidden: str | None


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
    text: VisibleText
    open: bool


@dataclass(frozen=True, slots=True)
class DebugSnapshot(Event):
    """Every frame of the running turn so far."""

    types = ("chatui:debug.snapshot",)
    turn: str
    sequence_number: int
    frames: tuple[FrameSoFar, ...]
