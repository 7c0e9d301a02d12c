"""The events about the list of conversations, for all open pages of one person."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse

from chatui import wire
from chatui.models import Conversation

Message = dict[str, object]
"""For the group of the conversation's owner, ``groups.person``, and for nobody else: a title is theirs alone."""


def listed(row: Conversation) -> Message:
    """The conversation is new, was asked something, or was taken out of the bin."""
    url = reverse("conversation", args=[row.pk])
    return _message(wire.Listed(str(row.pk), url, row.title, row.active_at.isoformat(), row.imported_at is not None))


def unlisted(conversation_id: UUID) -> Message:
    """The conversation was deleted."""
    return _message(wire.Unlisted(str(conversation_id)))


def retitled(row: Conversation) -> Message:
    """The conversation has another title."""
    return _message(wire.TitleChanged(str(row.pk), row.title))


def _message(event: wire.Event) -> Message:
    return {"type": "person.events", "json": wire.encode([event])}
