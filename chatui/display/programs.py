"""Prepares what programs asked for: reads and deletes their stored answers, with their input, and the functions that they declared.

Only the program that declared a function in its request may see calls to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from chatui.models.message import Author, Message
from chatui.models.programs import ProgramAnswer, ProgramConversation
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import programs
from chatui.store import transcripts
from chatui.tools.functions import model_name
from renderer.frame_kinds import is_preamble
from renderer.frames import Role
from renderer.gate import Audience, VisibleText, may_see, show

_FUNCTIONS = "functions."


Functions = Mapping[str, str]
"""The program's names for its functions, by the recipient of the calls."""


def functions_of(given: Mapping[str, object]) -> Functions:
    """The program's names for the functions of a request with these settings, by the recipient of the calls."""
    names = given.get("functions")
    return {f"{_FUNCTIONS}{model_name(name)}": name for name in names if isinstance(name, str)} if isinstance(names, list) else {}


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A stored message."""

    key: str
    role: str
    """Who wrote it."""
    text: VisibleText = field(repr=False)
    is_preamble: bool = False
    is_whole: bool = True
    call_id: str = ""
    """Set if it is a call to one of the program's functions, or the reply to one."""
    function: str = ""
    """The program's name for that function."""


def is_running(person: User, answer_id: UUID, only_key: UUID | None) -> bool:
    """Whether an answer is still being written. ``only_key``: see ``permissions.programs.answer_of``."""
    return bool(programs.answer_of(person, answer_id, only_key).turn.state == TurnState.RUNNING)


def input_of(person: User, answer_id: UUID, only_key: UUID | None) -> list[StoredPart]:
    """The messages up to the question of an answer, in order, as far as a program may see them."""
    turn = programs.answer_of(person, answer_id, only_key).turn
    given = [message for message in transcripts.of_turn(turn) if message.author == Author.IMPORT]
    return list(_parts(_handed_back([*transcripts.branch(turn.conversation, turn.continued_message or turn.question), *given])))


def parts_of(person: User, keys: Collection[UUID], only_key: UUID | None) -> list[StoredPart]:
    """The messages with these keys that belong to answers which the program may read, and that it may see."""
    return list(_parts(transcripts.of_turns(keys, programs.own_turns(person, only_key).exclude(state=TurnState.RUNNING))))


def output_of(person: User, answer_id: UUID, only_key: UUID | None) -> list[StoredPart]:
    """The visible messages of an answer and its calls, in order."""
    messages = _handed_back(transcripts.of_turn(programs.answer_of(person, answer_id, only_key).turn))
    return list(_parts([message for message in messages if message.author != Author.IMPORT]))


def delete_answer(person: User, answer_id: UUID, only_key: UUID | None) -> None:
    """Delete an answer, so that no program can find it. Its conversation goes into the bin, unless programs can find other answers in it,
    or a person has asked in it."""
    row = programs.answer_of(person, answer_id, only_key)
    conversation = row.turn.conversation
    row.delete()
    others = Turn.objects.filter(conversation=conversation).exclude(pk=row.turn_id)
    # If a person has asked in it, it is no longer in the archive, where programs' conversations are.
    is_continued = others.filter(conversation__archived_at=None).exists()
    is_continued = is_continued or ProgramConversation.objects.filter(conversation=conversation).exists()  # deleted by its own id
    if not is_continued and not ProgramAnswer.objects.filter(turn__in=others).exists():
        conversation.deleted_at = timezone.now()
        conversation.save(update_fields=["deleted_at"])


def parts_among(messages: Sequence[Message]) -> Iterator[StoredPart]:
    """What a program may see of these messages, which it sent or was sent."""
    return _parts(_handed_back(list(messages)))


def _parts(messages: Sequence[Message]) -> Iterator[StoredPart]:
    """The parts of these messages that a program may see. One statement reads the functions that programs offered in their turns."""
    rows = ProgramAnswer.objects.filter(turn__in={message.turn_id for message in messages if message.turn_id}).values_list("turn", "given")
    by_turn = {turn: functions_of(given) for turn, given in rows}
    for message in messages:
        frame, own = transcripts.frame_of(message), _own_functions(message, by_turn)
        header = frame.header
        if message.is_summary or not may_see(header, Audience.PROGRAM, own):
            continue
        text = show(frame, Audience.PROGRAM, own)
        key = message.pk.hex
        if (recipient := (header.name if header.role == Role.TOOL else header.recipient) or "") in own:
            yield StoredPart(key, header.role, text, call_id=message.call_id, function=own[recipient])
        else:
            yield StoredPart(key, header.role, text, is_preamble(header), message.is_complete)


def _own_functions(message: Message, by_turn: Mapping[UUID, Functions]) -> Functions:
    """The program's own functions, to which a message may be addressed. Calls and replies that a program sent as earlier messages are its
    own, whatever their names."""
    known = by_turn.get(message.turn_id, {}) if message.turn_id else {}
    if message.author != Author.IMPORT:
        return known
    recipient = message.recipient if message.recipient.startswith(_FUNCTIONS) else message.name
    is_named = recipient in known or not recipient.startswith(_FUNCTIONS)
    return known if is_named else {**known, recipient: recipient.removeprefix(_FUNCTIONS)}


def _handed_back(branch: list[Message]) -> list[Message]:
    """The branch without the calls that were answered here, and without their replies. Their arguments did not match a function, so they
    may be any text of the model, and no program has received them."""
    answered = {message.call_id for message in branch if message.role == Role.TOOL and message.author != Author.IMPORT}
    return [message for message in branch if not message.call_id or message.call_id not in answered]
