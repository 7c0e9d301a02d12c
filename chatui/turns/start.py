"""Starts a turn: checks the question, stores it, and creates the turn's row, in one transaction.

Nothing is sent to a model here. ``running.launch`` then runs the new turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.env import environment
from chatui.model_servers import model_choice
from chatui.models import Conversation, Message, Turn, User
from chatui.models.conversation import Effort
from chatui.models.message import Author
from chatui.models.turn import TurnState
from chatui.permissions import access
from chatui.store import continuation, transcripts
from chatui.turns import sweep
from renderer.errors import ErrorCode
from renderer.frames import Frame, Header, Role
from renderer.gate import Audience, show

LEASE = timedelta(seconds=15)
TITLE_CHARS = 60


class Kind(StrEnum):
    """How a question relates to the tree: a new one at the end, a sibling of an old one, an old one again, or one whose answer is
    continued."""

    SEND = "send"
    EDIT = "edit"
    REGENERATE = "regenerate"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person asks for. ``client_id`` makes it idempotent; ``conversation`` None starts a new one.

    ``continued_turn``: the turn whose answer is to be continued, with the settings of that turn. ``choice``: a back end or one of its
    models; empty for the person's default, None for the conversation's current choice.
    """

    kind: Kind
    client_id: UUID
    effort: str
    conversation: object | None = None
    question: object | None = None
    continued_turn: object | None = None
    choice: str | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Started:
    """A stored turn. ``is_new`` is False where the same ask came twice; ``continued_turn`` is the turn whose answer it continues."""

    turn: Turn
    after: UUID | None
    kind: Kind
    is_new: bool = True
    continued_turn: UUID | None = None


class AskRefusedError(Exception):
    """The ask was refused, and nothing was stored. ``code`` carries the message for the person."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.value)
        self.code = code


def start(person: User, ask: Ask, lease_owner: str) -> Started:
    """Store the question and create the turn.

    Raises:
        AskRefusedError: the text is empty or too long, an answer is still being written here or too many elsewhere, the answer cannot be
            continued, or the model is not available to this person.
        access.NotFoundError: the conversation, the question or the answer does not belong to this person.
    """
    if ask.kind is not Kind.CONTINUE and ask.effort not in Effort:
        raise AskRefusedError(ProductCode.COMMAND)
    text = _checked(ask)
    try:
        with transaction.atomic():
            # A page may ask again over a new socket, in another process, while its first ask is still being stored: one after the other.
            User.objects.select_for_update(no_key=True).only("pk").get(pk=person.pk)
            return _twin(person, ask) or _start(person, ask, text, lease_owner)
    except IntegrityError:
        # Database constraints make an ask unique, and a conversation's running turn. Checks in code could race.
        if twin := _twin(person, ask):
            return twin
        raise AskRefusedError(ProductCode.BUSY) from None


def _twin(person: User, ask: Ask) -> Started | None:
    """What the same ask has already started, if it was received before."""
    turn = Turn.objects.filter(asked_by=person, client_id=ask.client_id).select_related("conversation", "question").first()
    if turn is None:
        return None
    continued_turn = access.turn_of(turn.conversation, ask.continued_turn).pk if ask.continued_turn else None
    return Started(
        turn, transcripts.question_before(turn.conversation, turn.question), ask.kind, is_new=False, continued_turn=continued_turn
    )


def _checked(ask: Ask) -> str:
    text = transcripts.storable(ask.text)
    if ask.kind in (Kind.SEND, Kind.EDIT) and not text.strip():
        raise AskRefusedError(ProductCode.EMPTY)
    if len(text) > environment().max_message_chars:
        raise AskRefusedError(ProductCode.TOO_LARGE)
    return text


def _start(person: User, ask: Ask, text: str, lease_owner: str) -> Started:
    if ask.conversation is None:
        conversation = _new_conversation(person, text, ask.effort)
    else:
        conversation = access.own_conversation(person, ask.conversation)
        sweep.interrupt_abandoned(conversation)
    if _running_for(person).exclude(conversation=conversation).count() >= environment().max_running_answers:
        raise AskRefusedError(ProductCode.TOO_MANY)
    if ask.kind is Kind.CONTINUE:
        return _continue_answer(person, conversation, ask, lease_owner)
    wanted = conversation.choice if ask.choice is None else ask.choice
    choice = _chosen(person, wanted)
    question = _question(person, conversation, ask, text)
    transcripts.activate(conversation, person, question)
    turn = Turn.objects.create(
        conversation=conversation,
        question=question,
        asked_by=person,
        client_id=ask.client_id,
        effort=ask.effort,
        choice=choice,
        lease_owner=lease_owner,
        lease_until=timezone.now() + LEASE,
    )
    conversation.effort = ask.effort
    conversation.choice = wanted
    conversation.active_at = timezone.now()
    conversation.save(update_fields=["effort", "choice", "active_at"])
    return Started(turn, transcripts.question_before(conversation, question), ask.kind)


def _continue_answer(person: User, conversation: Conversation, ask: Ask, lease_owner: str) -> Started:
    """A turn that continues the answer of an earlier one. What came after that answer remains, on a branch of its own."""
    cut = access.turn_of(conversation, ask.continued_turn)
    end = continuation.end_of(cut)
    if cut.state == TurnState.RUNNING:
        raise AskRefusedError(ProductCode.BUSY)
    if end is None or continuation.continuation_of(cut, end) is None:
        raise AskRefusedError(ProductCode.COMMAND)
    transcripts.activate(conversation, person, end)
    turn = Turn.objects.create(
        conversation=conversation,
        question=cut.question,
        asked_by=person,
        client_id=ask.client_id,
        effort=cut.effort,
        choice=_chosen(person, cut.choice),
        continued_message=end,
        lease_owner=lease_owner,
        lease_until=timezone.now() + LEASE,
    )
    conversation.active_at = timezone.now()
    conversation.save(update_fields=["active_at"])
    return Started(turn, transcripts.question_before(conversation, cut.question), ask.kind, continued_turn=cut.pk)


def _chosen(person: User, choice: str) -> str:
    """Checked for each turn: a model that a person could use yesterday may have been withdrawn since."""
    try:
        return model_choice.chosen(person, choice)
    except model_choice.NoSuchModelError as error:
        raise AskRefusedError(error.code) from None


def _running_for(person: User) -> QuerySet[Turn]:
    return Turn.objects.filter(asked_by=person, state=TurnState.RUNNING, lease_until__gte=timezone.now())


def _new_conversation(person: User, text: str, effort: str) -> Conversation:
    return Conversation.objects.create(
        owner=person,
        title=transcripts.title_of(show(Frame(Header(Role.USER), text), Audience.END_USER), TITLE_CHARS) or "New conversation",
        effort=effort,
    )


def _question(person: User, conversation: Conversation, ask: Ask, text: str) -> Message:
    if ask.kind is Kind.SEND:
        parent = transcripts.active_leaf(conversation, person) or _root(conversation)
    else:
        old = access.message_of(conversation, ask.question)
        if old.role != Role.USER or not old.is_visible:
            raise access.NotFoundError
        if ask.kind is Kind.REGENERATE:
            return old
        parent = old.parent
    return transcripts.append(conversation, parent, Frame(Header(Role.USER), text), Author.PERSON)


def _root(conversation: Conversation) -> Message | None:
    """The operator's instructions, stored as the first frame so that the transcript is complete. None where there are none."""
    instructions = environment().instructions
    if not instructions:
        return None
    return transcripts.append(conversation, None, Frame(Header(Role.DEVELOPER), instructions), Author.PRODUCT)
