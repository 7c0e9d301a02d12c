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
"""How many conversations one page of the list has."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PINNED = "p"
_CURSOR = re.compile(r"([0-9]{1,16})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShownList:
    """A page of the list, the pinned ones first, then the latest first. ``next_cursor``: where the next one begins; empty on the last.

    ``folder``: the id of the folder that it is a list of; empty for what is in none.
    """

    links: Sequence[ConversationLink]
    next_cursor: str
    folder: str = ""


def shown_list(person: User, current: UUID | None = None, start: str = "", folder: UUID | None = None) -> ShownList:
    """A page of the person's conversations in a folder of theirs, or in none. ``current`` is the one that is open.

    Raises:
        NotFoundError: ``start`` is nothing that a page said was ``next_cursor``.
    """
    rows = access.own_conversations(person, PAGE_SIZE + 1, _parse_cursor(start) if start else None, folder)
    next_cursor = _cursor(rows[PAGE_SIZE - 1]) if len(rows) > PAGE_SIZE else ""
    return ShownList([conversation_link(row, current) for row in rows[:PAGE_SIZE]], next_cursor, str(folder or ""))


def _cursor(row: Conversation) -> str:
    return f"{_PINNED if row.is_pinned else ''}{cursor(row.active_at, row.pk)}"


def _parse_cursor(start: str) -> tuple[bool, datetime, UUID]:
    return (start.startswith(_PINNED), *parse_cursor(start.removeprefix(_PINNED)))


def cursor(at: datetime, key: UUID) -> str:
    """A cursor: a time and a key, not a position, so that changes made meanwhile neither repeat nor skip a conversation."""
    return f"{(at - _EPOCH) // timedelta(microseconds=1)}-{key.hex}"


def parse_cursor(start: str) -> tuple[datetime, UUID]:
    """The time and the key in a cursor. Raises NotFoundError for what is none."""
    found = _CURSOR.fullmatch(start)
    if found is None:
        raise access.NotFoundError
    return _EPOCH + timedelta(microseconds=int(found[1])), UUID(found[2])
