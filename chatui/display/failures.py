"""The sentence for a turn's error code, with what the person needs in order to go on: seconds, characters, or a number for their admin.

Nothing in it comes from a server but whole seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from chatui.backends.base import ContextUse
from chatui.codes import ProductCode
from chatui.models import Turn
from chatui.store import context_use
from renderer.errors import ErrorCode

_FOR_ADMINS = (ProductCode.BACKEND_SETUP, ProductCode.BACKEND_REFUSED, ProductCode.INTERNAL)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a sentence may depend on. ``turn_id``: its ``number`` finds the failure on the admin pages."""

    code: ErrorCode
    turn_id: UUID
    context: ContextUse | None = None
    question_chars: int = 0
    retry_after: int | None = None


def failure_of(turn: Turn, code: ErrorCode, question_chars: int) -> Failure:
    """What is stored with a turn that ended with ``code``."""
    return Failure(code, turn.pk, context_use.of_turn(turn), question_chars, turn.retry_after)


def sentence(failure: Failure) -> str:
    """One or two sentences: what happened, and what to do."""
    if failure.code is ProductCode.QUESTION_TOO_LONG:
        return _too_long(failure)
    if failure.code is ProductCode.BACKEND_BUSY and failure.retry_after:
        return f"The model server is busy and asked to wait {_time(failure.retry_after)}. Try again after that."
    if failure.code in _FOR_ADMINS:
        return f"{failure.code.sentence} The number of this failure is {number(failure.turn_id)}."
    return failure.code.sentence


def number(turn_id: UUID) -> str:
    """What a person can read out to an admin: the last eight digits of the turn's key, which are random."""
    digits = turn_id.hex[-8:].upper()
    return f"{digits[:4]}-{digits[4:]}"


def _too_long(failure: Failure) -> str:
    use, chars = failure.context, failure.question_chars
    if use is None or not chars:
        return failure.code.sentence
    fits = _rounded_down(int(chars * min(use.size / max(use.used, 1), 1)))
    return f"{failure.code.sentence} It has {chars:,} characters; about {fits:,} would fit."


def _rounded_down(chars: int) -> int:
    """To two digits."""
    kept = str(chars)[:2]
    return int(kept + "0" * (len(str(chars)) - len(kept)))


def _time(seconds: int) -> str:
    if seconds == 1:
        return "1 second"
    if seconds < 120:
        return f"{seconds} seconds"
    minutes = -(-seconds // 60)
    return f"{minutes} minutes" if minutes < 120 else f"{-(-minutes // 60)} hours"
