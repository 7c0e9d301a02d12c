"""The turns that are running in this process. Other processes reach them through the bus.

A program's turn that must not be stored is erased once it has ended, even if its process died.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db import DatabaseError, IntegrityError, InterfaceError
from django.db.models import QuerySet

from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.writer import writer
from chatui.display import conversation_list
from chatui.env import environment
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.observability import measures, request_ids
from chatui.observability.error_reports import log_without_content
from chatui.store import erasure
from chatui.tools import execution
from chatui.turns import leases, ledger, start
from chatui.turns.asks import Ask, AskRefusedError
from chatui.turns.calls import file_access
from chatui.turns.runner import Runner
from chatui.turns.running_turn import RunningTurn
from chatui.turns.slots import QueueFullError, slots
from chatui.wire import bus as wire_bus
from chatui.wire.bus import PROCESS, bus, send_from_thread
from renderer.gate import Audience

log = logging.getLogger(__name__)


def erase_ended() -> int:
    """Erase the conversations of ended turns that must not be stored, and no others. Returns how many were erased."""
    turns = ProgramAnswer.objects.filter(is_kept=False).exclude(turn__state=TurnState.RUNNING)
    keys = list(turns.values_list("turn__conversation", flat=True))
    for key in keys:
        _erase(key)
    return len(keys)


def _erase(conversation_id: UUID) -> None:
    file_access.forget_ended_from_thread(conversation_id)
    erasure.erase_conversation(conversation_id)


DRAIN_SECONDS = 5.0
"""How long a process waits for its pending writes when it exits."""
FINISH_SECONDS = 0.2
"""How often a process that ends looks which turns have begun: one that was just launched may turn out to wait."""
LAST_WRITE_SECONDS = 2.0
"""How long turns that are cut off when the process ends may take to store their end. What they do not store is in pieces already."""
ASK_PATIENCE = 20.0
STOP_PATIENCE = 10.0
"""How long a question or a Stop waits for a database that is locked or away, in seconds, before it is refused."""

_runners: dict[UUID, tuple[Runner, asyncio.Task[None]]] = {}
_asking: set[asyncio.Task[RunningTurn]] = set()
"""The questions that are being stored."""
_ended: deque[UUID] = deque(maxlen=1000)


async def ask(person: User, wanted: Ask, stored: Callable[[RunningTurn], None] | None = None) -> RunningTurn:
    """Store the request of a person or a program, and launch the turn. Continues even if the caller is cancelled: a stored question gets
    its answer.

    ``stored`` is called in between: a socket that follows the conversation from then on misses nothing of the turn. The turn of a program
    sends its visible events to its stream; one that must not be stored is erased once it has ended.

    Raises:
        AskRefusedError, access.NotFoundError: see ``start.start``; for a program also the errors of ``program_start.begin``.
        DatabaseBusyError: the request could not be stored in time; nothing was stored.
    """
    # In a task of its own: a question that is stored is also launched, even if the one who asked is gone by then.
    task = asyncio.create_task(_ask(person, wanted, stored))
    _asking.add(task)
    task.add_done_callback(_asked)
    return await asyncio.shield(task)


def _asked(task: asyncio.Task[RunningTurn]) -> None:
    _asking.discard(task)
    if not task.cancelled():
        task.exception()  # otherwise asyncio reports a refusal that nobody waits for any more as an error


async def _ask(person: User, wanted: Ask, stored: Callable[[RunningTurn], None] | None) -> RunningTurn:
    leave = _entered(person, wanted.key) if wanted.program else None
    try:
        started = await _stored(person, wanted)
        if stored is not None:
            stored(started)
        # After a commit whose result was lost, the second attempt finds the turn of the first.
        if started.ask.program or started.is_new or (started.turn.state == TurnState.RUNNING and started.turn.lease_owner == leases.OWNER):
            launch(started, leave)
        return started
    except BaseException:
        if leave is not None:
            leave()
        raise


def _entered(person: User, key: UUID | None) -> Callable[[], None]:
    """Count a program's request, and return what to call when it is over. Raises AskRefusedError if too many wait already."""
    env = environment()
    try:
        return slots().enter(person.pk, max((env.api_at_once, *env.group_api_at_once.values())), env.api_waiting, key)
    except QueueFullError as error:
        raise AskRefusedError(ProductCode.TOO_MANY, retry_after=error.seconds) from None


async def _stored(person: User, wanted: Ask) -> RunningTurn:
    try:
        if wanted.files:
            wanted = await pools.documents.run(start.prepared, person, wanted)
        # If the process is killed before a person's turn has got its slot, another launches it. ``_asking`` has this question, too.
        is_queued = wanted.program is None and not slots().has_room(len(_asking))
        return await writer.run(start.start, person, wanted, leases.OWNER, is_queued, patience=ASK_PATIENCE)
    except IntegrityError:
        return await pools.commands.run(start.started_before, person, wanted)


@dataclass(frozen=True, slots=True)
class TurnPlace:
    turn_id: UUID
    process: str


def launch(started: RunningTurn, ended: Callable[[], None] | None = None) -> None:
    """Start a turn as a task of the server. It can be reached over the bus at once, and outlives the socket that asked for it. ``ended``
    is called once it is over."""
    turn_id = started.turn.pk
    if turn_id in _runners:
        if ended is not None:
            ended()
        return
    runner = Runner(started)
    runner.listen()
    task = asyncio.create_task(_run(runner, started), name=f"turn {turn_id}")
    # The event loop keeps only a weak reference to a task.
    _runners[turn_id] = (runner, task)
    task.add_done_callback(lambda _: _forget(turn_id))
    if ended is not None:
        task.add_done_callback(lambda _: ended())
    conversation = started.turn.conversation
    bus().send(wire_bus.turns_of(conversation.pk), {"type": "turn.begun"})
    if started.ask.program is None and conversation.temporary_until is None:
        listed = conversation_list.listed(conversation, is_running=True)
        bus().send(wire_bus.person(conversation.owner_id), conversation_list.message(listed))
    runner.announce()


async def _run(runner: Runner, started: RunningTurn) -> None:
    turn = started.turn
    if started.ask.program is None or not request_ids.request_id.get():
        request_ids.begin(str(turn.pk))
    with measures.span("turn", turn=turn.pk, conversation=turn.conversation_id):
        await runner.run()
    if started.ask.program is not None and not started.ask.program.is_kept:
        try:
            await pools.turns.run_with_retries(_erase, turn.conversation_id)
        except Exception as error:  # noqa: BLE001 - ``erase_ended`` erases it later
            log_without_content(log, turn.conversation_id, error)


def _forget(turn_id: UUID) -> None:
    del _runners[turn_id]
    _ended.append(turn_id)


async def stop(place: TurnPlace) -> None:
    """Stop a turn in whichever process runs it: at once over the bus, or within about a second if Redis is down.

    Raises:
        DatabaseBusyError: the turn runs in another process, and the request could not be stored.
    """
    bus().send_to(place.process, wire_bus.control(place.turn_id), {"type": "turn.stop"})
    if place.process != PROCESS:
        await writer.run(ledger.ask_to_stop, place.turn_id, patience=STOP_PATIENCE)


def answer_now(place: TurnPlace) -> None:
    """End the thinking of a turn in whichever process runs it, over the bus. While Redis is down this reaches only this process; the person
    can press the button again."""
    bus().send_to(place.process, wire_bus.control(place.turn_id), {"type": "turn.answer_now"})


def make_way(place: TurnPlace, page: str, *, is_wanted: bool) -> None:
    """Have a turn end before its next sampling, in whichever process runs it, because the person's next message is to be added there; or no
    longer, once no ``page`` (the name of its socket) wants that. While Redis is down this reaches only this process; the message then waits
    for the end of the answer."""
    wish = {"type": "turn.make_way", "page": page, "process": PROCESS, "is_wanted": is_wanted}
    bus().send_to(place.process, wire_bus.control(place.turn_id), wish)


def stop_from_thread(place: TurnPlace) -> None:
    """As ``stop``, from synchronous code."""
    send_from_thread(wire_bus.control(place.turn_id), {"type": "turn.stop"}, to=place.process)


def decided_from_thread(place: TurnPlace) -> None:
    """Tell a turn, from synchronous code, that the person has decided about one of its calls. It reads the decision at once, or within
    seconds if Redis is down."""
    send_from_thread(wire_bus.control(place.turn_id), {"type": "turn.decided"}, to=place.process)


def stop_all_from_thread(conversation_id: UUID) -> None:
    """Stop all turns of a conversation, and end what tools keep for it. Best effort: their process also notices within a second that the
    conversation was deleted."""
    _stop_from_thread(Turn.objects.filter(conversation=conversation_id))
    file_access.forget_from_thread(conversation_id)


def stop_programs_from_thread(conversation_id: UUID) -> None:
    """Stop the turns of a conversation that programs asked for. What a person asked there goes on."""
    _stop_from_thread(Turn.objects.filter(conversation=conversation_id, key__isnull=False))


def _stop_from_thread(turns: QuerySet[Turn]) -> None:
    for turn_id, process in turns.filter(state=TurnState.RUNNING).values_list("pk", "lease_owner"):
        stop_from_thread(TurnPlace(turn_id, process))


def ask_snapshot(place: TurnPlace, audience: Audience, group: str) -> None:
    """Ask the turn's runner, in whichever process it runs, to send a snapshot to a group of this process."""
    message = {"type": "turn.snapshot", "audience": audience.value, "process": PROCESS, "group": group}
    bus().send_to(place.process, wire_bus.control(place.turn_id), message)


def keep_following(place: TurnPlace, audience: Audience) -> None:
    """Tell the turn's runner that somebody of this audience still follows it here. For DEBUG, check the permission first."""
    if place.process != PROCESS:
        bus().send_to(place.process, wire_bus.control(place.turn_id), {"type": "turn.followed", "audience": audience.value})


def known() -> list[UUID]:
    """The turns that this process runs, and the last thousand that it has run."""
    return [*_runners, *_ended]


async def settle() -> None:
    """Wait until no turn runs in this process, and no question is being stored. If the caller waits no longer, those that still run store
    what was shown, and say so."""
    try:
        while begun := [*_asking, *(task for _, task in _runners.values())]:
            await asyncio.wait(begun)
    finally:
        await _end_runners()


async def finish() -> None:
    """Wait until all answers that have begun are complete, and each question and Stop is stored. No others begin: questions are queued, and
    launched by the next process."""
    slots().close()
    try:
        while begun := [*_asking, *(task for runner, task in _runners.values() if runner.wait.is_over or runner.is_stopped)]:
            await asyncio.wait(begun, timeout=FINISH_SECONDS)
    finally:
        await _end_runners()


async def _end_runners() -> None:
    """Give turns that have no more time a moment to store what was shown, and to say so. Queued ones leave their rows to others."""
    tasks = [task for _, task in _runners.values()]
    if begun := sum(runner.wait.is_over for runner, _ in _runners.values()):
        log.warning("%d answers are cut off, because the process ends", begun)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=LAST_WRITE_SECONDS)


def release_turns() -> None:
    """The process exits normally: cancel its tools; its turns store what was shown and give up their leases, so that the next sweep closes
    them, or another process launches those that are still queued."""
    execution.cancel_all()
    writer.drain(DRAIN_SECONDS)
    for turn_id, (runner, _) in list(_runners.items()):
        try:
            runner.release()
        except (DatabaseError, InterfaceError) as error:
            log.warning("turn %s: could not give up its lease (%s)", turn_id, type(error).__name__)


atexit.register(release_turns)
