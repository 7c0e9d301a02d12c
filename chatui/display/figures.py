"""Small plots of bars, and the figures of the overview: answers, failures, the wait for the first word and the load, and what runs now.

They are those of the last day and week.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import CharField, Count, F, Q, Sum
from django.db.models.functions import Cast, Substr
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext

from chatui.display.failures import day_begins, has_failed, is_answer
from chatui.models.keys import first_key_at
from chatui.models.turn import Turn, TurnState

BAR_STEP, BAR_GAP, HEIGHT = 10, 2, 100


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    y: int
    height: int
    words: str


@dataclass(frozen=True, slots=True)
class Bars:
    """A plot. ``words``: what it shows, with all of its numbers if they stand nowhere else."""

    width: int
    bars: tuple[Bar, ...]
    words: str

    @property
    def compares(self) -> bool:
        """Whether there is more than one value: a single one is always the highest, so its bar says nothing."""
        return sum(bar.height > 0 for bar in self.bars) > 1


def bars(values: Sequence[float], labels: Sequence[str], words: str) -> Bars:
    """A bar for each value, from zero; the highest takes the whole height. A value above zero is never without a bar."""
    most = max(values, default=0)
    shown = []
    for number, (value, label) in enumerate(zip(values, labels, strict=True)):
        height = int(-(-value * HEIGHT // most)) if most else 0
        shown.append(Bar(number * BAR_STEP + BAR_GAP // 2, HEIGHT - height, height, label))
    return Bars(len(shown) * BAR_STEP, tuple(shown), words)


_DAY_HOURS, _WEEK_HOURS = 24, 24 * 7
_WEEK_STEP = 6
"""How many hours a bar of the week stands for."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the day and of the week: the number and its course."""

    day: str
    day_bars: Bars
    week: str
    week_bars: Bars


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the overview, and what is going on now."""

    answers: Figure
    failed: Figure
    first_word: Figure
    at_once: Figure
    failed_today: int
    """How many answers failed in the last day."""
    running: int
    """How many answers are being written now."""
    waiting: int
    """How many answers wait for a slot."""

    @property
    def has_plots(self) -> bool:
        shown = (self.answers, self.failed, self.first_word, self.at_once)
        return any(figure.day_bars.compares or figure.week_bars.compares for figure in shown)


@dataclass(slots=True)
class _Hour:
    """What was counted of the turns that were begun in one hour."""

    answers: int = 0
    failed: int = 0
    busy: timedelta = field(default_factory=timedelta)
    """How long they were written, all together."""
    first_ms: float = 0.0
    """How long ``firsts`` of them waited for the first token, all together."""
    firsts: int = 0


_Hours = Sequence[_Hour]


def figures() -> Figures:
    """The figures of now. Two statements."""
    now = timezone.now()
    first = day_begins(now) - timedelta(hours=_WEEK_HOURS - _DAY_HOURS)
    starts = [first + timedelta(hours=number) for number in range(_WEEK_HOURS)]
    counted = _counted(starts[0])
    week = [counted.get(f"{start:%Y-%m-%d %H}", _Hour()) for start in starts]
    alive = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=now)
    going = alive.aggregate(running=Count("pk", filter=Q(is_queued=False)), waiting=Count("pk", filter=Q(is_queued=True)))

    def figure(value: Callable[[_Hours], float], words: str, step_words: str, unit: Callable[[float], str] = _whole) -> Figure:
        day, day_starts = week[-_DAY_HOURS:], starts[-_DAY_HOURS:]
        hours = [value([hour]) for hour in day]
        steps = [value(week[at : at + _WEEK_STEP]) for at in range(0, _WEEK_HOURS, _WEEK_STEP)]
        return Figure(
            unit(value(day)), _bars(hours, day_starts, unit, words), unit(value(week)), _bars(steps, starts[::_WEEK_STEP], unit, step_words)
        )

    return Figures(
        figure(lambda hours: sum(hour.answers for hour in hours), gettext("Answers in each hour"), gettext("Answers in every six hours")),
        figure(_failed, gettext("Failed answers in each hour"), gettext("Failed answers in every six hours")),
        figure(
            _first_seconds, gettext("Wait for the first word in each hour"), gettext("Wait for the first word in every six hours"), _seconds
        ),
        figure(_at_once, gettext("Answers at once in each hour"), gettext("Answers at once in every six hours"), _tenths),
        _failed(week[-_DAY_HOURS:]),
        going["running"],
        going["waiting"],
    )


def _counted(since: datetime) -> dict[str, _Hour]:
    """By the hour in which the answers were begun, such as ``2026-11-20 13`` (UTC)."""
    # The hour is cut from the database's text form of the time: on SQLite, Django's truncation would call Python for each row.
    hour = Substr(Cast("started_at", CharField()), 1, 13)
    ended = Turn.objects.filter(pk__gte=first_key_at(since), started_at__gte=since).exclude(state=TurnState.RUNNING)
    sums = (
        ended.annotate(hour=hour)
        .values("hour", "state", "error_code", "error_cause")
        .annotate(
            answers=Count("pk"),
            busy=Sum(F("finished_at") - F("started_at")),
            first_ms=Sum("first_token_ms"),
            firsts=Count("first_token_ms"),
        )
    )
    found: dict[str, _Hour] = {}
    for row in sums.order_by():
        counted = found.setdefault(row["hour"], _Hour())
        end = row["state"], row["error_code"], row["error_cause"]
        counted.answers += row["answers"] if is_answer(*end) else 0
        counted.failed += row["answers"] if has_failed(*end) else 0
        counted.busy += row["busy"] or timedelta()
        counted.first_ms += row["first_ms"] or 0
        counted.firsts += row["firsts"]
    return found


def _failed(hours: _Hours) -> int:
    return sum(hour.failed for hour in hours)


def _first_seconds(hours: _Hours) -> float:
    firsts = sum(hour.firsts for hour in hours)
    return sum(hour.first_ms for hour in hours) / firsts / 1000 if firsts else 0.0


def _at_once(hours: _Hours) -> float:
    """In the busiest of the hours: over a whole day, nights would hide it."""
    return max(hour.busy / timedelta(hours=1) for hour in hours)


def _bars(values: Sequence[float], starts: Sequence[datetime], unit: Callable[[float], str], words: str) -> Bars:
    numbers = [unit(value) for value in values]
    times = [date_format(timezone.localtime(start), "SHORT_DATETIME_FORMAT") for start in starts]
    spoken = gettext("%(what)s, the oldest first: %(numbers)s") % {"what": words, "numbers": " · ".join(numbers)}
    return bars(values, [f"{at}: {number}" for at, number in zip(times, numbers, strict=True)], spoken)


def _whole(number: float) -> str:
    return str(number_format(int(number), force_grouping=True))


def _tenths(number: float) -> str:
    """Something is never shown as nothing."""
    if 0 < number < 0.1:
        return f"< {number_format(0.1, 1)}"
    return str(number_format(round(number, 1), 1)) if number else "0"  # the format alone cuts


def _seconds(number: float) -> str:
    """A wait of nothing is one that nobody had."""
    return gettext("%(seconds)s s") % {"seconds": _tenths(number)} if number else "–"
