"""Reserves tokens for a turn before it starts, and refuses the turn if a limit is reached. A single statement decides.

Twenty tabs that ask at once get only as many answers as are left: each reservation is an UPDATE that only takes effect within the limits,
and the database runs them one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import LessThanOrEqual

from chatui.codes import ProductCode
from chatui.models.usage import UsageCount
from chatui.models.user import User
from chatui.usage import limits as usage_limits
from chatui.usage.limits import LimitLine, UsageLimits, UsagePeriod, now


class LimitReachedError(Exception):
    """A limit is reached: the question is not to be stored.

    ``until``: when asking again may succeed; None if that is as soon as a running answer ends.
    """

    def __init__(self, code: ProductCode, until: datetime | None) -> None:
        super().__init__(code.value)
        self.code = code
        self.until = until


@dataclass(frozen=True, slots=True)
class Reserved:
    """The reservation for a turn until it is settled. ``near``: the warning for the person if they have used most of a limit."""

    tokens: int
    near: LimitLine | None = None


def reserve(person: User, limits: UsageLimits, tokens: int) -> Reserved:
    """Reserve one answer and about this many tokens. Call it in the transaction that stores the turn, with the person's row locked.

    An answer is never cut off because of a limit, and its length is not known beforehand. So a person with anything left may ask if none of
    their answers is being written; further simultaneous questions must fit into the limit.

    Raises:
        LimitReachedError: a limit is reached, or the question does not fit beside the running answers.
    """
    period = now()
    if not _try_to_reserve(person, limits, tokens, period):
        _begin(person, period)
        if not _try_to_reserve(person, limits, tokens, period):
            raise _reached(person, limits, period)
    return Reserved(tokens, usage_limits.warning(person, limits, period))


def _try_to_reserve(person: User, limits: UsageLimits, tokens: int, period: UsagePeriod) -> bool:
    """Run the statement that decides. Returns whether the tokens and the answer are reserved now."""
    within = Q(person=person, day=period.day, since=usage_limits.oldest())
    for span, name in usage_limits.KINDS:
        within &= _within(f"{span}_{name}", f"reserved_{name}", getattr(limits, f"{span}_{name}"), tokens if name == "tokens" else 1)
    more = {"reserved_tokens": F("reserved_tokens") + tokens, "reserved_turns": F("reserved_turns") + 1}
    return bool(UsageCount.objects.filter(within).update(**more))


def _within(used: str, reserved: str, limit: int | None, wanted: int) -> Q:
    if limit is None:
        return Q()
    return Q(_le(F(used) + F(reserved) + wanted, limit)) | Q(_le(F(used) + 1, limit), reserved_turns=0)


def _le(count: Combinable, limit: int) -> Q:
    return Q(LessThanOrEqual(count, Value(limit)))


def _begin(person: User, period: UsagePeriod) -> None:
    """Count the person's day and month anew, and what is reserved: there is no count of today yet, it began before there were limits, or a
    turn that was lost before it was settled has kept its reservation.
    """
    UsageCount.objects.bulk_create([UsageCount(person=person, day=period.day, month=period.month)], ignore_conflicts=True)
    # Locked first: what ends meanwhile waits, and is added to the new count.
    UsageCount.objects.select_for_update(no_key=True).get(person=person)
    usage_limits.counted(person, period).save(force_update=True)


def _reached(person: User, limits: UsageLimits, period: UsagePeriod) -> LimitReachedError:
    """The limit that was reached; of several, the one that lasts longest. If none is reached, only running answers are in the way."""
    over = [line for line in usage_limits.lines(person, limits, period) if line.used >= line.limit]
    if not over:
        return LimitReachedError(ProductCode.TOO_MANY, None)
    last = max(over, key=lambda line: line.until)
    return LimitReachedError(last.code, last.until)
