"""Explains failed answers: to the person, by a message for the error code, and to admins, by cause and model server.

The message has a detail that helps the person: seconds or characters. It never contains text from a server, only a number of seconds. What
admins see contains no conversation text and no names: sentences of ``chatui.codes.Cause``, and its evidence in our words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext as _

from chatui.backends import spec as backend_spec
from chatui.backends.base import ContextUse
from chatui.backends.spec import split_choice
from chatui.codes import Cause, ProductCode, code_of
from chatui.model_servers import connected
from chatui.models.keys import first_key_at
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.site.languages import sentence_of
from chatui.store import context_use
from renderer.errors import ErrorCode

_CUT = (ProductCode.LENGTH, ProductCode.CONTEXT_FULL)
"""Such an answer is whole as far as it goes: nothing has failed."""


def sentence(code: ErrorCode, context: ContextUse | None = None, question_chars: int = 0, retry_after: int | None = None) -> str:
    if code is ProductCode.QUESTION_TOO_LONG and context and question_chars:
        return _too_long(context, question_chars)
    if code is ProductCode.BACKEND_BUSY and retry_after:
        # The unit in which the number is small enough.
        unit = 1 if retry_after < 120 else 60 if retry_after <= 119 * 60 else 3600
        return _BUSY[unit] % {"count": -(-retry_after // unit)}
    return sentence_of(code)


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A failure for an admin. ``server``: its name here if the cause is its own and it is still configured."""

    sentence: str
    advice: str
    server: str


@dataclass(frozen=True, slots=True)
class Notice:
    """The end of an answer that is not a good one, for people."""

    code: str
    """For admins."""
    sentence: str
    number: str
    """By which admins find it; empty if nothing has failed."""
    can_retry: bool
    cause: ShownCause
    """For admins."""


def notice_of(turn: Turn, question_chars: int) -> Notice:
    code = code_of(turn.error_code)
    text = sentence(code, context_use.of_turn(turn), question_chars, turn.retry_after)
    has_ended_well = turn.state in (TurnState.COMPLETED, TurnState.STOPPED)
    cause, _seen = Cause.read(turn.error_cause, code)
    return Notice(
        code.value,
        text,
        "" if has_ended_well or code in _CUT else number(turn.pk),
        can_retry=turn.state != TurnState.COMPLETED and cause.may_pass,
        cause=_shown_cause(text, cause, turn.choice, is_general=text == sentence_of(code)),
    )


def _shown_cause(text: str, cause: Cause, choice: str, *, is_general: bool) -> ShownCause:
    """What the person would read stays if it has numbers, or if the cause says no more than the code."""
    if cause is Cause.OTHER:
        return ShownCause(text, "", _page_of(cause, choice))
    return ShownCause(gettext(cause.sentence) if is_general else text, gettext(cause.advice), _page_of(cause, choice))


def _page_of(cause: Cause, choice: str) -> str:
    """The name of the server's own page; empty if the cause is not the server's, or it is not configured any more."""
    known = backend_spec.find(connected.specs(), choice) if cause.is_of_server else None
    return known.name if known and not known.is_demo else ""


def number(turn_id: UUID) -> str:
    """A number that a person can give to an admin: the last eight digits of the turn's key, which are random."""
    digits = turn_id.hex[-8:].upper()
    return f"{digits[:4]}-{digits[4:]}"


def _too_long(use: ContextUse, chars: int) -> str:
    fits = str(int(chars * min(use.size / max(use.used, 1), 1)))
    rounded = int(fits[:2] + "0" * (len(fits) - 2))  # to two significant digits
    numbers = {"chars": number_format(chars, force_grouping=True), "fits": number_format(rounded, force_grouping=True)}
    words = _("%(sentence)s It has %(chars)s characters; about %(fits)s would fit.")
    return words % {"sentence": sentence_of(ProductCode.QUESTION_TOO_LONG), **numbers}


_BUSY = {
    1: ngettext_lazy(
        "The model server is busy and asked to wait %(count)d second. Try again after that.",
        "The model server is busy and asked to wait %(count)d seconds. Try again after that.",
        "count",
    ),
    60: ngettext_lazy(
        "The model server is busy and asked to wait %(count)d minute. Try again after that.",
        "The model server is busy and asked to wait %(count)d minutes. Try again after that.",
        "count",
    ),
    3600: ngettext_lazy(
        "The model server is busy and asked to wait %(count)d hour. Try again after that.",
        "The model server is busy and asked to wait %(count)d hours. Try again after that.",
        "count",
    ),
}
"""By the seconds of a unit. A complete sentence for each, because a language may need a different word order or form."""

PAGE = 50
ENDED_BADLY = (TurnState.INCOMPLETE, TurnState.FAILED, TurnState.INTERRUPTED)
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Answers that are counted together: those that ended for one cause at one model server, with advice for an admin."""

    kind: str
    """The cause's name, or the error code where that says more."""
    server: str
    """Its name here, empty for the default one."""
    page: str
    """The address of the server's own page; empty if the server cannot be changed there."""
    times: int
    """How many answers ended so."""
    has_failed: bool
    """False for a limit or a busy server."""
    sentence: str
    advice: str


@dataclass(frozen=True, slots=True)
class Failed:
    """One such answer."""

    turn_id: UUID
    number: str
    """The number that the person was shown."""
    at: datetime
    code: str
    model: str
    group: FailureGroup
    meaning: str
    """The sentence that they read."""
    evidence: str
    """What is known of the cause, in the product's words."""
    conversation_id: UUID | None
    """For the address of the debug view, with the ``owner_name``; None if the viewer may not open it, or there is none."""
    owner_name: str


@dataclass(frozen=True, slots=True)
class _Row:
    """The columns by which answers are counted together."""

    code: str
    choice: str
    stored: str

    @property
    def cause(self) -> Cause:
        return _cause(self.code, self.stored)[0]

    @property
    def server(self) -> str:
        return split_choice(self.choice)[0]

    @property
    def kind(self) -> str:
        return self.code if self.cause is Cause.OTHER or self.code in _CUT else self.cause.value


def search(viewer: User, hours: int, kind: str = "", server: str | None = None) -> tuple[list[FailureGroup], list[Failed], int]:
    """The groups of the last hours, those that failed first, then by frequency; the newest answers of a ``kind`` (or with a code) and of a
    server, if one is named, at most PAGE; and how many these are. Two statements."""
    counts = _counts(hours)
    groups = Counter({(row.kind, row.server): 0 for row in counts})
    for row, times in counts.items():
        groups[row.kind, row.server] += times
    first = {(row.kind, row.server): row for row in counts}
    shown = [_group(first[key], times) for key, times in groups.items()]
    matching = {row: times for row, times in counts.items() if kind in ("", row.kind, row.code) and server in (None, row.server)}
    taken = _since(hours).filter(
        error_code__in={row.code for row in matching},
        choice__in={row.choice for row in matching},
        error_cause__in={row.stored for row in matching},
    )
    latest = [_shown(row, viewer) for row in _with_owner(taken).order_by("-pk")[:PAGE]]
    shown.sort(key=lambda group: (not group.has_failed, -group.times, group.kind, group.server))
    return shown, latest, sum(matching.values())


def one(viewer: User, turn_id: UUID) -> tuple[Failed, int, int]:
    """An answer that ended badly, and how many of its group there were in the last day and the last week.

    Raises NotFoundError if there is none.
    """
    failed = _shown(access.existing(_with_owner(_ended_badly()).filter(pk=turn_id).first()), viewer)
    kind, server = failed.group.kind, failed.group.server
    day, week = (sum(times for row, times in _counts(hours).items() if (row.kind, row.server) == (kind, server)) for hours in (24, 24 * 7))
    return failed, day, week


def by_number(words: str) -> UUID | None:
    """The answer with the number that a person was shown, with or without its dash; None if there is none."""
    digits = "".join(sign for sign in words.lower() if sign in "0123456789abcdef")
    if len(digits) != _DIGITS:
        return None
    found: UUID | None = _ended_badly().filter(pk__endswith=digits).order_by("-pk").values_list("pk", flat=True).first()
    return found


def has_failed(state: str, code: str, stored: str) -> bool:
    """Whether an answer with this end failed: it was not stopped or only cut at a limit, and its server was not only busy."""
    return bool(code) and state in ENDED_BADLY and code not in _CUT and _cause(code, stored)[0] is not Cause.BUSY


def is_answer(state: str, code: str, stored: str) -> bool:
    """What every page counts as an answer: a turn that has ended and not failed. It may have been stopped, or cut at a limit. If its server
    was only busy, it is neither an answer nor failed."""
    return state in (TurnState.COMPLETED, TurnState.STOPPED) or not code or code in _CUT


def kind_of(code: str, stored: str) -> str:
    """The ``kind`` of the group that an answer with this end is counted in."""
    return _Row(code, "", stored).kind


def sentence_of_kind(kind: str) -> str:
    """The sentence of a group of this kind; empty for a code of another release."""
    cause = next((each for each in Cause if each.value == kind), None)
    return gettext(cause.sentence) if cause else meaning(kind)


def day_begins(now: datetime) -> datetime:
    """Where the last 24 hours begin that pages count answers in: at a whole hour, so that a plot has a bar for each."""
    return now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=23)


def _counts(hours: int) -> dict[_Row, int]:
    rows = _since(hours).values_list("error_code", "choice", "error_cause").annotate(times=Count("pk")).order_by()
    return {_Row(code, choice, stored): times for code, choice, stored, times in rows}


def _ended_badly() -> QuerySet[Turn]:
    found: QuerySet[Turn] = Turn.objects.filter(state__in=ENDED_BADLY).exclude(error_code="")
    return found


def _since(hours: int) -> QuerySet[Turn]:
    since = timezone.now() - timedelta(hours=hours)
    return _ended_badly().filter(pk__gte=first_key_at(since), started_at__gte=since)


def _with_owner(rows: QuerySet[Turn]) -> QuerySet[Turn]:
    return rows.select_related("conversation__owner").defer("request", "error_detail", "conversation__title")


def _group(row: _Row, times: int) -> FailureGroup:
    failed = has_failed(TurnState.FAILED, row.code, row.stored)
    sentence, advice = sentence_of_kind(row.kind), gettext(row.cause.advice)
    return FailureGroup(row.kind, row.server, _page_of(row.cause, row.server), times, failed, sentence, advice)


def _shown(row: Turn, viewer: User) -> Failed:
    conversation = row.conversation
    # A conversation in the bin has no debug view, and a temporary one is in no list.
    opens = access.is_listed(conversation) and access.may_view_hidden(viewer, conversation)
    key, owner = (conversation.pk, conversation.owner.get_username()) if opens else (None, "")
    group = _group(_Row(row.error_code, row.choice, row.error_cause), 1)
    model = row.model or split_choice(row.choice)[1] or ""
    evidence = _cause(row.error_code, row.error_cause)[1]
    return Failed(row.pk, number(row.pk), row.started_at, row.error_code, model, group, meaning(row.error_code), evidence, key, owner)


def _cause(code: str, stored: str) -> tuple[Cause, str]:
    known = _known(code)
    return Cause.read(stored, known) if known else (Cause.OTHER, stored)


def meaning(code: str) -> str:
    """The message of a stored code; empty if it is one of another release."""
    known = _known(code)
    return sentence_of(known) if known else ""


def _known(code: str) -> ErrorCode | None:
    try:
        return code_of(code)
    except ValueError:
        return None
