"""Counts lines of the audit log by person and by day."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import CharField, Count
from django.db.models.functions import Cast, Substr

from chatui.audit_log.lines import Filters, rows


@dataclass(frozen=True, slots=True)
class Tally:
    """``lines`` of one person (empty: not signed in) on one day (UTC, such as 2026-11-20). A column that was not asked for is None."""

    day: str | None
    person: str | None
    lines: int


def tallies(filters: Filters, *, by: frozenset[str], most: int | None = None) -> list[Tally]:
    """Counts by ``person``, by ``day`` or by both, the latest day first, then the most lines first; at most ``most`` of them."""
    # The day is cut from the database's own text: on SQLite, Django's truncation would call Python for each line.
    columns = {name: expression for name, expression in _COLUMNS.items() if name in by}
    counted = rows(filters).annotate(**columns).values(*columns).annotate(lines=Count("*"))
    order = [*(["-day"] if "day" in by else []), "-lines", *(["person"] if "person" in by else [])]
    return [Tally(row.get("day"), row.get("person"), row["lines"]) for row in counted.order_by(*order)[:most]]


_COLUMNS = {"day": Substr(Cast("at", CharField()), 1, 10), "person": Cast("actor_name", CharField())}
