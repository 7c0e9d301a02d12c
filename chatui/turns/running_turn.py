"""A turn while it runs: what was asked for, what was loaded for it, how it ended. ``start`` makes it, and it grows until ``ending``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chatui import answer_formats
from chatui.answer_formats import AnswerFormat
from chatui.backends.base import ContextUse, SampleRequest
from chatui.models.files import SentDocument
from chatui.models.turn import Turn, TurnState
from chatui.tools.tool import Tool
from chatui.turns.asks import Ask, AskKind
from chatui.turns.leases import Pieces
from chatui.usage.counting import Spent
from chatui.usage.limits import LimitLine
from renderer.activities.activity import Activity
from renderer.errors import ErrorCode
from renderer.frame_kinds import NOTES, is_document
from renderer.frames import Frame, Role
from renderer.markup.citations import CitableSource


class LeaseLostError(Exception):
    """The turn has ended, or another process has it: nothing may be written any more."""


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended."""

    state: TurnState
    code: ErrorCode | None = None
    detail: str = ""
    """For staff; it may contain a server's response."""
    context: ContextUse | None = None
    """The context use of a question that was too long."""
    cause: str = ""
    """Quotes nothing (``BackendError``)."""
    retry_after: int | None = None
    """How many seconds a busy server asked us to wait."""
    stopped_at: str = field(default="", repr=False)
    """The text of the program at which its answer ended."""


@dataclass(frozen=True, slots=True)
class TokenAccount:
    """What the model server reported about a turn's samples; None or empty if it did not."""

    backend: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    turns_left_out: int = 0
    thought_seconds: int | None = None
    request: tuple[str, bytes] | None = field(default=None, repr=False)
    """The path and body that were sent."""
    sampled_with: Mapping[str, object] | None = None
    """The last sample's keys of ``generation_settings``; None if nothing was sampled."""
    context: ContextUse | None = None
    """How full the context window is after the last sample; None if unknown."""
    spent: Spent = field(default_factory=Spent)
    """The usage of all samples."""
    by_server: Mapping[str, object] | None = None
    """The turn's column of that name."""
    ended_at: datetime | None = None
    """When the turn ended, as pages show it; None means now."""
    first_token_ms: int | None = None
    """The turn's column of that name."""


@dataclass(slots=True, eq=False)
class RunningTurn:
    """A stored turn."""

    turn: Turn
    """It comes with its conversation, question, continued message and asking person."""
    after: UUID | None
    """The question before it on its branch."""
    ask: Ask
    is_new: bool = True
    """False if the same request came twice."""
    continued_turn: UUID | None = None
    """The turn whose answer it continues."""
    groups: frozenset[str] = frozenset()
    """Those of the person's groups that limit answers."""
    versions: tuple[UUID, ...] = ()
    """The keys of all versions of a new question; empty for an old question and for the first one of a conversation."""
    documents: tuple[SentDocument, ...] = ()
    """Those that came with the question."""
    near: LimitLine | None = None
    """Set if the person has used most of a limit."""
    place_id: UUID | None = None
    """The parent of the turn's first frame; None for the question."""

    # What ``opening`` adds.

    request: SampleRequest = field(default=SampleRequest(()), repr=False)
    """The first request to the model. Its frames are the branch up to the question, below all instructions; its cut answer is empty if
    there is no text yet."""
    shown_before: tuple[tuple[UUID, Frame], ...] = field(default=(), repr=False)
    """If the turn continues an answer, the part that people already see."""
    thought_before: int | None = None
    """How many seconds the model thought before that."""
    steps_before: tuple[Activity, ...] = field(default=(), repr=False)
    """The lines of the summary of it."""
    cut_message_id: UUID | None = None
    """The message that the complete answer replaces."""
    cut_thoughts: tuple[str, ...] = field(default=(), repr=False)
    """Reasoning of the answer that is continued, which no prompt has again: what was cut, and the model server's own summaries."""
    cut_stays: bool = False
    """Whether it is an answer for sure (``continuation.came_apart``), so that a sign in its continuation withdraws that alone."""
    turns_left_out: int = 0
    call_ids: frozenset[str] = frozenset()
    """Those of all calls in the branch."""
    imported: frozenset[str] = field(default=frozenset(), repr=False)
    """The texts of questions in the branch that the person did not write here; anybody may have written them."""
    files: tuple[str, ...] = field(default=(), repr=False)
    """The names of the files that the person attached in the branch."""
    pages: Mapping[int, CitableSource] = field(default_factory=dict, repr=False)
    """Those opened earlier in the conversation, by cursor, which the model may cite or continue reading."""
    tools: Mapping[str, Tool] = field(default_factory=dict, repr=False)
    """The tools that the model may call, by name."""

    # What its end adds.

    outcome: TurnOutcome = field(default=TurnOutcome(TurnState.COMPLETED), init=False)
    account: TokenAccount = field(default=TokenAccount(), init=False)
    pieces: Pieces = field(init=False, repr=False)
    """Its text that no message holds yet."""

    def __post_init__(self) -> None:
        self.pieces = Pieces(self.turn.pk)

    @property
    def keeps_replies(self) -> bool:
        """Whether the replies of all its tools, and so its request, may be stored."""
        return all(tool.keeps_replies for tool in self.tools.values())

    @property
    def has_new_question(self) -> bool:
        """Whether the question was new, so that it has no other answer."""
        return self.is_new and self.ask.kind in (AskKind.SEND, AskKind.EDIT)

    @property
    def answer_format(self) -> AnswerFormat | None:
        """The required format for its answers: the one that its program asked for, or the one set for the conversation."""
        if self.ask.program is not None:
            return self.ask.answer_format
        stored = self.turn.conversation.answer_format
        return answer_formats.from_stored(stored) if stored else None

    @property
    def own_questions(self) -> tuple[str, ...]:
        """The person's own questions in the branch, oldest first, without documents and what is ``imported``."""
        own = (frame for frame in self.request.frames if frame.header.role == Role.USER and frame.header != NOTES)
        return tuple(frame.body for frame in own if not is_document(frame.header) and frame.body not in self.imported)
