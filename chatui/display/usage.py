"""Usage tables and charts: formatted numbers, labels, and bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext, gettext_lazy

from chatui.display.figures import Bars, bars
from chatui.env import environment
from chatui.models.usage import UsageKind
from chatui.models.user import User
from chatui.usage import limits, reports
from chatui.usage.reports import By, Days, ReportRow

BAR_WIDTH = 100
MAX_ROWS = 500
"""The most rows on a page. The downloaded file has all of them."""

WORDS = {
    By.DAY: gettext_lazy("Day (UTC)"),
    By.PERSON: gettext_lazy("Person"),
    By.GROUP: gettext_lazy("Group"),
    By.MODEL: gettext_lazy("Model"),
    By.KEY: gettext_lazy("Used through"),
    By.KIND: gettext_lazy("Purpose"),
}


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row of a table."""

    name: str
    is_named: bool
    """Whether ``name`` is a name, and not a label of ours."""
    turns: str
    input: str
    cached: str
    output: str
    estimated: str
    cost: str
    bar: int
    """Its share of the largest row, of BAR_WIDTH."""


@dataclass(frozen=True, slots=True)
class UsageTable:
    """A table of sums."""

    heading: str
    """That of the first column."""
    rows: tuple[ShownRow, ...]
    left_out: int = 0
    """How many rows the page does not show."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Tokens by day. ``most``: how many tokens the highest bar means."""

    shown: Bars
    most: str
    first: date
    last: date


@dataclass(frozen=True, slots=True)
class ShownLimit:
    """One limit. ``bar``: how much of it is used, out of BAR_WIDTH."""

    words: str
    of: str
    until: datetime
    bar: int
    is_near: bool


def table(rows: Sequence[ReportRow], by: By) -> UsageTable:
    named = _namer(rows, by)
    most = max((row.tokens for row in rows), default=0)
    shown = tuple(_shown(row, named, most) for row in rows[:MAX_ROWS])
    return UsageTable(str(WORDS[by]), shown, max(len(rows) - MAX_ROWS, 0))


def total(row: ReportRow) -> ShownRow:
    return _shown(row, lambda name: gettext("Total"), row.tokens)


def plot(rows: Sequence[ReportRow], days: Days) -> Plot:
    """A bar for each day, including days without usage."""
    by_day = {row.name: row.tokens for row in rows}
    there = [days.first + timedelta(days=number) for number in range((days.last - days.first).days + 1)]
    tokens = [by_day.get(day, 0) for day in there]
    label = gettext("%(day)s: %(tokens)s tokens")
    labels = [
        label % {"day": date_format(day, "SHORT_DATE_FORMAT"), "tokens": _number(count)} for day, count in zip(there, tokens, strict=True)
    ]
    shown = bars(tokens, labels, gettext("Tokens per day, as bars; the numbers are in the tables"))
    return Plot(shown, _number(max(tokens, default=0)), days.first, days.last)


def limits_of(person: User) -> list[ShownLimit]:
    return [_limit(line) for line in limits.status_of(person)]


def unpriced(row: ReportRow) -> str:
    """How many tokens have no price, if prices are shown; empty for none."""
    return _number(row.unpriced) if environment().currency and row.unpriced and row.cost is not None else ""


def _limit(line: limits.LimitLine) -> ShownLimit:
    names = {"used": _number(line.used), "limit": _number(line.limit)}
    words = gettext("%(used)s of %(limit)s tokens") if line.of == "tokens" else gettext("%(used)s of %(limit)s answers")
    of = gettext("Today") if line.is_of_day else gettext("This month")
    return ShownLimit(words % names, of, line.until, line.percent * BAR_WIDTH // 100, line.percent >= limits.WARN_PERCENT)


def _namer(rows: Sequence[ReportRow], by: By) -> Callable[[object], str]:
    keys = reports.key_names([row.name for row in rows if isinstance(row.name, UUID)]) if by is By.KEY else {}
    nobody = str(_NOBODY.get(by, gettext("unknown")))

    def name(value: object) -> str:
        if isinstance(value, date):
            return date_format(value, "SHORT_DATE_FORMAT")
        if isinstance(value, UUID):
            return keys.get(value, str(value))
        return str(UsageKind(str(value)).label) if by is By.KIND else str(value or "") or nobody

    return name


_NOBODY = {
    By.PERSON: gettext_lazy("erased people"),
    By.GROUP: gettext_lazy("people in no group"),
    By.KEY: gettext_lazy("this site"),
}


def _shown(row: ReportRow, named: Callable[[object], str], most: int) -> ShownRow:
    return ShownRow(
        name=named(row.name),
        is_named=isinstance(row.name, str | UUID) and bool(row.name),
        turns=_number(row.turns),
        input=_number(row.input),
        cached=_number(row.cached),
        output=_number(row.output),
        estimated=_number(row.estimated) if row.estimated else "",
        cost=_money(row),
        bar=-(-row.tokens * BAR_WIDTH // most) if most else 0,
    )


def _number(number: int) -> str:
    return number_format(number, force_grouping=True)


def _money(row: ReportRow) -> str:
    """The cost with its currency; empty without a currency, or if nothing has a price."""
    currency = environment().currency
    return f"{number_format(round(row.cost, 2), 2, force_grouping=True)} {currency}" if currency and row.cost is not None else ""
