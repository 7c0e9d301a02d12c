"""Prepares the pages of the bin and the archive, whose conversations are not in the main list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils import timezone

from chatui.display.conversation_list import cursor, parse_cursor
from chatui.env import environment
from chatui.models import Conversation, User
from chatui.permissions import access

PAGE_SIZE = 60
"""How many conversations are on one page."""


@dataclass(frozen=True, slots=True)
class Binned:
    """A conversation in the bin. ``gone_at``: the time from which it may be removed for good; ``is_overdue``: that time has come."""

    id: str
    title: str
    deleted_at: datetime
    gone_at: datetime
    is_overdue: bool
    is_imported: bool


@dataclass(frozen=True, slots=True)
class ShownBin:
    """A page of the bin, most recently deleted first. ``next_cursor``: where the next page begins; empty on the last one. ``days``: how
    many days a conversation stays in the bin."""

    conversations: Sequence[Binned]
    next_cursor: str
    days: int


@dataclass(frozen=True, slots=True)
class Archived:
    """A conversation in the archive."""

    id: str
    title: str
    url: str
    archived_at: datetime
    active_at: datetime
    is_imported: bool
    has_news: bool


@dataclass(frozen=True, slots=True)
class ShownArchive:
    """A page of the archive, most recently archived first. ``next_cursor``: where the next page begins; empty on the last one."""

    conversations: Sequence[Archived]
    next_cursor: str


def shown_archive(person: User, start: str = "") -> ShownArchive:
    """A page of the person's archive.

    Raises:
        NotFoundError: ``start`` is not a ``next_cursor``.
    """
    rows = access.own_archive(person, PAGE_SIZE + 1, parse_cursor(start) if start else None)
    shown = [_archived(row) for row in rows[:PAGE_SIZE]]
    return ShownArchive(shown, cursor(shown[-1].archived_at, rows[PAGE_SIZE - 1].pk) if len(rows) > PAGE_SIZE else "")


def _archived(row: Conversation) -> Archived:
    return Archived(
        str(row.pk),
        row.title,
        reverse("conversation", args=[row.pk]),
        row.archived_at or row.active_at,
        row.active_at,
        is_imported=row.imported_at is not None,
        has_news=row.has_news,
    )


def shown_bin(person: User, start: str = "") -> ShownBin:
    """A page of the person's bin.

    Raises:
        NotFoundError: ``start`` is not a ``next_cursor``.
    """
    rows = access.own_bin(person, PAGE_SIZE + 1, parse_cursor(start) if start else None)
    shown = [binned(row) for row in rows[:PAGE_SIZE]]
    next_cursor = cursor(shown[-1].deleted_at, rows[PAGE_SIZE - 1].pk) if len(rows) > PAGE_SIZE else ""
    return ShownBin(shown, next_cursor, environment().bin_days)


def binned(row: Conversation) -> Binned:
    """A deleted conversation, as the bin shows it."""
    deleted_at = row.deleted_at or timezone.now()
    gone_at = deleted_at + timedelta(days=environment().bin_days)
    return Binned(str(row.pk), row.title, deleted_at, gone_at, gone_at <= timezone.now(), row.imported_at is not None)
