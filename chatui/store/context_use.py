"""How full a model's context window is, rounded for people, because it contains instructions whose exact length is private."""

from __future__ import annotations

from chatui.backends.base import ContextUse
from chatui.codes import ProductCode
from chatui.models import Turn
from renderer.errors import ErrorCode

STEP = 5


def of_turn(turn: Turn) -> ContextUse | None:
    """The context use stored with a turn; None if unknown."""
    if not turn.context_size or turn.context_used is None:
        return None
    return ContextUse(turn.context_size, turn.context_used)


def percent(use: ContextUse | None, code: ErrorCode | None = None) -> int | None:
    """How full the context is after a turn that ended with ``code``, in steps of STEP per cent; None if unknown, or almost empty."""
    if use is None or code is ProductCode.QUESTION_TOO_LONG:
        return None
    return min(round(100 * use.used / use.size / STEP) * STEP, 100) or None
