"""Failed answers, by error code and model server, for the admin pages. Contains no conversation text and no names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from chatui.backends.spec.choices import split_choice
from chatui.codes import ProductCode, code_of
from chatui.display.failures import cause_of, number
from chatui.languages.sentences import sentence_of
from chatui.models import FailedAnswer, User
from chatui.models.keys import first_key_at
from chatui.models.turn import TurnState
from chatui.permissions import access
from renderer.errors import ErrorCode

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
class Group:
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
class Chosen:
    """The filter: the last ``hours``, and a code or a server, if one is named."""

    hours: int
    code: str = ""
    server: str | None = None


def groups(hours: int) -> list[Group]:
    """The failures of the last ``hours``, most frequent first. One statement."""
    counts: dict[tuple[str, str], int] = {}
    for code, choice, times in _since(hours).values_list("error_code", "choice").annotate(times=Count("pk")).order_by():
        key = code, split_choice(choice)[0]
        counts[key] = counts.get(key, 0) + times
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Group(code, server, times, _meaning(code), _advice(code)) for (code, server), times in by_frequency]


def count(hours: int) -> int:
    """The number of failures in the last ``hours``."""
    return _since(hours).count()


def latest(viewer: User, chosen: Chosen) -> tuple[list[Failed], int]:
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
