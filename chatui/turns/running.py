"""The turns that are running in this process. Other processes reach them through their channel-layer group."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import socket
from uuid import UUID, uuid4

from django.db import DatabaseError, InterfaceError

from chatui.turns import groups
from chatui.turns.runner import Runner
from chatui.turns.start import Started
from renderer.gate import Audience

log = logging.getLogger(__name__)

LEASE_OWNER = f"{socket.gethostname()[:30]}:{os.getpid()}:{uuid4().hex[:8]}"
"""Identifies this process in leases."""

_runners: dict[UUID, tuple[Runner, asyncio.Task[None]]] = {}


async def launch(started: Started) -> None:
    """Start a turn as a task of the server. Returns once others can reach it. The turn outlives the socket that asked for it."""
    turn_id = started.turn.pk
    runner = Runner(started)
    await runner.listen()
    task = asyncio.create_task(runner.run(), name=f"turn {turn_id}")
    # The event loop keeps only a weak reference to a task.
    _runners[turn_id] = (runner, task)
    task.add_done_callback(lambda _: _runners.pop(turn_id, None))
    with contextlib.suppress(*groups.LAYER_ERRORS):  # the turn runs anyway
        await groups.layer().group_send(groups.turns_of(started.turn.conversation_id), {"type": "turn.begun"})


async def stop(turn_id: UUID) -> None:
    """Stop a turn wherever it runs."""
    if turn_id in _runners:
        _runners[turn_id][0].stop()
    else:
        await groups.layer().group_send(groups.control(turn_id), {"type": "turn.stop"})


async def ask_snapshot(turn_id: UUID, audience: Audience, reply_to: str) -> None:
    """Ask the turn's runner, in whichever process it is, to send a snapshot to a socket's channel."""
    message = {"type": "turn.snapshot", "audience": audience.value, "reply_to": reply_to}
    await groups.layer().group_send(groups.control(turn_id), message)


async def keep_watching(turn_id: UUID) -> None:
    """Tell the turn's runner that somebody with the permission still watches its hidden channels."""
    await groups.layer().group_send(groups.control(turn_id), {"type": "turn.watched"})


async def settle() -> None:
    """Wait until no turn runs in this process."""
    while _runners:
        await asyncio.gather(*(task for _, task in _runners.values()), return_exceptions=True)


def let_go() -> None:
    """The process exits normally: its turns store what was shown and give up their leases, so that the next sweep closes them."""
    for turn_id, (runner, _) in list(_runners.items()):
        try:
            runner.let_go()
        except (DatabaseError, InterfaceError) as error:
            log.warning("turn %s: could not give up its lease (%s)", turn_id, type(error).__name__)


atexit.register(let_go)
