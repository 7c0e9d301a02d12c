"""What people find on pages of its own because it is not in their list: the bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from chatui.display.conversation_list import cursor, place
from chatui.env import environment
from chatui.models import Conversation, User
from chatui.permissions import access

LENGTH = 60
"""How many conversations one page has."""


@dataclass(frozen=True, slots=True)
class Binned:
    """A conversation in the bin. ``gone_at``: from when on it may be removed for good; ``is_overdue``: that time has come."""

    id: str
    title: str
    deleted_at: datetime
    gone_at: datetime
    is_overdue: bool
    is_imported: bool


@dataclass(frozen=True, slots=True)
class ShownBin:
    """A page of the bin, what was deleted last first. ``more``: where the next page begins; empty on the last one. ``days``: how long
    the bin keeps a conversation."""

    conversations: Sequence[Binned]
    more: str
    days: int


def shown_bin(person: User, start: str = "") -> ShownBin:
    """A page of the person's bin. Raises NotFoundError where ``start`` is nothing that a page said was ``more``."""
    rows = access.own_bin(person, LENGTH + 1, place(start) if start else None)
    shown = [binned(row) for row in rows[:LENGTH]]
    more = cursor(shown[-1].deleted_at, rows[LENGTH - 1].pk) if len(rows) > LENGTH else ""
    return ShownBin(shown, more, environment().bin_days)


def binned(row: Conversation) -> Binned:
    """A conversation that was deleted."""
    deleted_at = row.deleted_at or timezone.now()
    gone_at = deleted_at + timedelta(days=environment().bin_days)
    return Binned(str(row.pk), row.title, deleted_at, gone_at, gone_at <= timezone.now(), row.imported_at is not None)
