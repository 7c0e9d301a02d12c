"""The data classes of the debug view's templates. Every text in them has passed the gate for the DEBUG audience."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

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
    """The reply to a call, or the call of a reply: its position, and the seconds between the two."""

    message_id: str
    position: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ShownFrame:
    """A frame for the debug view. ``seen`` is the text that the end user saw of it; if that is None, ``why_hidden`` says why.

    ``sections``: its text, split at the section markers. ``offset``: seconds from the start of its turn until it was stored; ``took``:
    seconds since the frame before it, or the start. ``laid_out``: a JSON body with line breaks. ``decision``: the state of the approval, if
    the call needs one. ``tokens`` is None if there is no vocabulary to count with.
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
    """One frame on a turn's timeline: the start and length of its bar, as SVG percentages of the total time."""

    message_id: str
    kind: str
    kind_name: str
    label: str
    start: str
    length: str


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn for the debug view. ``detail`` may quote a server's response; ``seconds`` is None while the turn runs."""

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
        """The same, each with its label."""
        return tuple(dict.fromkeys((bar.kind, bar.kind_name) for bar in self.bars))


@dataclass(frozen=True, slots=True)
class Group:
    """Frames that belong together: a question with its answer, an answer alone, or the frames before the first question."""

    turn: ShownTurn | None
    frames: tuple[ShownFrame, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """One path through the tree, identified by its last frame. ``question`` is the start of its last question."""

    leaf_id: str
    number: int
    ends_at: int
    kept_at: datetime
    question: VisibleText = field(repr=False)
    is_shown: bool
    is_owners: bool


@dataclass(frozen=True, slots=True)
class View:
    """A whole branch, and a list of all branches.

    ``branches_left_out``: how many old ones are not listed. ``newest_turn``: the conversation's newest turn, if that has ended: then the
    page waits only for later ones.
    """

    groups: tuple[Group, ...]
    branches: tuple[Branch, ...]
    branches_left_out: int
    newest_turn: UUID | None
