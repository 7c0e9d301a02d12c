"""Decides whether a turn's reasoning is summarized."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from chatui.backends.spec.definition import BackendSpec
from chatui.turns.ledger import Job
from chatui.turns.summaries.turn_summary import TurnSummary
from renderer.gate import VisibleText

if TYPE_CHECKING:
    from chatui.turns.summaries.summarizing import Summarizing


async def summary_of(spec: BackendSpec, job: Job, show: Callable[[VisibleText], None]) -> TurnSummary:
    """The summary of a turn that this back end answers. ``show`` is called with each line that people may see."""
    if spec.summaries == "none":
        return TurnSummary()
    # In a thread, because the first time takes 50 ms.
    return (await asyncio.to_thread(_loaded))(spec, job, show)


def _loaded() -> type[Summarizing]:
    from chatui.turns.summaries.summarizing import Summarizing  # takes 3 MB with the check of lines, and most back ends have no summaries

    return Summarizing
