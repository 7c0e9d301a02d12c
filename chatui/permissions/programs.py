"""Decides which stored answers and conversations a program may read, and which programs may read raw reasoning.

The answers are those to its owner, in conversations that are not deleted.

Each reading of reasoning is recorded. A key can have this permission only while its owner may see hidden channels. A program does not open
a debug view for each conversation. If the operator requires a second person to approve each view, no key may read any reasoning.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import F, QuerySet

from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.programs import ProgramAnswer, ProgramConversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access, attempts


def answer_of(person: User, answer_id: UUID, only_key: UUID | None) -> ProgramAnswer:
    """The answer with its turn, question and conversation. ``only_key``: the API key that must have requested it; None for any of the
    person's keys. Raises NotFoundError if the answer is not stored, was deleted, or is somebody else's: all look the same."""
    rows = _answers(person, only_key).filter(pk=answer_id)
    return access.existing(rows.select_related("turn__conversation", "turn__question").defer("turn__request").first())


def _answers(person: User, only_key: UUID | None) -> QuerySet[ProgramAnswer]:
    rows = ProgramAnswer.objects.filter(is_kept=True, turn__asked_by=person, turn__conversation__owner=F("turn__asked_by"))
    rows = rows.filter(turn__conversation__deleted_at=None, turn__asked_by__is_active=True)
    return rows if only_key is None else rows.filter(key=only_key)


def own_turns(person: User, only_key: UUID | None) -> QuerySet[Turn]:
    """The turns of the answers that the program may read. ``only_key`` as for ``answer_of``."""
    return Turn.objects.filter(program_answer__in=_answers(person, only_key))


def conversation_of(person: User, conversation_id: UUID, only_key: UUID | None, *, locked: bool = False) -> ProgramConversation:
    """A conversation that a program of this person began, with its row. ``only_key``: the key that must have begun it; None for any of the
    person's. ``locked``: lock it until the transaction ends. Raises NotFoundError as ``answer_of``; also once somebody else owns it."""
    rows = ProgramConversation.objects.filter(conversation=conversation_id, conversation__owner=person, conversation__owner__is_active=True)
    rows = rows.filter(conversation__deleted_at=None, conversation__handed_over_at=None, conversation__unfinished_until=None)
    rows = rows if only_key is None else rows.filter(key=only_key)
    rows = rows.select_for_update(of=("self",), no_key=True) if locked else rows
    return access.existing(rows.select_related("conversation").first())


READ, ASKED = "raw reasoning to program", "asked for raw reasoning"


def may_read(person: User) -> bool:
    """Whether this person's keys may read raw reasoning, if the keys have that permission.

    A key only ever sees its owner's conversations.
    """
    return access.can_see_hidden(person) and not environment().debug_approval


def record_reading(visitor: Visitor, conversation_id: UUID, prefix: str) -> None:
    """Record a response with raw reasoning to the key with that prefix, in its owner's conversation.

    Raises a database error if that fails.
    """
    record(READ, visitor, Conversation(pk=conversation_id, owner=visitor.user), detail=prefix)


def record_attempt(visitor: Visitor) -> None:
    """Record that a program requested raw reasoning and was refused. Raises a database error if that fails."""
    attempts.record_attempt(visitor, None, ASKED)
