"""Books the product's own requests at once, in a separate write, so that a crash afterwards loses nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from dataclasses import replace

from chatui.database.writer import writer
from chatui.models.keys import new_key
from chatui.usage import settling
from chatui.usage.counting import Attribution, Charge

log = logging.getLogger(__name__)

_booked: set[asyncio.Future[None]] = set()


def post(attribution: Attribution, charge: Charge, *, order: Hashable = None, patience: float | None = None) -> None:
    """Book a charge with the writer (``Writer.post``), without waiting. Reservations of turns stay unchanged."""
    if not charge.spent.tokens:
        return
    booked = writer.post(settling.book, new_key(), replace(attribution, reserved_tokens=None), charge, order=order, patience=patience)
    _booked.add(booked)
    booked.add_done_callback(_forget)


def waiting() -> list[asyncio.Future[None]]:
    """The charges that are not booked yet."""
    return list(_booked)


def _forget(booked: asyncio.Future[None]) -> None:
    _booked.discard(booked)
    if not booked.cancelled() and (error := booked.exception()) is not None:
        log.warning("the tokens of one of the product's own requests could not be booked (%s)", type(error).__name__)
