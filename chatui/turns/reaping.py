"""Ends or launches turns that nobody runs any more: those of processes that have died, and questions that were stored and never launched.

Every process looks for them every REAP_SECONDS, and erases what is due.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from chatui import wire
from chatui.database import connections, pools
from chatui.database.faults import DatabaseBusyError, Refused, is_transient, outages
from chatui.database.statements import query
from chatui.models.turn import Turn, TurnState
from chatui.store import erasure
from chatui.turns import leases, running, slot_waits, start, sweep, temporary
from chatui.turns.asks import AskKind
from chatui.turns.running_turn import RunningTurn
from chatui.wire import bus as wire_bus
from chatui.wire.bus import PROCESS, bus
from renderer.gate import Audience

log = logging.getLogger(__name__)


REAP_SECONDS = 10.0
ENDING_SECONDS = 5.0
LAUNCH_GRACE = timedelta(seconds=5)
_UNRENEWED = leases.LEASE - LAUNCH_GRACE
"""What is left of a lease that has not been renewed for LAUNCH_GRACE."""

_reaper: asyncio.Task[None] | None = None
_refused = Refused()


def start_reaping() -> None:
    """Start checking every REAP_SECONDS for turns whose process has died, and for questions that this process stored but never launched.
    Turns that were still queued when their process died are launched here."""
    global _reaper
    _reaper = asyncio.get_running_loop().create_task(_reap_often(), name="reaper")


def stop_reaping() -> None:
    """The process is about to end: it launches no turns of others any more."""
    if _reaper is not None:
        _reaper.cancel()


async def _reap_often() -> None:
    while True:
        pause = REAP_SECONDS
        try:
            await reap()
        except Exception as error:  # noqa: BLE001 - whatever the error, the checks must go on
            log.warning("the search for abandoned turns failed (%s)", type(error).__name__)
            if isinstance(error, DatabaseBusyError) or is_transient(error):
                outages.record()
                pause = 1.0  # so that the end of the outage is noticed soon
        await asyncio.sleep(pause)


async def reap() -> None:
    """Check once."""
    if not await pools.reaper.run(_has_work):
        return
    await pools.reaper.run(running.erase_ended)
    for turn in await pools.reaper.run(sweep.abandoned):
        if state := await pools.reaper.run(sweep.interrupt, turn):
            log.warning("turn %s was abandoned by its process, and is closed", turn.pk)
            _publish_end(turn, state)
        elif started := await pools.reaper.run(_adopted, turn):
            log.warning("turn %s was queued in a process that has ended, and is launched here", turn.pk)
            running.launch(started)
    for started in await pools.reaper.run(_never_launched):
        log.warning("turn %s was stored and never launched", started.turn.pk)
        running.launch(started)
    # Last, and with a time limit: a backlog must not delay the end of anybody's answer.
    await pools.reaper.run(temporary.end_overdue, ENDING_SECONDS, _refused)
    await pools.reaper.run(erasure.erase_unfinished, ENDING_SECONDS, _refused)


def _has_work() -> bool:
    """Whether there may be anything for ``reap``: nearly always there is nothing, as one statement over small indexes says."""
    late, now = connections.after_sql(_UNRENEWED), connections.after_sql(timedelta())
    return temporary.is_log_due() or bool(query(_WORK.format(late=late, now=now)))


_WORK = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM chatui_turn WHERE state = 'running' AND lease_until < {late}) "
    "OR EXISTS (SELECT 1 FROM chatui_programanswer JOIN chatui_turn ON chatui_turn.id = turn_id WHERE NOT is_kept AND state <> 'running') "
    "OR EXISTS (SELECT 1 FROM chatui_conversation WHERE temporary_until < {now}) "
    "OR EXISTS (SELECT 1 FROM chatui_conversation WHERE unfinished_until <= {now})"
)


def _publish_end(turn: Turn, state: TurnState) -> None:
    """Tell the pages that still wait for events of the turn that it has ended. They then load it from the database."""
    event = wire.Idle(str(turn.conversation_id), str(turn.pk), state)
    message = {"type": "turn.events", "json": wire.encode([event]), "turn": str(turn.pk), "process": PROCESS}
    for audience in (Audience.END_USER, Audience.DEBUG):
        over = wire_bus.over(turn.conversation.owner_id, audience)
        bus().send(wire_bus.audience(turn.conversation_id, audience), message, over=over)


def _adopted(turn: Turn) -> RunningTurn | None:
    """A queued turn of a process that has ended, which this process takes over; None if there is nothing to take over."""
    found = slot_waits.adopt(turn) if turn.is_queued else None
    # As for an old question: pages already show it, with its files and its other versions.
    return start.started_again(found, kind=AskKind.REGENERATE) if found else None


def _never_launched() -> list[RunningTurn]:
    """Questions that this process stored some time ago, but that none of its tasks is answering."""
    known = [*running.known(), *leases.leases.keys()]
    lease = connections.after(_UNRENEWED)
    turns = Turn.objects.filter(state=TurnState.RUNNING, lease_owner=leases.OWNER, lease_until__lt=lease).exclude(pk__in=known)
    # A program's turns are closed instead: nobody waits for them, and only the question was stored, not the rest of the request.
    turns = turns.filter(program_answer=None)
    return [start.started_again(turn) for turn in turns.select_related("conversation", "question", "continued_message", "asked_by")]
