"""Lists debug views from the audit log: one entry for each, with what was viewed in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chatui.audit_log import aggregation
from chatui.audit_log.lines import Filters, rows
from chatui.models import CountedLine

PAGE_LOOKS = 50


@dataclass(frozen=True, slots=True)
class DebugView:
    """One debug view. ``number``: its first audit line; ``detail`` and ``seen`` are the log's own words, in English.

    ``seen`` is empty if nothing was counted after that line.
    """

    number: int
    at: datetime
    person: str
    whose: str
    conversation_id: UUID | None
    detail: str
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Debug views, the newest first. ``older``: the line number from which the next page starts; None at the end."""

    looks: tuple[DebugView, ...]
    older: int | None


def page(filters: Filters, below: int | None = None) -> Page:
    """A page of the debug views that match. Always four statements. Refused attempts are not included."""
    found = rows(filters).filter(code="", number__in=CountedLine.objects.values("line")).exclude(conversation_id=None)
    if below is not None:
        found = found.filter(number__lt=below)
    columns = ("number", "at", "actor_name", "owner_name", "conversation_id", "detail")
    taken = list(found.order_by("-number").values_list(*columns)[: PAGE_LOOKS + 1])
    shown = taken[:PAGE_LOOKS]
    seen = _seen(row[0] for row in shown)
    looks = tuple(replace(DebugView(*row), seen=seen.get(row[0], "")) for row in shown)
    return Page(looks, shown[-1][0] if len(taken) > PAGE_LOOKS else None)


def count(filters: Filters) -> int:
    """How many debug views match."""
    return rows(filters).filter(code="", number__in=CountedLine.objects.values("line")).exclude(conversation_id=None).count()


def _seen(numbers: Iterable[int]) -> dict[int, str]:
    return {number: words for number, (words, _sum) in aggregation.sums_after(numbers).items()}
