"""Builds the events about a person's conversation list and ratings, for all of their open pages."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from chatui import wire
from chatui.display.conversation_links import conversation_url
from chatui.models import Conversation, Folder

Message = dict[str, object]
"""Send it only to the group of the conversation's owner, ``groups.person``: a title is private."""


def placed(row: Conversation) -> Message:
    """The conversation was put into the list, a folder or the archive, or pinned, or it was restored from the bin to its old place."""
    return listed(row) if row.archived_at is None else _message(wire.Archived(str(row.pk)))


def listed(row: Conversation, *, is_running: bool = False) -> Message:
    """The conversation is new, got a question (and the answer ``is_running``), or was put into the list."""
    url, is_imported = conversation_url(row.pk), row.imported_at is not None
    at, folder = row.active_at.isoformat(), str(row.folder_id or "")
    return _message(wire.Listed(str(row.pk), url, row.title, at, is_imported, is_running, row.has_news, row.is_pinned, folder))


def answered(conversation_id: UUID, at: datetime, *, has_news: bool) -> Message:
    """An answer in the conversation has ended."""
    return _message(wire.Answered(str(conversation_id), at.isoformat(), has_news))


def seen(conversation_id: UUID) -> Message:
    """The person has seen the news in the conversation."""
    return _message(wire.AnswerSeen(str(conversation_id)))


def unlisted(conversation_id: UUID) -> Message:
    """The conversation was deleted."""
    return _message(wire.Unlisted(str(conversation_id)))


def retitled(row: Conversation) -> Message:
    """The conversation has a new title."""
    return _message(wire.TitleChanged(str(row.pk), row.title))


def rated(conversation_id: UUID, message_id: UUID, verdict: str) -> Message:
    """The person has rated an answer, or removed the rating."""
    return _message(wire.Rated(str(conversation_id), str(message_id), verdict))


def folder_kept(row: Folder, before: str) -> Message:
    """The folder was created or renamed. ``before``: the id of the folder that follows it in the list."""
    return _message(wire.FolderKept(str(row.pk), row.name, before))


def folder_gone(row: Folder) -> Message:
    """The folder was deleted, and its conversations are back in the list."""
    return _message(wire.FolderGone(str(row.pk)))


def _message(event: wire.Event) -> Message:
    return {"type": "person.events", "json": wire.encode([event])}
