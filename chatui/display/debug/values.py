"""The data classes of the debug view's templates. Every text in them has passed the gate for the DEBUG audience."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from chatui.display.debug.sections import Section
from chatui.display.files.attachments import ShownFile
from renderer.gate import VisibleText


@dataclass(frozen=True, slots=True)
class Fault:
    """An error code with its message for people."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Partner:
    """The other half of a tool call: its position, and the seconds between the two."""

    message_id: str
    position: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ShownFrame:
    """A frame for the debug view. ``seen`` is what the end user saw of it; where that is None, ``why_hidden`` says why.

    ``sections``: its text, cut at the markers of reasoning. ``offset``: seconds from the beginning of its turn until it was stored;
    ``took``: seconds since the frame before it, or the beginning. ``laid_out``: a JSON body with line breaks. ``decision``: how a call
    stands about which its person is or was asked. ``tokens`` is None where there is no vocabulary to count with.
    """

    message_id: str
    position: int
    header: dict[str, str]
    text: VisibleText = field(repr=False)
    sections: tuple[Section, ...] = field(repr=False)
    laid_out: VisibleText | None = field(repr=False)
    seen: VisibleText | None = field(repr=False)
    why_hidden: str | None
    terminator: str
    fault: Fault | None
    header_as_it_came: VisibleText | None = field(repr=False)
    author: str
    created_at: datetime
    offset: float | None
    took: float | None
    characters: int
    tokens: int | None
    reply: Partner | None
    call: Partner | None
    decision: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One frame on a turn's timeline: where its bar begins and how long it is, as SVG percentages of the whole time."""

    message_id: str
    kind: str
    kind_name: str
    label: str
    start: str
    length: str


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn for the debug view. ``detail`` may quote what a server answered; ``seconds`` is None while it runs."""

    id: str
    state: str
    state_name: str
    fault: Fault | None
    detail: VisibleText = field(repr=False)
    backend: str
    model: str
    choice: str
    effort: str
    started_at: datetime
    seconds: float | None
    input_tokens: int | None
    output_tokens: int | None
    turns_left_out: int
    context_size: int | None
    context_used: int | None
    continued_position: str
    has_request: bool
    bars: tuple[Bar, ...]
    files: tuple[ShownFile, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the bars, without duplicates."""
        return tuple(dict.fromkeys(bar.kind for bar in self.bars))

    @property
    def named_kinds(self) -> tuple[tuple[str, str], ...]:
        """The same, each with what people call it."""
        return tuple(dict.fromkeys((bar.kind, bar.kind_name) for bar in self.bars))


@dataclass(frozen=True, slots=True)
class Group:
    """Frames that belong together: a question with its answer, an answer alone, or what comes before the first question."""

    turn: ShownTurn | None
    frames: tuple[ShownFrame, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """One path through the tree, named by its last frame. ``question`` is the beginning of its last question."""

    leaf_id: str
    number: int
    ends_at: int
    kept_at: datetime
    question: VisibleText = field(repr=False)
    is_shown: bool
    is_owners: bool


@dataclass(frozen=True, slots=True)
class View:
    """A whole branch, with a list of the others. ``branches_left_out``: how many old ones are not listed."""

    groups: tuple[Group, ...]
    branches: tuple[Branch, ...]
    branches_left_out: int
