"""The message for a turn's error code, with a detail that helps the person: seconds, characters, or a number for their admin.

It never contains text from a server, only a number of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.backends.base import ContextUse
from chatui.backends.spec.choices import split_choice
from chatui.codes import ProductCode
from chatui.languages.sentences import sentence_of
from chatui.models import Turn
from chatui.store import context_use
from renderer.errors import ErrorCode

_FOR_ADMINS = (ProductCode.BACKEND_SETUP, ProductCode.BACKEND_REFUSED, ProductCode.INTERNAL)


@dataclass(frozen=True, slots=True)
class Failure:
    """The values that a sentence may depend on. ``turn_id``: gives the ``number`` by which the admin pages find the failure."""

    code: ErrorCode
    turn_id: UUID
    context: ContextUse | None = None
    question_chars: int = 0
    retry_after: int | None = None


def failure_of(turn: Turn, code: ErrorCode, question_chars: int) -> Failure:
    """The failure of a stored turn that ended with ``code``."""
    return Failure(code, turn.pk, context_use.of_turn(turn), question_chars, turn.retry_after)


def sentence(failure: Failure) -> str:
    """One or two sentences that say what happened and what to do."""
    if failure.code is ProductCode.QUESTION_TOO_LONG:
        return _too_long(failure)
    if failure.code is ProductCode.BACKEND_BUSY and failure.retry_after:
        return _busy(failure.retry_after)
    if failure.code in _FOR_ADMINS:
        words = {"sentence": sentence_of(failure.code), "number": number(failure.turn_id)}
        return _("%(sentence)s The failure number is %(number)s.") % words
    return sentence_of(failure.code)


def number(turn_id: UUID) -> str:
    """A number that a person can give to an admin: the last eight digits of the turn's key, which are random."""
    digits = turn_id.hex[-8:].upper()
    return f"{digits[:4]}-{digits[4:]}"


def cause_of(turn: Turn) -> str:
    """The cause for admins: our name for the back end and a description of its response, such as "vllm: HTTP 401, invalid_api_key", or the
    error code if that says all, as for an answer that has reached its limit."""
    name, _model = split_choice(turn.choice)
    return ": ".join(part for part in (name, turn.error_cause or turn.error_code or _("cause unknown")) if part)


def _too_long(failure: Failure) -> str:
    use, chars = failure.context, failure.question_chars
    if use is None or not chars:
        return sentence_of(failure.code)
    fits = _rounded_down(int(chars * min(use.size / max(use.used, 1), 1)))
    words = {"sentence": sentence_of(failure.code), "chars": _grouped(chars), "fits": _grouped(fits)}
    return _("%(sentence)s It has %(chars)s characters; about %(fits)s would fit.") % words


def _grouped(count: int) -> str:
    return str(number_format(count, force_grouping=True))


def _rounded_down(chars: int) -> int:
    """Round down to two significant digits."""
    digits = str(chars)[:2]
    return int(digits + "0" * (len(str(chars)) - len(digits)))


def _busy(seconds: int) -> str:
    """A complete sentence for each unit, because a language may need a different word order or form."""
    minutes = -(-seconds // 60)
    if seconds < 120:
        words = ngettext(
            "The model server is busy and asked to wait %(count)d second. Try again after that.",
            "The model server is busy and asked to wait %(count)d seconds. Try again after that.",
            seconds,
        )
        return words % {"count": seconds}
    if minutes < 120:
        words = ngettext(
            "The model server is busy and asked to wait %(count)d minute. Try again after that.",
            "The model server is busy and asked to wait %(count)d minutes. Try again after that.",
            minutes,
        )
        return words % {"count": minutes}
    hours = -(-minutes // 60)
    words = ngettext(
        "The model server is busy and asked to wait %(count)d hour. Try again after that.",
        "The model server is busy and asked to wait %(count)d hours. Try again after that.",
        hours,
    )
    return words % {"count": hours}
