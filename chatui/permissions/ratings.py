"""Decides who may rate an answer, and who may export ratings."""

from __future__ import annotations

from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.models.message import Author, Message
from chatui.models.turn import TurnState
from chatui.models.user import User
from chatui.permissions import access, attempts
from chatui.store import continuation

EXPORT, HIDDEN_EXPORT = "ratings export", "ratings export with hidden channels"
"""The actions in the audit log."""


def ratable(visitor: Visitor, conversation_id: object, message_id: object) -> Message:
    """An answer that the visitor may rate: a finished answer of a model in their own conversation, which was not imported. Raises
    NotFoundError for any other message. A request for a hidden message is recorded, as everywhere."""
    message = access.visible_message(visitor, conversation_id, message_id, action="rate an answer")
    turn = message.turn
    # Nothing from a temporary conversation may be exported.
    is_ours = (
        message.conversation.temporary_until is None
        and message.author == Author.MODEL
        and turn is not None
        and turn.state != TurnState.RUNNING
    )
    if not is_ours or not continuation.is_answer(message):
        raise access.NotFoundError
    return message


def can_export(user: User | None) -> bool:
    """Whether this person may export other people's ratings. It is a separate permission: no other includes it."""
    return access.is_staff_with(user, "chatui.export_ratings")


def exporter(visitor: Visitor) -> User:
    """This visitor, if they may export ratings. Raises NotFoundError for everybody else."""
    return access.required(visitor.user, can_export)


def can_export_hidden(user: User | None) -> bool:
    """Whether an export for this person may contain hidden channels.

    An export covers everybody's conversations, so they need the permission to open any conversation. If the operator requires a second
    person to approve each view, nobody may export hidden channels.
    """
    return access.can_debug_others(user) and not environment().debug_approval


def hidden_exporter(visitor: Visitor) -> User:
    """As ``exporter``, for an export with hidden channels.

    Raises:
        NotFoundError: they may not export ratings at all.
        HiddenViewRefusedError: they may not see hidden channels; recorded as ``E-PERM-VISIBILITY``.
    """
    person = exporter(visitor)
    if not can_export_hidden(person):
        attempts.record_attempt(visitor, None, HIDDEN_EXPORT)
        raise access.HiddenViewRefusedError
    return person
