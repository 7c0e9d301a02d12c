"""Starts the turn of a program: what was said before the question is stored first, in the same transaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from django.utils import timezone

from chatui.env import environment
from chatui.models import ApiKey, Conversation, Message, ProgramAnswer, Turn, User
from chatui.models.message import Author
from chatui.models.turn import TurnState
from chatui.permissions import own_answers
from chatui.store import transcripts
from chatui.turns import start
from chatui.turns.asked.by_program import ProgramAsk, Said
from chatui.turns.start import Ask, Kind, Started, first_title
from renderer.frame_kinds import ANSWER, PREAMBLE
from renderer.frames import Frame, Header, Role


class NotStoredError(Exception):
    """Nothing that is not kept can go on from something that is."""


class StillRunningError(Exception):
    """The answer that the program goes on from is still being written."""


def start_program(person: User, asked: ProgramAsk, lease_owner: str) -> Started:
    """Store what the program gives and create the turn. Call inside a transaction; it may be run twice.

    Raises:
        NotFoundError: there is no such previous answer of this person's.
        NotStoredError, StillRunningError: see there.
        AskRefusedError, IntegrityError: as ``start.start``.
    """
    twin = Turn.objects.filter(asked_by=person, client_id=asked.id).select_related(*_WITH).first()
    if twin is not None:
        return replace(start.started_again(twin), program=asked)
    asked = _with_previous(person, asked)
    conversation = _conversation(person, asked)
    _say_before(conversation, person, asked)
    ask = Ask(Kind.SEND, asked.id, asked.effort, conversation.pk, choice=asked.choice, text=asked.question)
    started = start.start(person, ask, lease_owner)
    key = ApiKey.objects.filter(pk=asked.key_id).first()
    given = dict(asked.given)
    ProgramAnswer.objects.create(pk=asked.id, turn=started.turn, key=key, is_kept=asked.is_kept, orders=asked.carried, given=given)
    # It stays where it was: in the archive, unless its person went on in it or put it elsewhere. Asking took it to their list.
    Conversation.objects.filter(pk=conversation.pk).update(archived_at=conversation.archived_at)
    return replace(started, program=asked)


_WITH = ("conversation", "question", "continued_message", "asked_by")


def _with_previous(person: User, asked: ProgramAsk) -> ProgramAsk:
    """With what the messages before it told the model to do."""
    if asked.previous is None:
        return asked
    if not asked.is_kept:
        raise NotStoredError
    previous = own_answers.answer_of(person, asked.previous)
    if previous.turn.state == TurnState.RUNNING:
        raise StillRunningError
    return replace(asked, carried="\n\n".join(filter(None, (previous.orders, asked.carried))))


def _conversation(person: User, asked: ProgramAsk) -> Conversation:
    """The conversation, open at the place behind which the program goes on."""
    if asked.previous is None:
        first = next((said.text for said in asked.before if said.is_person), asked.question)
        title = first_title(transcripts.storable(first))
        return Conversation.objects.create(owner=person, title=title, effort=asked.effort, choice=asked.choice, archived_at=timezone.now())
    turn = own_answers.answer_of(person, asked.previous).turn
    transcripts.activate(turn.conversation, person, _last_of(turn))
    return turn.conversation


def _last_of(turn: Turn) -> Message:
    return next(reversed(transcripts.of_turn(turn)), turn.question)


def _say_before(conversation: Conversation, person: User, asked: ProgramAsk) -> None:
    """Store the instructions, as a record of what the model was told, and the messages before the question."""
    leaf = transcripts.active_leaf(conversation, person)
    frames = [(frame, author, transcripts.Kept()) for frame, author in _frames_before(asked, is_first=leaf is None)]
    if frames:
        # Together: one by one, thousands of them would keep all other writes of the process waiting, and cost other turns their leases.
        last = transcripts.append_chain(conversation, leaf, frames)
        transcripts.activate(conversation, person, last)


def _frames_before(asked: ProgramAsk, *, is_first: bool) -> Iterator[tuple[Frame, Author]]:
    if is_first and (instructions := environment().instructions):
        yield Frame(Header(Role.DEVELOPER), instructions), Author.PRODUCT
    if asked.orders:
        yield Frame(Header(Role.DEVELOPER), transcripts.storable(asked.orders)), Author.PERSON
    for said in asked.before:
        # That it is a model's is what the program says, and nobody here knows.
        yield _frame(said), Author.PERSON if said.is_person else Author.IMPORT


def _frame(said: Said) -> Frame:
    text = transcripts.storable(said.text)
    if said.is_person:
        return Frame(Header(Role.USER), text)
    return Frame(PREAMBLE if said.is_preamble else ANSWER, text)
