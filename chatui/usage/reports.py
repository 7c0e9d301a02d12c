"""Usage reports: sums of the ledger by person, group, model, key, kind or day, and their cost. Only numbers and names.

The price of a model on a given day is from the table that the operator maintains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum

from chatui.models.programs import ApiKey
from chatui.models.usage import ModelPrice, UsageEntry
from chatui.models.user import User

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Days:
    """A range of days, including the last one."""

    first: date
    last: date


def spans(days: Days) -> list[tuple[Days, dict[str, ModelPrice]]]:
    """The spans of those days on which no price changes, in order, each with the price of each model. One statement."""
    rows = list(ModelPrice.objects.filter(since__lte=days.last).order_by("since"))
    begins = sorted({days.first, *(row.since for row in rows if row.since > days.first)})
    ends = [*(day - timedelta(days=1) for day in begins[1:]), days.last]
    return [
        (Days(begin, end), {row.model: row for row in rows if row.since <= begin})  # the later of two replaces the earlier
        for begin, end in zip(begins, ends, strict=True)
    ]


def cost_of(price: ModelPrice, tokens_in: int, cached: int, tokens_out: int) -> Decimal:
    """The cost of these tokens. ``cached`` are part of ``tokens_in``."""
    of_cached = price.input_price if price.cached_price is None else price.cached_price
    return ((tokens_in - cached) * price.input_price + cached * of_cached + tokens_out * price.output_price) / _MILLION


class By(StrEnum):
    """The column by which lines are summed up."""

    DAY = "day"
    PERSON = "person"
    GROUP = "group"
    MODEL = "model"
    KEY = "key"
    KIND = "kind"


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The sum of some lines."""

    name: object
    """What they have in common; None for requests from pages, people in no group, or erased people."""
    turns: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    estimated: int = 0
    """How many of the lines are estimates."""
    cost: Decimal | None = None
    """None if nothing has a price."""
    unpriced: int = 0
    """How many tokens have no price."""

    @property
    def tokens(self) -> int:
        return self.input + self.output

    def __add__(self, other: ReportRow) -> ReportRow:
        """The sum of both, under this name."""
        known = [each for each in (self.cost, other.cost) if each is not None]
        return ReportRow(
            self.name,
            self.turns + other.turns,
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.estimated + other.estimated,
            sum(known, Decimal(0)) if known else None,
            self.unpriced + other.unpriced,
        )


def lines_of(days: Days, person: User | None = None) -> QuerySet[UsageEntry]:
    """The lines of some days, of one person or of everybody."""
    found = _within(UsageEntry.objects.order_by(), days)
    return found.filter(person=person) if person else found


def _within(lines: QuerySet[UsageEntry], days: Days) -> QuerySet[UsageEntry]:
    return lines.filter(day__range=(days.first, days.last))


def summed(lines: QuerySet[UsageEntry], days: Days, by: By | None) -> list[ReportRow]:
    """The sums, by day or with the most tokens first. Without ``by`` there is one sum. A person in two groups counts in both.

    One statement for each span of days without a change of prices, and one for those.
    """
    found: dict[object, ReportRow] = {}
    column = _COLUMNS.get(by, by.value) if by else "model"
    for span, prices in spans(days):
        for row in _within(lines, span).values(*{"model", column}).annotate(**_SUMS):
            name = row[column] if by else None
            found[name] = found.get(name, ReportRow(name)) + _row(name, row, prices)
    if by is None:
        return list(found.values()) or [ReportRow(None)]
    if by is By.DAY:
        return [found[day] for day in sorted(found, key=str)]
    return sorted(found.values(), key=lambda row: (-row.tokens, str(row.name)))


def every_line(lines: QuerySet[UsageEntry], days: Days) -> Iterator[dict[str, Any]]:
    """The full report, for a file: sums by day, person, key, model, model server and kind, with their cost. One day is in memory at a time,
    and no cursor stays open in between, because the client may read slowly.
    """
    columns = ("day", "person__username", "key__prefix", "backend", "model", "kind")
    for span, prices in spans(days):
        within = _within(lines, span)
        for day in list(within.values_list("day", flat=True).distinct().order_by("day")):
            for row in list(within.filter(day=day).values(*columns).annotate(**_SUMS).order_by(*columns)):
                yield {**{name: row[name] for name in columns}, "sums": _row(None, row, prices)}


def key_names(keys: Iterable[UUID | None]) -> dict[UUID, str]:
    """The names of these keys, with their prefixes."""
    rows = ApiKey.objects.filter(pk__in=[key for key in keys if key]).values_list("pk", "name", "prefix")
    return {key: f"{name} ({prefix}…)" for key, name, prefix in rows}


def _row(name: object, row: dict[str, Any], prices: dict[str, ModelPrice]) -> ReportRow:
    tokens_in, cached, out = row["sum_in"], row["sum_cached"], row["sum_out"]
    price = prices.get(row["model"])
    cost = cost_of(price, tokens_in, cached, out) if price else None
    unpriced = 0 if price else tokens_in + out
    return ReportRow(name, row["sum_turns"], tokens_in, cached, out, row["estimates"], cost, unpriced)


_COLUMNS = {By.PERSON: "person__username", By.GROUP: "person__groups__name"}
"""The columns that are called otherwise."""
_SUMS = {
    "sum_turns": Sum("turns"),
    "sum_in": Sum("input_tokens"),
    "sum_cached": Sum("cached_tokens"),
    "sum_out": Sum("output_tokens"),
    "estimates": Count("pk", filter=Q(is_estimate=True)),
}
