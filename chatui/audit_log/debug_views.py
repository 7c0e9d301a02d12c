"""Lists the debug views in the audit log, with what was viewed in each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chatui.audit_log import aggregation
from chatui.audit_log.lines import Filters, rows
from chatui.models import CountedLine

PAGE_VIEWS = 50


@dataclass(frozen=True, slots=True)
class DebugView:
    """A debug view. ``number``: the number of its first audit line. ``detail`` and ``seen`` (the counts) are in English, as in the log.

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
class DebugViewPage:
    """Debug views, the newest first. ``older``: the next page has those below this line number; None on the last page."""

    views: tuple[DebugView, ...]
    older: int | None


def debug_view_page(filters: Filters, below: int | None = None) -> DebugViewPage:
    """A page of the debug views that match, without refused attempts. Always four statements."""
    found = rows(filters).filter(code="", number__in=CountedLine.objects.values("line")).exclude(conversation_id=None)
    if below is not None:
        found = found.filter(number__lt=below)
    columns = ("number", "at", "actor_name", "owner_name", "conversation_id", "detail")
    taken = list(found.order_by("-number").values_list(*columns)[: PAGE_VIEWS + 1])
    shown = taken[:PAGE_VIEWS]
    seen = _seen(row[0] for row in shown)
    views = tuple(replace(DebugView(*row), seen=seen.get(row[0], "")) for row in shown)
    return DebugViewPage(views, shown[-1][0] if len(taken) > PAGE_VIEWS else None)


def count(filters: Filters) -> int:
    """How many debug views match."""
    return rows(filters).filter(code="", number__in=CountedLine.objects.values("line")).exclude(conversation_id=None).count()


def _seen(numbers: Iterable[int]) -> dict[int, str]:
    return {number: words for number, (words, _sum) in aggregation.counts_after(numbers).items()}
