"""Prepares what programs asked for: reads and deletes their stored answers, with their input, and the functions that they declared.

Only the program that declared a function in its request may see calls to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from chatui.codes import code_of
from chatui.display import activities
from chatui.models.message import Author, Message
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import programs
from chatui.store import transcripts
from chatui.tools.callers import model_name
from renderer.activities.activity import from_stored
from renderer.errors import ErrorCode
from renderer.frame_kinds import is_answer, is_preamble, is_reasoning
from renderer.frames import Role, Terminator
from renderer.gate import Audience, VisibleText, may_see, show

_FUNCTIONS = "functions."


@dataclass(frozen=True, slots=True)
class ByTurn:
    """For each turn, the program's names for its functions, by the recipient of the calls."""

    turns: Mapping[UUID, Mapping[str, str]] = field(repr=False)

    def of(self, message: Message) -> Mapping[str, str]:
        """The functions for a message. Calls and replies that a program sent as earlier messages are its own, whatever their names."""
        known = self.turns.get(message.turn_id, {}) if message.turn_id else {}
        if message.author != Author.IMPORT:
            return known
        recipient = message.recipient if message.recipient.startswith(_FUNCTIONS) else message.name
        is_named = recipient in known or not recipient.startswith(_FUNCTIONS)
        return known if is_named else {**known, recipient: recipient.removeprefix(_FUNCTIONS)}


def by_turn(turn_ids: Iterable[UUID | None]) -> ByTurn:
    """The functions of these turns; none for turns that no program asked for. One statement."""
    rows = ProgramAnswer.objects.filter(turn__in={each for each in turn_ids if each}).values_list("turn", "given")
    return ByTurn({turn: _named(given) for turn, given in rows})


def _named(given: Mapping[str, object]) -> dict[str, str]:
    names = given.get("functions")
    return {f"{_FUNCTIONS}{model_name(name)}": name for name in names if isinstance(name, str)} if isinstance(names, list) else {}


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A stored message. ``role``: who wrote it. ``steps``: if it is a summary of the reasoning, its lines.

    ``call_id``: if it is a call to one of the program's functions, or the reply to one; ``function`` is then the program's name for the
    function. ``is_thought``: raw reasoning.
    """

    key: str
    role: str
    text: VisibleText = field(repr=False)
    is_preamble: bool = False
    is_whole: bool = True
    steps: tuple[VisibleText, ...] | None = field(default=None, repr=False)
    is_thought: bool = False
    call_id: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class StoredProgramAnswer:
    """A stored answer. ``given``: the settings of its request; ``process``: the process that runs its turn."""

    id: UUID
    turn_id: UUID
    conversation_id: UUID
    process: str
    model: str
    state: str
    code: ErrorCode | None
    created_at: datetime
    finished_at: datetime | None
    input_tokens: int | None
    output_tokens: int | None
    given: Mapping[str, Any] = field(repr=False)
    parts: tuple[StoredPart, ...] = field(repr=False)


def stored_answer(person: User, answer_id: UUID, only_key: UUID | None, audience: Audience = Audience.PROGRAM) -> StoredProgramAnswer:
    """A person's stored answer, as ``audience`` may see it. ``only_key``: see ``own_answers.answer_of``.

    Raises:
        NotFoundError: the person has no such answer.
    """
    row = programs.answer_of(person, answer_id, only_key)
    turn = row.turn
    return StoredProgramAnswer(
        id=row.pk,
        turn_id=turn.pk,
        conversation_id=turn.conversation_id,
        process=turn.lease_owner,
        model=turn.choice,
        state=turn.state,
        code=code_of(turn.error_code) if turn.error_code else None,
        created_at=turn.started_at,
        finished_at=turn.finished_at,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        given=row.given,
        parts=tuple(_streamed(row, transcripts.of_turn(turn), audience)),
    )


def input_of(person: User, answer_id: UUID, only_key: UUID | None) -> list[StoredPart]:
    """The messages up to the question of an answer, in order, as far as a program may see them.

    Raises:
        NotFoundError: the person has no such answer.
    """
    turn = programs.answer_of(person, answer_id, only_key).turn
    given = [message for message in transcripts.of_turn(turn) if message.author == Author.IMPORT]
    branch = _handed_back([*transcripts.branch(turn.conversation, _before(turn)), *given])
    functions = by_turn(message.turn_id for message in branch)
    return [part for part in _parts(branch, functions) if part.steps is None]


def _before(turn: Turn) -> Message:
    """The message after which the turn began."""
    return turn.continued_message or turn.question


def _streamed(row: ProgramAnswer, messages: list[Message], audience: Audience) -> Iterable[StoredPart]:
    """The parts of an answer as they were streamed. Left out are messages that the model wrote in a person's role, messages that the
    program sent, and calls that were answered here."""
    calls = _unanswered(messages)
    if row.given.get("must_call") and not any(m.terminator == Terminator.CALL and m.author != Author.IMPORT for m in messages):
        # Text that was written instead of a required call was not streamed either.
        messages = [message for message in messages if not is_answer(transcripts.header_of(message))]
    functions = by_turn([row.turn_id])
    wants_summary = bool((row.given.get("reasoning") or {}).get("summary"))
    for part in _parts([message for message in messages if message.author != Author.IMPORT], functions, audience):
        if part.role == Role.ASSISTANT and (not part.function or part.call_id in calls):
            yield part if part.steps is None or wants_summary else replace(part, steps=())


def delete_answer(person: User, answer_id: UUID, only_key: UUID | None) -> None:
    """Delete an answer, so that no program can find it. Its conversation goes into the bin, unless programs can find other answers in it,
    or a person has asked in it.

    Raises:
        NotFoundError: the person has no such answer.
    """
    row = programs.answer_of(person, answer_id, only_key)
    conversation = row.turn.conversation
    row.delete()
    others = Turn.objects.filter(conversation=conversation).exclude(pk=row.turn_id)
    if not ProgramAnswer.objects.filter(turn__in=others).exists() and not _is_continued(others):
        conversation.deleted_at = timezone.now()
        conversation.save(update_fields=["deleted_at"])


def _is_continued(others: Any) -> bool:
    """Whether a person has asked in the conversation too: then it is not in the archive, where programs' conversations are."""
    return bool(others.filter(conversation__archived_at=None).exists())


def _parts(messages: Iterable[Message], functions: ByTurn, audience: Audience = Audience.PROGRAM) -> Iterable[StoredPart]:
    for message in messages:
        frame, own = transcripts.frame_of(message), functions.of(message)
        header = frame.header
        if not may_see(header, audience, own):
            continue
        text = show(frame, audience, own)
        key = message.pk.hex
        if message.is_summary:
            steps = tuple(map(activities.english, from_stored(message.activities)))
            yield StoredPart(key, Role.ASSISTANT, VisibleText.joined(()), steps=steps)
        elif (recipient := (header.name if header.role == Role.TOOL else header.recipient) or "") in own:
            yield StoredPart(key, header.role, text, call_id=message.call_id, function=own[recipient])
        else:
            yield StoredPart(key, header.role, text, is_preamble(header), message.is_complete, is_thought=is_reasoning(header))


def _handed_back(branch: list[Message]) -> list[Message]:
    """The branch without the calls that were answered here, and without their replies. Their arguments did not match a function, so they
    may be any text of the model, and no program has received them."""
    answered = {message.call_id for message in branch if message.role == Role.TOOL and message.author != Author.IMPORT}
    return [message for message in branch if not message.call_id or message.call_id not in answered]


def _unanswered(messages: Iterable[Message]) -> set[str]:
    """The ids of calls that have no reply among these messages."""
    rows = list(messages)
    replied = {message.call_id for message in rows if message.role == Role.TOOL}
    return {message.call_id for message in rows if message.terminator == Terminator.CALL} - replied
