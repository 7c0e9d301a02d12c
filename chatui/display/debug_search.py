"""Finds conversations for staff who may open anybody's debug view: by person, time, id, address or failure number. Each search is recorded.

What is found is whose it is and when it was used, neither a title nor any content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count

from chatui.audit_log.record import Visitor, record
from chatui.display import failures
from chatui.models.turn import Turn
from chatui.permissions import access

MOST = 50
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
"""The first id in the address of a page is that of its conversation."""
_FAILURE = re.compile(r"\s*[0-9a-f]{4}-[0-9a-f]{4}\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DebugSearch:
    """What is searched for. Empty values select everything."""

    words: str = ""
    """Part of a person's name, an id, an address or a failure number."""
    since: datetime | None = None
    """The conversation was last used then, or later."""
    before: datetime | None = None
    """It was last used before that."""

    def __bool__(self) -> bool:
        return bool(self.words or self.since or self.before)

    def __str__(self) -> str:
        times = {"since": self.since, "before": self.before}
        return ", ".join([*(f"{name} {time:%Y-%m-%d}" for name, time in times.items() if time), *([self.words] if self.words else [])])


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation in the list. ``answers``: how many answers were begun in it."""

    id: UUID
    owner_name: str
    created_at: datetime
    active_at: datetime
    answers: int


def search(visitor: Visitor, asked: DebugSearch) -> list[FoundConversation]:
    """The conversations that match, the last used first, at most MOST. Recorded before anything is shown. At most five statements."""
    person = access.required(visitor.user, access.can_debug_others)
    rows = access.debuggable_conversations(person)
    if found := _ID.search(asked.words):
        rows = rows.filter(pk=UUID(found.group()))
    elif _FAILURE.fullmatch(asked.words) and (turn := failures.by_number(asked.words)):
        rows = rows.filter(turns=turn, temporary_until=None)
    else:
        # A temporary conversation is in no list. Its debug view opens by its address.
        times = {name: value for name, value in (("active_at__gte", asked.since), ("active_at__lt", asked.before)) if value}
        rows = rows.filter(owner__username__icontains=asked.words, temporary_until=None, **times)
    taken = list(rows.order_by("-active_at", "-pk")[:MOST])
    record("search conversations", visitor, taken[0] if len(taken) == 1 else None, detail=str(asked))
    counted = Turn.objects.filter(conversation__in=taken).values_list("conversation").annotate(count=Count("pk"))
    answers = dict(counted.order_by())
    return [FoundConversation(row.pk, row.owner.get_username(), row.created_at, row.active_at, answers.get(row.pk, 0)) for row in taken]
