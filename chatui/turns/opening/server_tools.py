"""The tools that a model server may execute itself in a person's turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from chatui.backends.base import SampleRequest
from chatui.backends.hosted.tools import HostedTools
from chatui.backends.spec.definition import BackendSpec
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models import Turn
from chatui.models.turn import TurnState
from chatui.permissions.tools import server_tools_go_with
from chatui.tools.tool import Tool

PATIENCE = 2.0
"""Seconds that an answer waits to be asked for with such tools, where the database is busy."""


async def offered(spec: BackendSpec, turn: Turn, tools: Collection[Tool], request: SampleRequest) -> HostedTools | None:
    """None where the server has none, a program asks, or an answer is only continued; and where they do not go with what else is there."""
    if not spec.server_tools or turn.key_id is not None or request.cut_answer is not None:
        return None
    if not await pools.turns.run_patiently(partial(server_tools_go_with, tools, turn.conversation)):
        return None
    try:
        await writer.run(partial(_begin, turn), order=turn.pk, patience=PATIENCE)
    except DatabaseBusyError:
        return None
    return HostedTools(spec.server_tools)


def _begin(turn: Turn) -> None:
    """Until its end is stored, the turn counts as one whose server has used a tool: a process that dies tells nobody."""
    Turn.objects.filter(pk=turn.pk, state=TurnState.RUNNING).update(by_server={"tools": []})


def asked_again(hosted: HostedTools | None) -> None:
    """The model is asked once more: what it cited before belongs to no answer, or to one that was cut or refused."""
    if hosted is not None:
        hosted.sources.clear()


def noted(hosted: HostedTools | None) -> Mapping[str, object] | None:
    """What the turn keeps of what they did."""
    if hosted is None or not (hosted.kinds or hosted.sources):
        return None
    return {"tools": list(hosted.kinds), "sources": [[url, title] for url, title in hosted.sources.items()]}
