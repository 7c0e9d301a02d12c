"""Carries out the commands that a browser sends over the WebSocket.

Synchronous: each runs in a thread. ``access`` decides whether the person may do it, ``turns.start`` stores what they asked for. A refused
command raises an error with a code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.urls import reverse

from chatui import wire
from chatui.audit_log.record import Visitor
from chatui.codes import ProductCode
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.turns import sweep
from chatui.turns.running import LEASE_OWNER
from chatui.turns.start import Ask, AskRefusedError, Kind, Started, start

if TYPE_CHECKING:
    from chatui.models import User


@dataclass(frozen=True, slots=True)
class Following:
    """What a socket follows: a conversation and its running turn, or its last turn where none runs."""

    conversation_id: UUID
    turn_id: UUID | None
    state: str | None

    @property
    def is_running(self) -> bool:
        """Whether the turn still runs."""
        return self.state == "running"


class SignedOutError(Exception):
    """The session behind the socket is no longer valid."""

    code = ProductCode.SIGNED_OUT


def ask(visitor: Visitor, command: wire.Ask) -> tuple[Started, wire.Accepted]:
    """Store the question. Returns the new turn and the reply to the browser."""
    person = _person(visitor)
    started = start(person, _wanted(command), LEASE_OWNER)
    turn = started.turn
    return started, wire.Accepted(
        client_id=str(_client_id(command)),
        conversation=str(turn.conversation_id),
        turn=str(turn.pk),
        question=str(turn.question_id),
        url=reverse("conversation", args=[turn.conversation_id]),
        title=turn.conversation.title,
    )


def subscribe(visitor: Visitor, command: wire.Subscribe) -> Following:
    """Follow one's own conversation."""
    conversation = access.own_conversation(_person(visitor), command.conversation)
    sweep.interrupt_abandoned(conversation)
    last = conversation.turns.order_by("-started_at").first()
    return Following(conversation.pk, last.pk if last else None, last.state if last else None)


def watch(visitor: Visitor, command: wire.Watch) -> Following:
    """Follow the hidden channels of a conversation. Permission and opt-in are checked, and an audit row is written, every time."""
    if visitor.user is None:
        raise SignedOutError
    conversation = access.view_hidden(visitor, command.conversation, action="debug stream")
    last = conversation.turns.order_by("-started_at").first()
    return Following(conversation.pk, last.pk if last else None, last.state if last else None)


def stoppable(visitor: Visitor, command: wire.Stop) -> UUID:
    """The id of a turn that this person may stop: one in their own conversation."""
    conversation = access.own_conversation(_person(visitor), command.conversation)
    return access.turn_of(conversation, command.turn).pk


def _person(visitor: Visitor) -> User:
    if visitor.user is None:
        raise SignedOutError
    return visitor.user


def _wanted(command: wire.Ask) -> Ask:
    client_id = _client_id(command)
    match command:
        case wire.Send(conversation=conversation, text=text, effort=effort, choice=choice):
            where = None if conversation is None else _uuid(conversation)
            return Ask(Kind.SEND, client_id, effort, conversation=where, choice=choice, text=text)
        case wire.Edit(conversation=conversation, question=question, text=text, effort=effort, choice=choice):
            place, of = _uuid(conversation), _uuid(question)
            return Ask(Kind.EDIT, client_id, effort, conversation=place, question=of, choice=choice, text=text)
        case wire.Regenerate(conversation=conversation, question=question, effort=effort, choice=choice):
            return Ask(Kind.REGENERATE, client_id, effort, conversation=_uuid(conversation), question=_uuid(question), choice=choice)
        case wire.Continue(conversation=conversation, turn=turn):
            return Ask(Kind.CONTINUE, client_id, "", conversation=_uuid(conversation), continued_turn=_uuid(turn))
    raise AskRefusedError(ProductCode.COMMAND)


def _client_id(command: wire.Ask) -> UUID:
    try:
        return UUID(command.client_id)
    except ValueError:
        raise AskRefusedError(ProductCode.COMMAND) from None


def _uuid(reference: wire.Reference) -> UUID:
    try:
        return UUID(reference)
    except ValueError:
        raise NotFoundError from None
