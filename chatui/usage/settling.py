"""Writes the usage of a turn or background request to the ledger, and releases its reservation.

The product's own requests are booked at once, in a separate write, so that a crash afterwards loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from uuid import UUID

from chatui.backends.spec import split_choice
from chatui.database.statements import execute, insert, new
from chatui.database.writer import writer
from chatui.models.keys import new_key
from chatui.models.turn import Turn, TurnState
from chatui.models.usage import UsageCount, UsageEntry
from chatui.models.user import User
from chatui.usage import limits
from chatui.usage.counting import Attribution, Charge

log = logging.getLogger(__name__)


def attribution_of(turn: Turn) -> Attribution:
    """Whose usage a turn is, and of which day. Runs no query."""
    return Attribution(turn.asked_by_id, limits.of(turn.started_at).day, turn.key_id, turn.reserved_tokens)


def settle(attribution: Attribution, state: str, charges: Sequence[Charge]) -> None:
    """Book a turn that has just ended, in the same transaction; the first of ``charges`` is its answer's. The turn counts as one answer, or
    as none if it failed without a result.

    Takes one statement, another if there are limits, and two more for a person's first turn.
    """
    failed = state in (TurnState.FAILED, TurnState.INTERRUPTED) and not charges[0].spent.tokens
    charges = (replace(charges[0], turns=0 if failed else 1), *charges[1:])
    insert([_entry(attribution, charge) for charge in charges])
    tokens, turns = sum(each.spent.tokens for each in charges), sum(each.turns for each in charges)
    _add_to_counters(attribution, tokens, turns)


def lock_counters(people: Collection[UUID]) -> None:
    """Lock these people's counters until the transaction ends. Call it before taking other locks, in the same order as questions do."""
    if people:
        list(UsageCount.objects.select_for_update(no_key=True).filter(person__in=people).order_by("person").values_list("person"))


def book(key: UUID, attribution: Attribution, charge: Charge) -> None:
    """Book a request of the product itself, as a write. ``key`` is the primary key of its entry, so that the write may run twice. If the
    person was erased meanwhile, nothing is booked.
    """
    person = User.objects.select_for_update(of=("self",), no_key=True).filter(pk=attribution.person_id).values_list("pk").first()
    if person is None or UsageEntry.objects.filter(pk=key).exists():
        return
    entry = _entry(attribution, charge)
    entry.pk = key
    entry.save(force_insert=True)
    _add_to_counters(attribution, charge.spent.tokens, charge.turns)


def _entry(attribution: Attribution, charge: Charge) -> UsageEntry:
    return new(
        UsageEntry,
        day=attribution.day,
        person_id=attribution.person_id,
        key_id=attribution.key_id,
        kind=charge.kind,
        choice=charge.choice[:260],
        backend=charge.backend[:100],
        # A server reports the model at the end; if it was stopped before, the requested one counts.
        model=(charge.model or (split_choice(charge.choice)[1] or "" if charge.spent.tokens else ""))[:200],
        turns=charge.turns,
        input_tokens=charge.spent.input,
        cached_tokens=charge.spent.cached,
        output_tokens=charge.spent.output,
        is_estimate=charge.spent.is_estimate,
    )


def _add_to_counters(attribution: Attribution, tokens: int, turns: int) -> None:
    """Add to the person's count, and release the reservation. Not without limits: the first question under one counts from the ledger."""
    if attribution.reserved_tokens is None and not limits.oldest():
        return
    period = limits.UsagePeriod(attribution.day)
    released, is_released = attribution.reserved_tokens or 0, int(attribution.reserved_tokens is not None)
    values: list[object] = [period.day, tokens, period.day, turns, period.month, tokens, period.month, turns]
    values += [released, released, is_released, is_released, attribution.person_id]
    if not execute(_ADD, values):
        first = UsageCount(person_id=attribution.person_id, day=period.day, month=period.month)
        UsageCount.objects.bulk_create([first], ignore_conflicts=True)
        execute(_ADD, values)


# A turn that ends after its day still counts for its month; its day is no longer checked.
_ADD = (
    "UPDATE chatui_usagecount SET day_tokens = day_tokens + CASE WHEN day = %s THEN %s ELSE 0 END, "
    "day_turns = day_turns + CASE WHEN day = %s THEN %s ELSE 0 END, "
    "month_tokens = month_tokens + CASE WHEN month = %s THEN %s ELSE 0 END, "
    "month_turns = month_turns + CASE WHEN month = %s THEN %s ELSE 0 END, "
    "reserved_tokens = CASE WHEN reserved_tokens > %s THEN reserved_tokens - %s ELSE 0 END, "
    "reserved_turns = CASE WHEN reserved_turns > %s THEN reserved_turns - %s ELSE 0 END WHERE person_id = %s"
)


_booked: set[asyncio.Future[None]] = set()


def post(attribution: Attribution, charge: Charge, *, order: Hashable = None, patience: float | None = None) -> None:
    """Book a charge with the writer (``Writer.post``), without waiting. Reservations of turns stay unchanged."""
    if not charge.spent.tokens:
        return
    booked = writer.post(book, new_key(), replace(attribution, reserved_tokens=None), charge, order=order, patience=patience)
    _booked.add(booked)
    booked.add_done_callback(_forget)


def waiting() -> list[asyncio.Future[None]]:
    """The charges that are not booked yet."""
    return list(_booked)


def _forget(booked: asyncio.Future[None]) -> None:
    _booked.discard(booked)
    if not booked.cancelled() and (error := booked.exception()) is not None:
        log.warning("the tokens of one of the product's own requests could not be booked (%s)", type(error).__name__)
