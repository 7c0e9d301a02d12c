"""Erases a program's turn that must not be stored, once it has ended, even if its process died."""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from chatui.database import pools
from chatui.error_reports import log_without_content
from chatui.models import ProgramAnswer
from chatui.models.turn import TurnState
from chatui.store import erasure
from chatui.tools.python import python_tool

log = logging.getLogger(__name__)

_tasks: set[asyncio.Task[None]] = set()


def erase_after(turn: asyncio.Task[None], conversation_id: UUID) -> None:
    """Erase the conversation as soon as ``turn`` is done."""
    task = asyncio.create_task(_erase_when_done(turn, conversation_id), name=f"forget {conversation_id}")
    _tasks.add(task)  # the event loop keeps only a weak reference
    task.add_done_callback(_tasks.discard)


def erase_ended() -> int:
    """Erase the conversations of ended turns that must not be stored, and no others. Returns how many were erased."""
    turns = ProgramAnswer.objects.filter(is_kept=False).exclude(turn__state=TurnState.RUNNING)
    keys = list(turns.values_list("turn__conversation", flat=True))
    for key in keys:
        _erase(key)
    return len(keys)


def _erase(conversation_id: UUID) -> None:
    python_tool.forget_ended_from_thread(conversation_id)
    erasure.erase_conversation(conversation_id)


async def _erase_when_done(turn: asyncio.Task[None], conversation_id: UUID) -> None:
    await asyncio.wait([turn])
    try:
        await pools.turns.run_with_retries(_erase, conversation_id)
    except Exception as error:  # noqa: BLE001 - ``erase_ended`` erases it later
        log_without_content(log, conversation_id, error)
