"""Explains failed answers: to the person, by a message for the error code, and to admins, by error code and model server.

The message has a detail that helps the person: seconds, characters, or a number for their admin. It never contains text from a server, only
a number of seconds. What admins see contains no conversation text and no names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from chatui.backends.base import ContextUse
from chatui.backends.spec import split_choice
from chatui.codes import ProductCode, code_of
from chatui.models.keys import first_key_at
from chatui.models.turn import FailedAnswer, Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.site.languages import sentence_of
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
    """The cause for admins: our name for the model server and a description of its response, such as "vllm: HTTP 401, invalid_api_key", or
    the error code if that says all, as for an answer that has reached its limit."""
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


PAGE = 50

_ADVICE: Mapping[ErrorCode, str] = {
    ProductCode.BACKEND: noop("Check the model server's log for that time, then examine the server."),
    ProductCode.BACKEND_SETUP: noop("The server rejected the key, or does not know the model: compare both with its settings."),
    ProductCode.BACKEND_REFUSED: noop("The server does not accept such requests: examine it, and apply the recommended settings."),
    ProductCode.BACKEND_UNREACHABLE: noop("Nothing responds at its address: check that the server is running and reachable from here."),
    ProductCode.BACKEND_BUSY: noop("The server is overloaded: give it more slots, or set limits."),
    ProductCode.TIMEOUT: noop("The server was silent for too long: check its load, or set a longer timeout for this back end."),
    ProductCode.NO_ANSWER: noop("The server finished without an answer: examine it, because its prompt template may not fit the model."),
    ProductCode.INTERNAL: noop("This is a bug in the product: find the number in its log, and report it."),
}
_OTHER_ADVICE = noop("Open the debug view of one of them to see what was sent and what came back.")


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that are counted together: those with one code at one model server, with advice for an admin. ``server``: its name here,
    empty for the default one. ``times``: how many."""

    code: str
    server: str
    times: int
    meaning: str
    advice: str


@dataclass(frozen=True, slots=True)
class Failed:
    """One failed answer. ``number``: the number that the person was shown. ``conversation_id``: for the address of the debug view; None if
    the viewer may not open it, or there is none."""

    number: str
    at: datetime
    code: str
    server: str
    cause: str
    conversation_id: UUID | None


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """The filter: the last ``hours``, and a code or a server, if one is named."""

    hours: int
    code: str = ""
    server: str | None = None


def groups(hours: int) -> list[FailureGroup]:
    """The failures of the last ``hours``, most frequent first. One statement."""
    counts: dict[tuple[str, str], int] = {}
    for code, choice, times in _since(hours).values_list("error_code", "choice").annotate(times=Count("pk")).order_by():
        key = code, split_choice(choice)[0]
        counts[key] = counts.get(key, 0) + times
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [FailureGroup(code, server, times, _meaning(code), _advice(code)) for (code, server), times in by_frequency]


def count(hours: int) -> int:
    """The number of failures in the last ``hours``."""
    return _since(hours).count()


def latest(viewer: User, chosen: FailureFilter) -> tuple[list[Failed], int]:
    """The newest failures, at most PAGE, and how many there are in all. Two statements."""
    rows = _since(chosen.hours)
    if chosen.code:
        rows = rows.filter(error_code=chosen.code)
    if chosen.server is not None:
        rows = rows.filter(Q(choice=chosen.server) | Q(choice__startswith=f"{chosen.server}/") if chosen.server else Q(choice=""))
    taken = rows.select_related("conversation__owner").defer("request", "error_detail", "conversation__title").order_by("-pk")[:PAGE]
    return [_shown(row, viewer) for row in taken], rows.count()


def _since(hours: int) -> QuerySet[FailedAnswer]:
    since = timezone.now() - timedelta(hours=hours)
    found: QuerySet[FailedAnswer] = FailedAnswer.objects.filter(pk__gte=first_key_at(since), started_at__gte=since)
    return found.exclude(error_code="").exclude(state=TurnState.RUNNING)


def _shown(row: FailedAnswer, viewer: User) -> Failed:
    conversation = row.conversation
    # A conversation in the bin has no debug view, and a temporary one is in no list.
    opens = conversation.deleted_at is None and conversation.temporary_until is None and access.may_view_hidden(viewer, conversation)
    cause = cause_of(row).removeprefix(f"{split_choice(row.choice)[0]}: ")
    return Failed(number(row.pk), row.started_at, row.error_code, split_choice(row.choice)[0], cause, conversation.pk if opens else None)


def _meaning(code: str) -> str:
    known = _known(code)
    return sentence_of(known) if known else ""


def _advice(code: str) -> str:
    known = _known(code)
    return gettext(_ADVICE.get(known, _OTHER_ADVICE) if known else _OTHER_ADVICE)


def _known(code: str) -> ErrorCode | None:
    """The code; None if it is one of another release."""
    try:
        return code_of(code)
    except ValueError:
        return None
