"""Starts the turn of a program. The earlier messages are stored first, in the same transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.utils import timezone

from chatui.backends.context.token_budget import weight
from chatui.models import Conversation, Message, ProgramAnswer, Turn, User
from chatui.models.message import Author
from chatui.models.turn import TurnState
from chatui.permissions.programs import own_answers
from chatui.prompts.operators import instructions_for
from chatui.store import transcripts
from chatui.turns import start
from chatui.turns.programs import earlier_messages
from chatui.turns.programs.earlier_messages import UnknownCallError
from chatui.turns.programs.sealed_messages import unsealed
from chatui.turns.requests.by_program import EarlierMessage, ProgramAsk
from chatui.turns.start import Ask, Kind, NewConversation, Started, first_title
from chatui.turns.statements import asking
from renderer.frames import Frame, Header, Role


class NotStoredError(Exception):
    """A request that must not be stored cannot continue from a stored answer."""


class StillRunningError(Exception):
    """The answer that the program wants to continue from is still being written."""


def start_program(person: User, asked: ProgramAsk, lease_owner: str) -> Started:
    """Store the program's messages and create the turn. Call inside a transaction; safe to run twice.

    Raises:
        NotFoundError: this person has no such previous answer.
        NotStoredError: the request must not be stored, but continues from a stored answer.
        StillRunningError: the previous answer is still being written.
        UnknownCallError: there is a reply without a call, or no question at all.
        AskRefusedError, IntegrityError: as ``start.start``.
    """
    if asking.was_asked(person, asked.id):
        twin = Turn.objects.select_related(*_WITH).get(asked_by=person, client_id=asked.id)
        place = twin.messages.filter(author=Author.IMPORT).order_by("position").last()
        return replace(start.started_again(twin), program=replace(asked, continue_after=place.pk if place else None))
    asked, previous = _with_previous(person, _unsealed(person, asked))
    conversation = _conversation(person, asked, previous)
    earlier = _earlier_frames(asked, previous, instructions_for(person.group_names) if previous is None else "")
    leaf = (earlier_messages.store_first if previous is None else earlier_messages.store)(conversation, person, earlier.before)
    key = asking.existing_key(asked.key_id)
    ask = _ask(asked, conversation, leaf, previous if not earlier.before else None)
    tokens = sum(weight(frame.body) for frame, _ in (*earlier.before, *earlier.after))
    created = NewConversation(conversation, is_empty=not earlier.before) if previous is None else None
    started = start.start(person, replace(ask, key=key, tokens_before=int(tokens)), lease_owner, created)
    place = earlier_messages.store(conversation, person, earlier.after, started.turn) if earlier.after else None
    answer = ProgramAnswer(
        pk=asked.id,
        turn=started.turn,
        key_id=key,
        is_kept=asked.is_kept,
        orders=asked.standing_instructions,
        given=dict(asked.settings_as_sent),
    )
    asking.PROGRAM_ANSWERS.run([answer])
    if previous is not None:
        # Starting a turn took it out of the archive. Put it back where it was: a program's use must not move a person's conversation.
        Conversation.objects.filter(pk=conversation.pk).update(archived_at=conversation.archived_at)
    return replace(started, program=replace(asked, continue_after=place.pk if place else None))


def _unsealed(person: User, asked: ProgramAsk) -> ProgramAsk:
    """The request with its sealed messages opened. Sealed reasoning that is not this person's, or too old, is left out."""
    return replace(
        asked,
        before=tuple(
            each
            for message in asked.before
            for each in (unsealed(person, message) if isinstance(message, EarlierMessage) and message.sealed else (message,))
        ),
    )


_QUESTION = Header(Role.USER)
_WITH = ("conversation", "question", "continued_message", "asked_by")


def _with_previous(person: User, asked: ProgramAsk) -> tuple[ProgramAsk, Turn | None]:
    """The request, including the standing instructions of earlier turns, and the turn that it continues from."""
    if asked.previous is None:
        return asked, None
    if not asked.is_kept:
        raise NotStoredError
    previous = own_answers.answer_of(person, asked.previous, asked.only_key)
    if previous.turn.state == TurnState.RUNNING:
        raise StillRunningError
    return replace(asked, standing_instructions="\n\n".join(filter(None, (previous.orders, asked.standing_instructions)))), previous.turn


def _conversation(person: User, asked: ProgramAsk, previous: Turn | None) -> Conversation:
    """The conversation, with its open branch ending at the message after which the program continues."""
    if previous is None:
        questions = (each.text for each in asked.before if isinstance(each, EarlierMessage) and each.is_person)
        title = first_title(transcripts.storable(next(questions, asked.question or "")))
        row = Conversation(owner=person, title=title, effort=asked.effort, choice=asked.choice, archived_at=timezone.now())
        asking.CONVERSATIONS.run([row])
        return row
    transcripts.activate(previous.conversation, person, _last_of(previous))
    return previous.conversation


def _last_of(turn: Turn) -> Message:
    return next(reversed(transcripts.of_turn(turn)), turn.question)


def _ask(asked: ProgramAsk, conversation: Conversation, leaf: Message | None, continued: Turn | None) -> Ask:
    """The request for the turn. Without a question it continues the last one: that of ``continued``, otherwise ``leaf``."""
    if asked.question is not None:
        return Ask(Kind.SEND, asked.id, asked.effort, conversation.pk, choice=asked.choice, text=asked.question)
    question: UUID | None = continued.question_id if continued else leaf.pk if leaf else None
    turn = continued.pk if continued else None
    return Ask(Kind.CONTINUE, asked.id, asked.effort, conversation.pk, question=question, continued_turn=turn, choice=asked.choice)


@dataclass(frozen=True, slots=True)
class _EarlierFrames:
    """``before``: the frames up to the question, which is not one of them if the program sent it separately. ``after``: the frames after
    the question, which are already part of the answer: calls of the program's functions and their replies."""

    before: Sequence[tuple[Frame, Author]] = field(repr=False)
    after: Sequence[tuple[Frame, Author]] = field(default=(), repr=False)


def _earlier_frames(asked: ProgramAsk, previous: Turn | None, operators: str) -> _EarlierFrames:
    """The instructions, stored only as a record (``operators``: the operator's), and the earlier messages.

    Raises:
        UnknownCallError: there is a reply without a call, or no question at all.
    """
    instructions = list(_instruction_frames(asked, operators))
    frames = list(earlier_messages.frames_of(asked.before, earlier_messages.calls_of(previous) if previous else {}))
    if asked.question is not None:
        return _EarlierFrames([*instructions, *frames])
    asked_at = max((place for place, (frame, _) in enumerate(frames) if frame.header == _QUESTION), default=-1)
    if asked_at >= 0:
        return _EarlierFrames([*instructions, *frames[: asked_at + 1]], frames[asked_at + 1 :])
    if previous is None:
        raise UnknownCallError
    return _EarlierFrames([], [*instructions, *frames])


def _instruction_frames(asked: ProgramAsk, operators: str) -> Iterator[tuple[Frame, Author]]:
    if operators:
        yield Frame(Header(Role.DEVELOPER), operators), Author.PRODUCT
    if asked.all_instructions:
        yield Frame(Header(Role.DEVELOPER), transcripts.storable(asked.all_instructions)), Author.PERSON
