"""What people are told of how full the context of a model is: rounded, because it holds instructions whose length is nobody's to know."""

from __future__ import annotations

from chatui.backends.base import ContextUse
from chatui.codes import ProductCode
from chatui.models import Turn
from renderer.errors import ErrorCode

STEP = 5


def of_turn(turn: Turn) -> ContextUse | None:
    """What is stored with a turn; None where nothing is known."""
    if not turn.context_size or turn.context_used is None:
        return None
    return ContextUse(turn.context_size, turn.context_used)


def percent(use: ContextUse | None, code: ErrorCode | None = None) -> int | None:
    """How full the context is after a turn that ended with ``code``, in steps of STEP per cent; None if unknown, or hardly used."""
    if use is None or code is ProductCode.QUESTION_TOO_LONG:
        return None
    return min(round(100 * use.used / use.size / STEP) * STEP, 100) or None


def sentence(code: ErrorCode, use: ContextUse | None, question_chars: int) -> str:
    """The sentence for people; of a question that is too long it also says how long it is, and what would fit."""
    if code is not ProductCode.QUESTION_TOO_LONG or use is None or not question_chars:
        return code.sentence
    fits = _rounded_down(int(question_chars * min(use.size / max(use.used, 1), 1)))
    return f"{code.sentence} It has {question_chars:,} characters; about {fits:,} would fit."


def _rounded_down(chars: int) -> int:
    """To two digits."""
    kept = str(chars)[:2]
    return int(kept + "0" * (len(str(chars)) - len(kept)))
