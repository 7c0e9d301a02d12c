"""What a browser may ask for over the socket: each command, its fields checked, and what it does. Synchronous, run in a thread.

A command either decides who may do it (``access``) and what is kept (``turns.start``), or raises an error that carries a code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.urls import reverse

from chatui.audit_log.record import Visitor
from chatui.codes import ProductCode
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.turns import sweep
from chatui.turns.running import LEASE_OWNER
from chatui.turns.start import Ask, AskRefusedError, Kind, Started, start

if TYPE_CHECKING:
    from chatui.models import User

ASKS = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Following:
    """What a socket follows: a conversation, and the turn that runs in it, if one does, else the last one."""

    conversation_id: UUID
    turn_id: UUID | None
    state: str | None

    @property
    def is_running(self) -> bool:
        """Whether the turn still runs."""
        return self.state == "running"


class SignedOutError(Exception):
    """The session behind the socket is no longer good."""

    code = ProductCode.SIGNED_OUT


def ask(visitor: Visitor, command: Mapping[str, Any]) -> tuple[Started, dict[str, str]]:
    """send, edit, regenerate, continue: keep the question; returns the new turn and the fields of ``chatui:accepted``."""
    person = _person(visitor)
    kind = ASKS[command["type"]]
    wanted = Ask(
        kind=kind,
        client_id=_uuid(command, "client_id"),
        effort="" if kind is Kind.CONTINUE else _string(command, "effort"),
        conversation=None if kind is Kind.SEND and command.get("conversation") is None else _uuid(command, "conversation"),
        question=_uuid(command, "question") if kind in (Kind.EDIT, Kind.REGENERATE) else None,
        continued_turn=_uuid(command, "turn") if kind is Kind.CONTINUE else None,
        choice=None if command.get("choice") is None else _string(command, "choice"),
        text=_string(command, "text") if kind in (Kind.SEND, Kind.EDIT) else "",
    )
    started = start(person, wanted, LEASE_OWNER)
    turn = started.turn
    return started, {
        "client_id": str(wanted.client_id),
        "conversation": str(turn.conversation_id),
        "turn": str(turn.pk),
        "question": str(turn.question_id),
        "url": reverse("conversation", args=[turn.conversation_id]),
        "title": turn.conversation.title,
    }


def subscribe(visitor: Visitor, command: Mapping[str, Any]) -> Following:
    """Follow one's own conversation."""
    conversation = access.own_conversation(_person(visitor), _uuid(command, "conversation"))
    sweep.interrupt_abandoned(conversation)
    last = conversation.turns.order_by("-started_at").first()
    return Following(conversation.pk, last.pk if last else None, last.state if last else None)


def watch(visitor: Visitor, command: Mapping[str, Any]) -> Following:
    """Follow the hidden channels of a conversation: permission, opt-in and audit row are asked for here, each time."""
    if visitor.user is None:
        raise SignedOutError
    conversation = access.view_hidden(visitor, command.get("conversation"), action="debug stream")
    last = conversation.turns.order_by("-started_at").first()
    return Following(conversation.pk, last.pk if last else None, last.state if last else None)


def stoppable(visitor: Visitor, command: Mapping[str, Any]) -> UUID:
    """The turn that this person may stop: one of their own conversation."""
    conversation = access.own_conversation(_person(visitor), _uuid(command, "conversation"))
    return access.turn_of(conversation, _uuid(command, "turn")).pk


def _person(visitor: Visitor) -> User:
    if visitor.user is None:
        raise SignedOutError
    return visitor.user


def _uuid(command: Mapping[str, Any], key: str) -> UUID:
    value = command.get(key)
    try:
        return UUID(value) if isinstance(value, str) else _no_such(key)
    except ValueError:
        raise (AskRefusedError(ProductCode.COMMAND) if key == "client_id" else NotFoundError()) from None


def _string(command: Mapping[str, Any], key: str) -> str:
    value = command.get(key)
    if not isinstance(value, str):
        raise AskRefusedError(ProductCode.COMMAND)
    return value


def _no_such(key: str) -> UUID:
    raise ValueError(key)
