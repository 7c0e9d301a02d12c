"""Decides whether a turn's reasoning is summarized."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module

from chatui.backends.spec.definition import BackendSpec
from chatui.turns.ledger import Job
from chatui.turns.summaries.turn_summary import TurnSummary
from renderer.gate import VisibleText

SUMMARIZING = "chatui.turns.summaries.summarizing"


async def summary_of(spec: BackendSpec, job: Job, show: Callable[[VisibleText], None]) -> TurnSummary:
    """The summary of a turn that this back end answers. ``show`` is called with each line that people may see."""
    if spec.summaries == "none":
        return TurnSummary()
    if SUMMARIZING not in sys.modules:
        # With the check of lines, it takes 3 MB, and most back ends have no summaries. In a thread, because it takes 50 ms.
        await asyncio.to_thread(import_module, SUMMARIZING)
    from chatui.turns.summaries.summarizing import Summarizing

    return Summarizing(spec, job, show)
