"""Explains failed answers: to the person, by a message for the error code, and to admins, by cause and model server.

The message has a detail that helps the person: seconds or characters. It never contains text from a server, only a number of seconds. What
admins see contains no conversation text and no names: sentences of ``chatui.codes.Cause``, and its evidence in our words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext as _

from chatui.backends import spec as backend_spec
from chatui.backends.base import ContextUse
from chatui.backends.spec import split_choice
from chatui.codes import Cause, ProductCode, code_of
from chatui.model_servers import connected
from chatui.models.keys import first_key_at
from chatui.models.turn import FailedAnswer, Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.site.languages import sentence_of
from chatui.store import context_use
from renderer.errors import ErrorCode

_CUT = (ProductCode.LENGTH, ProductCode.CONTEXT_FULL)
"""Such an answer is whole as far as it goes: nothing has failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The values that a sentence may depend on."""

    code: ErrorCode
    context: ContextUse | None = None
    question_chars: int = 0
    retry_after: int | None = None


def sentence(failure: Failure) -> str:
    """One or two sentences that say what happened and what to do."""
    if failure.code is ProductCode.QUESTION_TOO_LONG:
        return _too_long(failure)
    if failure.code is ProductCode.BACKEND_BUSY and failure.retry_after:
        return _busy(failure.retry_after)
    return sentence_of(failure.code)


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A failure for an admin. ``server``: its name here if the cause is its own and it is still configured. ``evidence``: our words."""

    sentence: str
    advice: str
    evidence: str
    server: str


@dataclass(frozen=True, slots=True)
class Notice:
    """The end of an answer that is not a good one, for people. ``number``: by which admins find it; empty if nothing has failed. ``code``
    and ``cause``: for admins."""

    code: str
    sentence: str
    number: str
    can_retry: bool
    cause: ShownCause


def notice_of(turn: Turn, question_chars: int) -> Notice:
    """The notice of a stored turn with an error code."""
    code = code_of(turn.error_code)
    failure = Failure(code, context_use.of_turn(turn), question_chars, turn.retry_after)
    has_ended_well = turn.state in (TurnState.COMPLETED, TurnState.STOPPED)
    cause, seen = Cause.read(turn.error_cause, code)
    return Notice(
        code.value,
        sentence(failure),
        "" if has_ended_well or code in _CUT else number(turn.pk),
        can_retry=turn.state != TurnState.COMPLETED and cause.may_pass,
        cause=_shown_cause(failure, cause, turn.choice, seen),
    )


def _shown_cause(failure: Failure, cause: Cause, choice: str, seen: str) -> ShownCause:
    """What the person would read stays if it has numbers, or if the cause says no more than the code."""
    known = backend_spec.find(connected.specs(), choice) if cause.is_of_server else None
    name, text = split_choice(choice)[0], sentence(failure)
    is_general = cause is not Cause.OTHER and text == sentence_of(failure.code)
    return ShownCause(
        gettext(cause.sentence) if is_general else text,
        gettext(cause.advice) if cause is not Cause.OTHER else "",
        ": ".join(part for part in (name, seen) if part),
        known.name if known and not known.is_demo else "",
    )


def number(turn_id: UUID) -> str:
    """A number that a person can give to an admin: the last eight digits of the turn's key, which are random."""
    digits = turn_id.hex[-8:].upper()
    return f"{digits[:4]}-{digits[4:]}"


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


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that are counted together: those with one code and one cause at one model server, with advice for an admin. ``server``: its
    name here, empty for the default one. ``page``: the one of its own page, empty if the server cannot change it. ``times``: how many."""

    code: str
    server: str
    page: str
    times: int
    sentence: str
    advice: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Failed:
    """One failed answer. ``number``: the number that the person was shown. ``conversation_id``: for the address of the debug view; None if
    the viewer may not open it, or there is none."""

    number: str
    at: datetime
    code: str
    server: str
    sentence: str
    seen: str
    conversation_id: UUID | None


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """The filter: the last ``hours``, and a code or a server, if one is named."""

    hours: int
    code: str = ""
    server: str | None = None


def groups(hours: int) -> list[FailureGroup]:
    """The failures of the last ``hours``, most frequent first, and then the answers that reached a limit. One statement."""
    counts: Counter[tuple[str, str, Cause]] = Counter()
    rows = _since(hours).values_list("error_code", "choice", "error_cause").annotate(times=Count("pk")).order_by()
    for code, choice, stored, times in rows:
        counts[code, split_choice(choice)[0], _cause(code, stored)[0]] += times
    by_frequency = sorted(counts.items(), key=lambda item: (item[0][0] in _CUT, -item[1], item[0]))
    return [_group(*key, times) for key, times in by_frequency]


def _group(code: str, server: str, cause: Cause, times: int) -> FailureGroup:
    known = backend_spec.find(connected.specs(), server) if cause.is_of_server else None
    page = known.name if known and not known.is_demo else ""
    return FailureGroup(code, server, page, times, _said(code, cause), gettext(cause.advice), _meaning(code))


def count(hours: int) -> int:
    """The number of failures in the last ``hours``, without answers that reached a limit."""
    return _since(hours).exclude(error_code__in=[code.value for code in _CUT]).count()


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
    cause, seen = _cause(row.error_code, row.error_cause)
    server, key = split_choice(row.choice)[0], conversation.pk if opens else None
    return Failed(number(row.pk), row.started_at, row.error_code, server, _said(row.error_code, cause), seen, key)


def cause_of(row: Turn) -> str:
    """The cause for admins in one line, such as "vllm: The model server refuses the key. (HTTP 401, invalid_api_key)"."""
    cause, seen = _cause(row.error_code, row.error_cause)
    said = _said(row.error_code, cause)
    told = f"{said} ({seen})" if said and seen else said or seen
    return ": ".join(part for part in (split_choice(row.choice)[0], told) if part)


def _cause(code: str, stored: str) -> tuple[Cause, str]:
    known = _known(code)
    return Cause.read(stored, known) if known else (Cause.OTHER, stored)


def _said(code: str, cause: Cause) -> str:
    return gettext(cause.sentence) if cause is not Cause.OTHER else _meaning(code)


def _meaning(code: str) -> str:
    known = _known(code)
    return sentence_of(known) if known else ""


def _known(code: str) -> ErrorCode | None:
    """The code; None if it is one of another release."""
    try:
        return code_of(code)
    except ValueError:
        return None
