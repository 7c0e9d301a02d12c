"""What people and staff read of an answer that failed."""

from typing import Any

from chatui.backends.base import ContextUse
from chatui.codes import ProductCode
from chatui.display import failures
from chatui.models.turn import Turn


def notice(turn: Turn, question_chars: int = 0) -> Any:
    """Its ``sentence``, the ``number`` by which staff find it, ``can_retry``, and the ``cause`` for staff, which has a ``sentence``."""
    return failures.notice_of(turn, question_chars)


def sentence(code: ProductCode, use: ContextUse | None = None, question_chars: int = 0, retry_after: int | None = None) -> str:
    """What people read about this code."""
    return failures.sentence(code, use, question_chars, retry_after)


def has_failed(state: str, code: str, cause: str) -> bool:
    """Whether staff count a turn with this state, code and stored cause as failed."""
    return failures.has_failed(state, code, cause)
