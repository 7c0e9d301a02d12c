"""Prepares a conversation for the debug view: its branches, their frames by the turns that wrote them, and each turn.

Every text has passed the gate for the DEBUG audience. Reasoning is split at the section markers that some models write (specification
section 7), so that there can be headings. The branches are every path through the conversation's tree, and not only the one that its owner
has open. A turn has its state, settings, usage, errors, and its frames as bars on a timeline.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from uuid import UUID

from django.utils.formats import number_format
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_noop as noop

from chatui.display import failures, files, tool_cards
from chatui.display.debug_tokens import one_value_a_line
from chatui.display.files import ShownFile
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.keys import moment_of
from chatui.models.message import Author, Message
from chatui.models.turn import BY_TIME, LATEST_FIRST, Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import files as store_files
from chatui.store import titles, transcripts
from renderer.frame_kinds import is_document
from renderer.frames import Channel, Frame, Role, Terminator
from renderer.gate import Audience, VisibleText, as_debug_text, show, why_hidden
from renderer.harmony.vocabulary import VocabularyError

MAX_SECTIONS = 200
"""The most sections of one frame. A model may write a marker after every word; the last section contains the rest unsplit."""

_MEANINGS = {
    "<|start_reason|>": noop("Step-by-step logic"),
    "<|start_reflect|>": noop("Self-critique"),
    "<|start_introspect|>": noop("Latent probes"),
}
_MARKER = re.compile("(" + "|".join(map(re.escape, _MEANINGS)) + ")")


@dataclass(frozen=True, slots=True)
class BodySection:
    """A piece of a frame's text."""

    marker: str
    """The marker before it; empty if there is none."""
    heading: str
    """The meaning of that marker; empty if there is none."""
    text: VisibleText = field(repr=False)


def sections(frame: Frame) -> tuple[BodySection, ...]:
    """The text of a frame, in order. Markers and texts together are the whole body, except for blanks before the first marker. Without
    markers, a single section."""
    if frame.header.channel != Channel.ANALYSIS:
        return (BodySection("", "", as_debug_text(frame.body)),)
    first, *pieces = _MARKER.split(frame.body, maxsplit=MAX_SECTIONS - 1)
    found = [BodySection("", "", as_debug_text(first))] if first.strip() or not pieces else []
    marked = zip(pieces[::2], pieces[1::2], strict=True)
    return (*found, *(BodySection(marker, gettext(_MEANINGS[marker]), as_debug_text(text)) for marker, text in marked))


@dataclass(frozen=True, slots=True)
class ShownFault:
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
    """A frame for the debug view."""

    message_id: str
    position: int
    header: dict[str, str]
    text: VisibleText = field(repr=False)
    sections: tuple[BodySection, ...] = field(repr=False)
    """Its text, split at the section markers."""
    laid_out: VisibleText | None = field(repr=False)
    """A JSON body with line breaks."""
    seen: VisibleText | None = field(repr=False)
    """The text that the end user saw of it; if that is None, ``why_hidden`` says why."""
    why_hidden: str | None
    terminator: str
    fault: ShownFault | None
    header_as_it_came: VisibleText | None = field(repr=False)
    author: str
    created_at: datetime
    offset: float | None
    """Seconds from the start of its turn until it was stored."""
    took: float | None
    """Seconds since the frame before it, or the start."""
    characters: int
    tokens: int | None
    """None if there is no vocabulary to count with."""
    reply: Partner | None
    call: Partner | None
    decision: str = ""
    """The state of the approval, if the call needs one."""


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """One frame on a turn's timeline: the start and length of its bar, as SVG percentages of the total time."""

    message_id: str
    kind: str
    kind_name: str
    label: str
    start: str
    length: str


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn for the debug view."""

    id: str
    state: str
    state_name: str
    fault: ShownFault | None
    detail: VisibleText = field(repr=False)
    """May quote a server's response."""
    backend: str
    model: str
    choice: str
    effort: str
    started_at: datetime
    seconds: float | None
    """None while the turn runs."""
    input_tokens: int | None
    output_tokens: int | None
    turns_left_out: int
    context_size: int | None
    context_used: int | None
    continued_position: str
    """The position of the message that it continues."""
    has_request: bool
    bars: tuple[TimelineBar, ...]
    files: tuple[ShownFile, ...]

    @property
    def named_kinds(self) -> tuple[tuple[str, str], ...]:
        """The kinds of the bars with their labels, without duplicates."""
        return tuple(dict.fromkeys((bar.kind, bar.kind_name) for bar in self.bars))


@dataclass(frozen=True, slots=True)
class FrameGroup:
    """Frames that belong together: a question with its files and its answer, an answer alone, or the frames before the first question."""

    turn: ShownTurn | None
    frames: tuple[ShownFrame, ...]


@dataclass(frozen=True, slots=True)
class ListedBranch:
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
    """A whole branch, and a list of all branches."""

    groups: tuple[FrameGroup, ...]
    branches: tuple[ListedBranch, ...]
    branches_left_out: int
    """How many old ones are not listed."""
    newest_turn: UUID | None
    """The conversation's newest turn, if that has ended: then the page waits only for later ones."""


MAX_LISTED = 100
_QUESTION_CHARS = 60


def listed_branches(row: Conversation, shown: Message | None) -> tuple[tuple[ListedBranch, ...], int]:
    """The branches, oldest first, and how many of the oldest are left out."""
    rows = list(row.messages.order_by("position").values_list("pk", "parent_id", "position", "created_at", "role", "is_visible"))
    above = {key: (parent, role == "user" and is_visible) for key, parent, _, _, role, is_visible in rows}
    parents = {parent for _, parent, *_ in rows}
    leaves = [(key, position, kept_at) for key, _, position, kept_at, *_ in rows if key not in parents]
    newest = leaves[-MAX_LISTED:]
    questions = {key: _question_above(key, above) for key, *_ in newest}
    words = _words(row, {question for question in questions.values() if question})
    owners = transcripts.active_leaf(row, row.owner)
    found = tuple(
        ListedBranch(
            leaf_id=str(key),
            number=number,
            ends_at=position,
            kept_at=kept_at,
            question=words.get(questions[key]) or as_debug_text(""),
            is_shown=shown is not None and key == shown.pk,
            is_owners=owners is not None and key == owners.pk,
        )
        for number, (key, position, kept_at) in enumerate(newest, start=len(leaves) - len(newest) + 1)
    )
    return found, len(leaves) - len(newest)


def _question_above(key: UUID, above: Mapping[UUID, tuple[UUID | None, bool]]) -> UUID | None:
    step: UUID | None = key
    while step is not None:
        parent, is_question = above[step]
        if is_question:
            return step
        step = parent
    return None


def _words(row: Conversation, questions: set[UUID]) -> dict[UUID | None, VisibleText]:
    found: dict[UUID | None, VisibleText] = {}
    for message in row.messages.filter(pk__in=questions):
        text = show(transcripts.frame_of(message), Audience.DEBUG)
        found[message.pk] = as_debug_text(titles.title_of(text, _QUESTION_CHARS))
    return found


KIND_NAMES = {
    "answer": pgettext_lazy("kind of frame", "answer"),
    "preamble": pgettext_lazy("kind of frame", "preamble"),
    "call": pgettext_lazy("kind of frame", "call"),
    "reply": pgettext_lazy("kind of frame", "reply"),
    "analysis": pgettext_lazy("kind of frame", "analysis"),
    "other": pgettext_lazy("kind of frame", "other"),
}


def fault(code: str) -> ShownFault | None:
    """A stored error code with its message; only the code if this version does not know it."""
    return ShownFault(code, failures.meaning(code)) if code else None


def kind(frame: ShownFrame) -> str:
    """The kind of a frame on the timeline: answer, preamble, analysis, call, reply, or something else."""
    if frame.why_hidden is None:
        return "preamble" if frame.header.get("intent") else "answer"
    if frame.terminator == "<|call|>":
        return "call"
    if frame.header["role"] == "tool":
        return "reply"
    return "analysis" if frame.header.get("channel") == "analysis" else "other"


def _bars(frames: Sequence[ShownFrame], seconds: float | None) -> tuple[TimelineBar, ...]:
    """The bars of the timeline: for each frame, when it was written, in per cent of the turn's time. ``seconds``: how long that was."""
    timed = [(frame, frame.offset, frame.took) for frame in frames if frame.offset is not None and frame.took is not None]
    whole = max([seconds or 0.0, *(offset for _, offset, _ in timed)])
    if not timed or whole <= 0:
        return ()
    return tuple(
        TimelineBar(
            message_id=frame.message_id,
            kind=kind(frame),
            kind_name=str(KIND_NAMES[kind(frame)]),
            label=gettext("#%(position)s %(kind)s, %(seconds)s s")
            % {"position": frame.position, "kind": KIND_NAMES[kind(frame)], "seconds": number_format(took, 2)},
            start=f"{100 * (offset - took) / whole:.2f}%",
            length=f"{100 * took / whole:.2f}%",
        )
        for frame, offset, took in timed
    )


MAX_COUNTED = 1_000_000
"""Tokens are counted for this many characters of a branch, which takes a fifth of a second. Frames after that have no count."""
_MAX_LAID_OUT = 100_000


def view(row: Conversation, person: User, leaf_id: object | None = None) -> View:
    """The whole branch that ends in ``leaf_id``; without it, the branch that this person, or otherwise the owner, has open."""
    # Read before the frames: if the turn ends in between, the page asks to be loaded again.
    newest = row.turns.order_by(*LATEST_FIRST).only("state").first()
    leaf = leaf_of(row, person, leaf_id)
    listed, left_out = listed_branches(row, leaf)
    groups = _Page(row, transcripts.branch(row, leaf)).groups()
    return View(groups, listed, left_out, newest.pk if newest and newest.state != TurnState.RUNNING else None)


def leaf_of(row: Conversation, person: User, leaf_id: object | None) -> Message | None:
    """The last message of the branch to show. For a frame in the middle, the newest branch through it."""
    if leaf_id is None:
        return transcripts.active_leaf(row, person)
    return transcripts.deepest(row, access.message_of(row, leaf_id))


def raw_branch(row: Conversation, person: User, leaf_id: object | None) -> VisibleText:
    """The same branch as an OpenChatML document, including hidden frames."""
    messages = transcripts.branch(row, leaf_of(row, person, leaf_id))
    return as_debug_text(transcripts.document(row, messages, Audience.DEBUG))


def raw_frame(row: Conversation, message_id: object) -> VisibleText:
    """One frame as it is stored."""
    return as_debug_text(access.message_of(row, message_id).text)


class _Page:
    """Converts one branch. Holds its rows, and the data that is loaded once for all of them."""

    def __init__(self, row: Conversation, messages: Sequence[Message]) -> None:
        self._row = row
        self._messages = messages
        self._frames = {message.pk: transcripts.frame_of(message) for message in messages}
        self._tokens = _counts(self._frames)
        # A request may be megabytes long, so only its existence is read here.
        self._with_request = set(row.turns.exclude(request=None).values_list("pk", flat=True))
        self._continued = dict(row.turns.exclude(continued_message=None).values_list("pk", "continued_message__position"))
        self._calls: dict[str, Message] = {}
        self._replies: dict[str, Message] = {}
        for message in messages:
            if message.call_id and message.terminator == Terminator.CALL:
                self._calls.setdefault(message.call_id, message)
            elif message.call_id and message.role == Role.TOOL:
                self._replies.setdefault(message.call_id, message)
        callers = {message.turn_id for message in messages if message.terminator == Terminator.CALL and message.turn_id}
        self._files = {key: tuple(map(files.shown_file, rows)) for key, rows in store_files.of_turns(callers).items()}
        self._decisions = tool_cards.decisions_of(row) if self._calls else {}

    def groups(self) -> tuple[FrameGroup, ...]:
        """The frames by turn, in order: those of a question's files and of the question come first, then those of its answer. A turn that
        has stored no frame has an empty group."""
        cut: list[tuple[Turn | None, list[Message]]] = []
        follows_document = False
        for message in self._messages:
            turn, is_file = message.turn, is_document(self._frames[message.pk].header)
            # A question's files come before it, and belong to it.
            begins = (message.is_question or is_file) and not follows_document
            follows_document = is_file
            if not cut or begins or (turn and cut[-1][0] and turn != cut[-1][0]):
                cut.append((turn, [message]))
            else:
                cut[-1] = (cut[-1][0] or turn, [*cut[-1][1], message])
        silent = self._silent_turns()
        found: list[FrameGroup] = []
        for turn, messages in cut:
            empty = next((silent[message.pk] for message in messages if message.pk in silent), [])
            if turn is None and empty:
                turn = empty.pop()
            found.append(self._group(turn, messages))
            found += [self._group(other, []) for other in empty]
        return tuple(found)

    def _silent_turns(self) -> dict[UUID, list[Turn]]:
        """The turns without any frame, by question. No message refers to them."""
        questions = [message for message in self._messages if message.is_question]
        silent: dict[UUID, list[Turn]] = {}
        asked = self._row.turns.filter(question__in=questions, messages=None)
        for turn in asked.defer("request").order_by(*BY_TIME):
            silent.setdefault(turn.question_id, []).append(turn)
        return silent

    def _group(self, turn: Turn | None, messages: Sequence[Message]) -> FrameGroup:
        shown: list[ShownFrame] = []
        before = turn.started_at if turn else None
        for message in messages:
            is_of_turn = turn is not None and message.turn_id == turn.pk
            # A summary is written during the reasoning, and stored just before the answer: its time counts for the next frame.
            takes_time = is_of_turn and (message.author != Author.PRODUCT or message.role == Role.TOOL)
            shown.append(self._shown(message, turn if is_of_turn else None, before if takes_time else None))
            before = message.created_at if takes_time else before
        return FrameGroup(self._facts(turn, shown) if turn else None, tuple(shown))

    def _facts(self, turn: Turn, shown: Sequence[ShownFrame]) -> ShownTurn:
        """The turn, with a bar for each of its frames that has its own duration."""
        seconds = _seconds(turn.started_at, turn.finished_at) if turn.finished_at else None
        return ShownTurn(
            id=str(turn.pk),
            state=turn.state,
            state_name=turn.get_state_display(),
            fault=fault(turn.error_code),
            detail=as_debug_text(turn.error_detail),
            backend=turn.backend,
            model=turn.model,
            choice=turn.choice,
            effort=turn.effort,
            started_at=turn.started_at,
            seconds=seconds,
            input_tokens=turn.input_tokens,
            output_tokens=turn.output_tokens,
            turns_left_out=turn.turns_left_out,
            context_size=turn.context_size,
            context_used=turn.context_used,
            continued_position=str(self._continued.get(turn.pk, "")),
            has_request=turn.pk in self._with_request,
            bars=_bars(shown, seconds),
            files=self._files.get(turn.pk, ()),
        )

    def _shown(self, message: Message, turn: Turn | None, before: datetime | None) -> ShownFrame:
        frame = self._frames[message.pk]
        why = why_hidden(frame.header)
        return ShownFrame(
            message_id=str(message.pk),
            position=message.position,
            header=frame.header.as_written(),
            text=show(frame, Audience.DEBUG),
            sections=sections(frame),
            laid_out=_laid_out(frame),
            seen=None if why else show(frame, Audience.END_USER),
            why_hidden=gettext(why) if why else None,
            terminator=frame.terminator.value,
            fault=fault(message.error_code),
            header_as_it_came=as_debug_text(bytes(message.raw).decode("utf-8", "replace")) if message.raw else None,
            author=message.author,
            created_at=message.created_at,
            offset=_seconds(turn.started_at, message.created_at) if turn else None,
            took=_seconds(_began(message, before), message.created_at) if turn and before else None,
            characters=len(frame.body),
            tokens=self._tokens.get(message.pk),
            reply=_partner(message, self._replies.get(message.call_id)) if message.terminator == Terminator.CALL else None,
            call=_partner(message, self._calls.get(message.call_id)) if message.role == Role.TOOL else None,
            decision=self._decisions.get((message.turn_id, message.call_id), "") if message.terminator == Terminator.CALL else "",
        )


def _counts(frames: Mapping[UUID, Frame]) -> dict[UUID, int]:
    """The number of tokens in each body, without the markers around it; for the first ``MAX_COUNTED`` characters, and if the vocabulary is
    on this machine."""
    try:
        vocabulary = connected.gpt_oss_vocabulary()
    except VocabularyError:
        return {}
    ends = accumulate(len(frame.body) for frame in frames.values())
    return {key: len(vocabulary.encode(frame.body)) for (key, frame), end in zip(frames.items(), ends, strict=True) if end <= MAX_COUNTED}


def _partner(message: Message, other: Message | None) -> Partner | None:
    if other is None:
        return None
    return Partner(str(other.pk), other.position, abs(_seconds(message.created_at, other.created_at)))


def _began(message: Message, before: datetime) -> datetime:
    """When a frame of a turn began. ``before``: when the frame before it ended, or the turn began."""
    # A tool works from its call to its reply. A model waits first, for a slot or for a tool, and its frame has its key from its beginning.
    began = moment_of(message.pk) if message.role != Role.TOOL else None
    return began if began is not None and before <= began <= message.created_at else before


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()


def _laid_out(frame: Frame) -> VisibleText | None:
    """A JSON object or array with one value on each line. Bodies that already have several lines are left alone."""
    text = frame.body.strip()
    if not text.startswith(("{", "[")) or "\n" in text or len(text) > _MAX_LAID_OUT:
        return None
    laid_out = one_value_a_line(text)
    return as_debug_text(laid_out) if "\n" in laid_out else None
