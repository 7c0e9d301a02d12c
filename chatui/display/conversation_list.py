"""The sidebar's list of conversations, page by page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chatui.display.conversation_links import ConversationLink, conversation_link
from chatui.models import Conversation, User
from chatui.permissions import access

PAGE_SIZE = 60
"""How many conversations are on one page of the list."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PINNED = "p"
_CURSOR = re.compile(r"([0-9]{1,16})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShownList:
    """A page of the list: pinned conversations first, then the latest first. ``next_cursor``: start of the next page; empty on the last.

    ``folder``: the id of the folder whose conversations it lists; empty for those in no folder.
    """

    links: Sequence[ConversationLink]
    next_cursor: str
    folder: str = ""


def shown_list(person: User, current: UUID | None = None, start: str = "", folder: UUID | None = None) -> ShownList:
    """A page of the person's conversations in one of their folders, or in none. ``current`` is the one that is open.

    Raises:
        NotFoundError: ``start`` is not a ``next_cursor``.
    """
    rows = access.own_conversations(person, PAGE_SIZE + 1, _parse_cursor(start) if start else None, folder)
    next_cursor = _cursor(rows[PAGE_SIZE - 1]) if len(rows) > PAGE_SIZE else ""
    return ShownList([conversation_link(row, current) for row in rows[:PAGE_SIZE]], next_cursor, str(folder or ""))


def _cursor(row: Conversation) -> str:
    return f"{_PINNED if row.is_pinned else ''}{cursor(row.active_at, row.pk)}"


def _parse_cursor(start: str) -> tuple[bool, datetime, UUID]:
    return (start.startswith(_PINNED), *parse_cursor(start.removeprefix(_PINNED)))


def cursor(at: datetime, key: UUID) -> str:
    """A cursor. It contains a time and a key rather than a position, so that changes in between neither repeat nor skip a conversation."""
    return f"{(at - _EPOCH) // timedelta(microseconds=1)}-{key.hex}"


def parse_cursor(start: str) -> tuple[datetime, UUID]:
    """The time and the key in a cursor.

    Raises:
        NotFoundError: it is not a cursor.
    """
    found = _CURSOR.fullmatch(start)
    if found is None:
        raise access.NotFoundError
    return _EPOCH + timedelta(microseconds=int(found[1])), UUID(found[2])
