"""Token prices: the price of a model on a given day, from the table that the operator maintains."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from chatui.models import ModelPrice

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Span:
    """Days, the last one included, on which no price changes, with the price of each model."""

    first: date
    last: date
    prices: dict[str, ModelPrice]


def spans(first: date, last: date) -> list[Span]:
    """The spans of those days, in order. One statement."""
    rows = list(ModelPrice.objects.filter(since__lte=last).order_by("since"))
    begins = sorted({first, *(row.since for row in rows if row.since > first)})
    ends = [*(day - timedelta(days=1) for day in begins[1:]), last]
    return [
        Span(begin, end, {row.model: row for row in rows if row.since <= begin})  # the later of two replaces the earlier
        for begin, end in zip(begins, ends, strict=True)
    ]


def cost_of(price: ModelPrice, tokens_in: int, cached: int, tokens_out: int) -> Decimal:
    """The cost of these tokens. ``cached`` are part of ``tokens_in``."""
    of_cached = price.input_price if price.cached_price is None else price.cached_price
    return ((tokens_in - cached) * price.input_price + cached * of_cached + tokens_out * price.output_price) / _MILLION
