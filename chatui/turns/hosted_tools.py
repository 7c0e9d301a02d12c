"""The tools that a model server runs by itself in a person's turn: which are offered, and which it has used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from chatui.backends.hosted_tools import HostedTools
from chatui.backends.spec import BackendSpec
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models.turn import Turn, TurnState
from chatui.permissions.tools import server_tools_combine_with
from chatui.turns.running_turn import RunningTurn

PATIENCE = 2.0
"""How many seconds a request waits for a busy database before it is sent without hosted tools."""


async def offered(spec: BackendSpec, running: RunningTurn) -> HostedTools | None:
    """The hosted tools to offer. None if the server has none, a program asks, an answer is only continued, the tools may not be combined
    with the others of the conversation, or the database is busy."""
    turn = running.turn
    if not spec.server_tools or turn.key_id is not None or running.request.cut_answer is not None:
        return None
    if not await pools.turns.run_with_retries(partial(server_tools_combine_with, running.tools.values(), turn.conversation)):
        return None
    try:
        await writer.run(partial(_mark_used, turn), order=turn.pk, patience=PATIENCE)
    except DatabaseBusyError:
        return None
    return HostedTools(spec.server_tools)


def _mark_used(turn: Turn) -> None:
    """Mark the turn, until its end is stored, as one whose server has used a tool: if this process dies, nobody else will know."""
    Turn.objects.filter(pk=turn.pk, state=TurnState.RUNNING).update(by_server={"tools": []})


def used(hosted: HostedTools | None) -> Mapping[str, object] | None:
    """The hosted tools that were used and their sources, for the turn's ``by_server`` column; None if there was no use."""
    if hosted is None or not (hosted.kinds or hosted.sources):
        return None
    return {"tools": list(hosted.kinds), "sources": [[url, title] for url, title in hosted.sources.items()]}
