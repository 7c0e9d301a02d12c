"""The wait of a stored turn for a slot, which another process may take over.

A question that waits loses nothing if its process ends: from the moment it is stored, ``Turn.is_queued`` says that no model has been asked,
and another process, or the same one after its restart, takes it over with one conditional UPDATE and queues it anew. A turn that gets its
slot at once never touches that column; the others clear it before they ask a model. Only a person's turns are launched again, and only
within an hour: those of programs, of deleted conversations and of closed accounts are ended, as is one that was stopped. A process that is
about to end keeps its queued turns queued, gives up their leases, and takes over none.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from chatui.database import connections
from chatui.database.writer import writer
from chatui.models.turn import Turn, TurnState
from chatui.turns import leases, ledger
from chatui.turns.slots import HeldSlot, PositionChanged, ProgramLimits, Slots

LONGEST = timedelta(hours=1)
"""Older turns are ended instead of launched again."""
ADOPTED_AT = "adopted_at"
"""When this process has taken the turn over, by the database's clock: an attribute of turns that come from ``adopt``."""


class LeftToOthersError(Exception):
    """Another process launches the turn, or has done so."""


class SlotWait:
    def __init__(self, turn: Turn, *, is_for_person: bool) -> None:
        self._turn = turn
        self._is_marked = turn.is_queued
        self._can_be_adopted = is_for_person
        self._adopted_at: datetime | None = getattr(turn, ADOPTED_AT, None)
        self._held: HeldSlot | None = None

    @property
    def is_over(self) -> bool:
        """Whether the turn no longer waits: its row does not say that it is queued, and a model may be asked."""
        return not self._is_marked

    @property
    def first_number(self) -> int:
        """The number of the first event that pages get of the turn. A page that followed it in the process that ended must not take new
        events for those that it has: it notices a gap, and asks for a snapshot. So each adoption begins with a higher number: the tenths of
        seconds of the database's clock, because a queued turn sends about one event each second."""
        return int(10 * self._adopted_at.timestamp()) if self._adopted_at else 1

    @property
    def _waited(self) -> float:
        """For how many seconds the turn has waited, in the processes that had it before; 0 for one that begins in this process."""
        return max(0.0, (self._adopted_at - self._turn.started_at).total_seconds()) if self._adopted_at else 0.0

    @contextlib.asynccontextmanager
    async def slot(
        self, slots: Slots, on_position: PositionChanged, groups: Iterable[str], program: ProgramLimits | None = None
    ) -> AsyncIterator[None]:
        """As ``slots.acquire``. If the turn must wait, its row says so, until just before the block: a turn that may have asked a model is
        not launched again. A turn that gets a slot at once writes nothing.

        Raises:
            LeftToOthersError: another process has launched or ended the turn meanwhile.
            QueueFullError: a program has waited for too long.
        """

        def mark(place: int) -> None:
            if place and not self._is_marked:
                self._is_marked = True
                self._written(is_queued=True)
            on_position(place)

        async with slots.acquire(mark, groups, self._waited, program) as held:
            if self._is_marked:
                if not await self._cleared():
                    raise LeftToOthersError
                self._is_marked = False
            self._held = held
            yield

    def lend(self) -> None:
        """The turn waits for its person: others may have its slot meanwhile."""
        if self._held is not None:
            self._held.lend()

    async def take_back(self, on_position: PositionChanged) -> None:
        """Have the slot again, before a model is asked. Its row says nothing of this wait: no other process may launch what has begun."""
        if self._held is not None:
            await self._held.take_back(on_position)

    def leave(self) -> None:
        """The process is ending.

        Raises:
            LeftToOthersError: the turn still waits, so that another process can launch it.
        """
        if self._is_marked and self._can_be_adopted:
            raise LeftToOthersError

    async def _cleared(self) -> bool:
        """Clear the column, however long the database is locked or away: a turn that had asked a model meanwhile could be launched again.
        Returns whether the turn is still ours."""
        try:
            return await asyncio.shield(self._written(is_queued=False))
        except asyncio.CancelledError:
            self._written(is_queued=True)  # the first write may still follow, although no model was asked
            raise

    def _written(self, *, is_queued: bool) -> asyncio.Future[bool]:
        return writer.post(_set, self._turn.pk, self._turn.lease_owner, is_queued, order=self._turn.pk)


def _set(turn_id: UUID, owner: str, is_queued: bool) -> bool:
    return bool(ledger.mine(turn_id, owner).update(is_queued=is_queued))


def adoptable() -> QuerySet[Turn]:
    """The queued turns whose process has ended, and that another may launch. Not those of programs: the rest of their request is not
    stored."""
    # The rest is in a subquery: with joins, the lease would be too, and PostgreSQL does not repeat a subquery after waiting for a lock.
    unbegun = Turn.objects.filter(pk=OuterRef("pk"), program_answer=None, messages=None, pieces=None)
    waiting = Turn.objects.filter(state=TurnState.RUNNING, is_queued=True, stop_requested=False, lease_until__lt=connections.now())
    return waiting.filter(
        Exists(unbegun.filter(conversation__deleted_at=None, asked_by__is_active=True)), started_at__gt=connections.after(-LONGEST)
    )


def adopt(turn: Turn) -> Turn | None:
    """Take over an adoptable turn. Returns it, as ``start.started_again`` needs it; None if another process was faster."""
    changes = {"lease_owner": leases.OWNER, "lease_until": connections.after(leases.LEASE)}
    if not adoptable().filter(pk=turn.pk, lease_owner=turn.lease_owner).update(**changes):
        return None
    adopted = Turn.objects.annotate(**{ADOPTED_AT: connections.now()})
    return adopted.select_related("conversation", "question", "continued_message", "asked_by").get(pk=turn.pk)
