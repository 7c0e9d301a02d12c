"""A program's stored answer, or its whole conversation, read again as the events that the program was sent.

They are those of a stream that is given the stored messages once more, so that a response is the same object whenever it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db.models import Q

from chatui.codes import code_of
from chatui.display import activities
from chatui.display.programs import StoredPart, functions_of, parts_among
from chatui.models.message import Author, Message
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import programs
from chatui.store import transcripts
from chatui.turns.calls.requested import unanswered
from chatui.turns.leases import fresh_pieces, lines_in
from chatui.turns.program_conversations import ConversationHead, head_of
from chatui.turns.program_start import place_in
from chatui.turns.streams.program import NO_TOOLS, Called, Ended, MoreProgramText, ProgramEvent, ProgramStream
from renderer.activities.activity import Activity, by_place
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Frame, Role, Terminator
from renderer.gate import Audience, may_see


@dataclass(frozen=True, slots=True)
class StoredProgramAnswer:
    """A stored answer."""

    id: UUID
    turn_id: UUID
    conversation_id: UUID
    process: str
    """The process that runs its turn."""
    model: str
    state: str
    created_at: datetime
    given: Mapping[str, Any] = field(repr=False)
    """The settings of its request."""
    events: tuple[ProgramEvent, ...] = field(repr=False)
    """Those that its program was sent, as far as they are stored; the last is its end, if it has ended."""


def stored_answer(person: User, answer_id: UUID, only_key: UUID | None, audience: Audience = Audience.PROGRAM) -> StoredProgramAnswer:
    """A person's stored answer, as ``audience`` may see it. ``only_key``: see ``permissions.programs.answer_of``.

    Raises:
        NotFoundError: the person has no such answer.
    """
    row = programs.answer_of(person, answer_id, only_key)
    # In this order: a frame that is completed meanwhile is in the pieces, in the messages, or in both.
    pieces = fresh_pieces(row.turn)
    return _answer(row, transcripts.of_turn(row.turn), audience, pieces)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A system or developer message that a program put into its conversation. Only programs that may read the conversation are given it."""

    key: str
    text: str = field(repr=False)


Part = StoredPart | StoredProgramAnswer | Instruction


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation that a program began. ``parts``: in order, what it sent, and each answer in its place, once that has ended."""

    head: ConversationHead
    parts: tuple[Part, ...] = field(repr=False)


def stored_conversation(person: User, conversation_id: UUID, only_key: UUID | None) -> StoredConversation:
    """A program's conversation, as any program may see it. ``only_key``: see ``permissions.programs.conversation_of``. The number of
    statements does not depend on its length.

    Raises:
        NotFoundError: there is no such conversation for the key.
    """
    program_row = programs.conversation_of(person, conversation_id, only_key)
    row, place = program_row.conversation, place_in(program_row)
    branch = transcripts.branch(row, place.leaf)
    keys, turns = [message.pk for message in branch], {message.turn_id for message in branch if message.turn_id}
    answers = ProgramAnswer.objects.filter(Q(turn__in=turns) | Q(turn__question__in=keys), is_kept=True, key=program_row.key_id)
    by_turn = {answer.turn_id: answer for answer in answers.select_related("turn").defer("turn__request")}
    asked = {answer.turn.question_id for answer in by_turn.values()}
    # A person's answer to it on a page, which has no key, takes nothing away from the program.
    deleted = set(Turn.objects.filter(question__in=keys, key__isnull=False).values_list("question", flat=True)) - asked
    orders: dict[str | None, list[Part]] = {}
    for order in program_row.orders:
        orders.setdefault(order["after"], []).append(Instruction(order["id"], order["text"]))
    sent = [message for message in branch if (message.pk not in deleted if message.turn_id is None else _is_sent(message, by_turn))]
    shown = {part.key: part for part in parts_among(sent)}
    parts: list[Part] = [*orders.pop(None, ())]
    for turn_id, group in groupby(branch, lambda message: message.turn_id):
        messages, after = list(group), list[Part]()
        for message in messages:
            if message.pk.hex in shown:
                parts.append(shown[message.pk.hex])
            # What was said between two answers stands between them.
            (parts if turn_id is None else after).extend(orders.pop(message.pk.hex, ()))
        if turn_id in by_turn and by_turn[turn_id].turn.state != TurnState.RUNNING:
            parts.append(_answer(by_turn[turn_id], messages, Audience.PROGRAM))
        parts += after
    return StoredConversation(head_of(program_row), (*parts, *(part for rest in orders.values() for part in rest)))


def visible_texts(person: User, conversation_id: UUID, only_key: UUID | None) -> list[str]:
    """The texts of a program's conversation that it sent or was shown: messages, calls of its functions, and their outputs. Raises as
    ``stored_conversation``."""
    texts = list[str]()
    for part in stored_conversation(person, conversation_id, only_key).parts:
        if isinstance(part, StoredProgramAnswer):
            texts += [str(event.text) for event in part.events if isinstance(event, MoreProgramText)]
            texts += [event.name + event.arguments for event in part.events if isinstance(event, Called)]
        else:
            texts.append(part.text)
    return texts


def _is_sent(message: Message, answers: Mapping[UUID, ProgramAnswer]) -> bool:
    """Whether a program sent it for one of these answers."""
    return message.turn_id in answers and message.author == Author.IMPORT


Pieces = Sequence[tuple[UUID, Frame]]
"""The frames of a running turn that its process has stored in pieces, in order, each with the key of its message."""


def _answer(row: ProgramAnswer, messages: list[Message], audience: Audience, pieces: Pieces = ()) -> StoredProgramAnswer:
    turn = row.turn
    return StoredProgramAnswer(
        id=row.pk,
        turn_id=turn.pk,
        conversation_id=turn.conversation_id,
        process=turn.lease_owner,
        model=turn.choice,
        state=turn.state,
        created_at=turn.started_at,
        given=row.given,
        events=tuple(_streamed(row, messages, audience, pieces)),
    )


def _streamed(row: ProgramAnswer, messages: list[Message], audience: Audience, pieces: Pieces) -> Iterator[ProgramEvent]:
    """Messages that the program sent are not among them, nor calls that were answered here."""
    turn, names = row.turn, functions_of(row.given)
    stream = ProgramStream(audience, own=names, must_call=bool(row.given.get("must_call")), hosted=row.given.get("hosted") or NO_TOOLS)
    frames = [transcripts.frame_of(message) for message in messages]
    written = [(message, frame) for message, frame in zip(messages, frames, strict=True) if message.author != Author.IMPORT]
    steps = {place: lines for message, _ in written if message.is_summary for place, lines in by_place(message.activities).items()}
    # Of a running turn, what no message holds yet. Only the last frame is still open. A tool's reply comes once it is a message, which says
    # whether the tool failed.
    keys = {message.pk for message in messages}
    pieces = [(key, frame) for key, frame in pieces if key not in keys]
    steps |= _written_lines(pieces)
    unfinished = [(key, frame) for key, frame in pieces if lines_in(frame) is None and frame.header.role != Role.TOOL]
    for message, frame in written:
        # Lines without a place, of an earlier version, have that of the summary.
        lines = steps.get("" if message.is_summary else message.pk.hex, ())
        _play(stream, message.pk, [] if message.is_summary else _events_of(message, frame), lines)
    for place, (key, frame) in enumerate(unfinished, start=1):
        end = Terminator.CALL if frame.header.recipient else Terminator.END
        closed = [FrameClosed(end)] if place < len(unfinished) else []
        _play(stream, key, [FrameOpened(frame.header), FrameText(frame.body), *closed], steps.get(key.hex, ()))
    if turn.state != TurnState.RUNNING:
        # Calls are checked once the sampling is over, and handed back with the end of the turn.
        own = {message.call_id for message, frame in written if message.recipient in names and may_see(frame.header, audience, names)}
        functions = {recipient.partition(".")[2]: name for recipient, name in names.items()}
        for frame in unanswered(frames):
            if frame.header.call_id in own:
                stream.call(frame, functions)
        code = code_of(turn.error_code) if turn.error_code else None
        stream.end(Ended(turn.state, code, turn.input_tokens, turn.output_tokens, at=turn.finished_at))
    yield from stream.taken()


def _events_of(message: Message, frame: Frame) -> list[RawEvent]:
    error = code_of(message.error_code) if message.error_code else None
    return [FrameOpened(frame.header), FrameText(frame.body), FrameClosed(frame.terminator if message.is_complete else None, error)]


def _written_lines(frames: Pieces) -> dict[str, list[Activity]]:
    """The lines in pieces, by the frame that a program saw before each."""
    found: dict[str, list[Activity]] = {}
    for lines, places in (read for _, frame in frames if (read := lines_in(frame)) is not None):
        for line, place in zip(lines, places, strict=False):
            found.setdefault(place.hex, []).append(line)
    return found


def _play(stream: ProgramStream, key: UUID, events: Sequence[RawEvent], lines: Iterable[Activity]) -> None:
    """Give the stream the events of a frame, with the lines that appeared while it was the last one."""
    for event in events[:1]:
        stream.take(event, key)
    for line in lines:
        stream.step(activities.english(line))
    for event in events[1:]:
        stream.take(event, key)
