"""Sends events about a person's conversation list and ratings to all of their open pages."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.urls import reverse

from chatui import wire
from chatui.models import Conversation, Folder

Message = dict[str, object]
"""For the group of the conversation's owner, ``groups.person``, and for nobody else: a title is theirs alone."""


def placed(row: Conversation) -> Message:
    """The conversation was put into the list, a folder or the archive, or pinned; or it was taken out of the bin, and is where it was."""
    return listed(row) if row.archived_at is None else _message(wire.Archived(str(row.pk)))


def listed(row: Conversation, *, is_running: bool = False) -> Message:
    """The conversation is new, was asked something (and the answer ``is_running``), or was put into the list."""
    url, is_imported = reverse("conversation", args=[row.pk]), row.imported_at is not None
    at, folder = row.active_at.isoformat(), str(row.folder_id or "")
    return _message(wire.Listed(str(row.pk), url, row.title, at, is_imported, is_running, row.has_news, row.is_pinned, folder))


def answered(conversation_id: UUID, at: datetime, *, has_news: bool) -> Message:
    """No answer is being written there any more."""
    return _message(wire.Answered(str(conversation_id), at.isoformat(), has_news))


def seen(conversation_id: UUID) -> Message:
    """The person has seen what was new."""
    return _message(wire.AnswerSeen(str(conversation_id)))


def unlisted(conversation_id: UUID) -> Message:
    """The conversation was deleted."""
    return _message(wire.Unlisted(str(conversation_id)))


def retitled(row: Conversation) -> Message:
    """The conversation has another title."""
    return _message(wire.TitleChanged(str(row.pk), row.title))


def rated(conversation_id: UUID, message_id: UUID, verdict: str) -> Message:
    """The person has rated an answer, or taken that back."""
    return _message(wire.Rated(str(conversation_id), str(message_id), verdict))


def folder_kept(row: Folder, before: str) -> Message:
    """The folder is new, or has another name. ``before``: the id of the one that follows it in the list."""
    return _message(wire.FolderKept(str(row.pk), row.name, before))


def folder_gone(row: Folder) -> Message:
    """The folder was deleted, and what was in it is in the list."""
    return _message(wire.FolderGone(str(row.pk)))


def _message(event: wire.Event) -> Message:
    return {"type": "person.events", "json": wire.encode([event])}
