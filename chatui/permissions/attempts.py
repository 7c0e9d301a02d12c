"""Records unauthorized attempts at hidden channels, and warns staff about people who keep trying.

The first attempt on a conversation gets a line at once. Repetitions within an hour are only counted. After a certain number of lines in an
hour, only what has no line yet gets one: a new action, or an action on a conversation that this person never tried it on. So nobody can
flood the log, and nobody can hide what they try behind other attempts.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chatui.audit_log import aggregation
from chatui.audit_log.lines import LineFilters, tallies
from chatui.audit_log.record import NOT_BY_PERSON, RequestCause, Visitor, lock, record
from chatui.audit_log.repeated_action import RepeatedAction
from chatui.env import environment
from chatui.guesses import address_group
from chatui.models.audit import AttemptWarning, AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from renderer.errors import Code

log = logging.getLogger(__name__)


LISTED_PER_HOUR = 20
"""How many lines attempts from one network address (in IPv6, one /64 network) get, if nobody is signed in. Further ones are not listed."""

LISTED_PER_HOUR_TOTAL = 500
"""The same limit for all such addresses together, so that attempts from many addresses cannot flood the log either."""

LISTED_OF_PERSON = 20
"""How many of a person's different attempts within an hour get separate lines, whether or not the log has such a line already."""

COUNTING_PERIOD = timedelta(hours=1)
"""How long repetitions are counted after a first attempt. Then one line says how many there were."""

ALERT_PERIOD = timedelta(hours=24)
"""The period in which attempts count towards a warning of staff."""

NOT_LISTED = "further attempts not listed"
ONLY_COUNTED = "further ones, where nothing exists or a line says so already, are only counted"

_strangers = RepeatedAction(
    "stranger", per_key=LISTED_PER_HOUR, total=LISTED_PER_HOUR_TOTAL, over=NOT_LISTED, over_all=NOT_LISTED, reported=()
)


def record_attempt(visitor: Visitor, target: Conversation | UUID | None, action: str) -> None:
    """Record an attempt as ``E-PERM-VISIBILITY`` before it is refused. Raises a database error if that fails.

    ``target``: the conversation, or the id of one that does not exist.
    """
    aggregation.close_expired()
    visitor = Visitor(visitor.user, visitor.address, visitor.cause or visitor.via, visitor.cause)
    if visitor.user is None:
        _strangers.record(visitor, address_group(visitor.address), target, action=action, code=Code.PERM_VISIBILITY)
        return
    _record_person(visitor, visitor.user, target, action)
    if visitor.cause is RequestCause.PERSON:
        _warn(visitor.user)


def attempts_of(person: User, since: datetime | None = None) -> int:
    """How many attempts a person made themselves, including those that were only counted.

    A count that overlaps the period is included in full.
    """
    filters = LineFilters(actor=person.pk, code=Code.PERM_VISIBILITY, since=since, except_ways=NOT_BY_PERSON)
    return sum(tally.times for tally in tallies(filters, by=frozenset({"person"})))


def unacknowledged() -> list[AttemptWarning]:
    """The latest 50 warnings that staff have not acknowledged yet, the newest first."""
    return list(AttemptWarning.objects.filter(acknowledged_at=None).order_by("-raised_at")[:50])


def acknowledge(visitor: Visitor, warning_id: UUID) -> None:
    """Mark a warning as seen by a member of staff. Recorded. Does nothing if it was marked before or does not exist."""
    row = AttemptWarning.objects.filter(pk=warning_id, acknowledged_at=None).first()
    if row is None or visitor.user is None:
        return
    record("acknowledge warning", visitor, row.person_name, detail=f"attempts on {row.day}: {row.attempts}")
    name = visitor.user.get_username()
    AttemptWarning.objects.filter(pk=row.pk, acknowledged_at=None).update(acknowledged_at=timezone.now(), acknowledged_by=name)


def _record_person(visitor: Visitor, person: User, target: Conversation | UUID | None, action: str) -> None:
    """Record an attempt, or count it with those of the last hour that were the same. The first LISTED_OF_PERSON different ones have a
    line each, which also counts their repetitions; of others a line for each action counts how many there were."""
    # Attempts that another site caused have a separate limit, so that no site can use up the lines for a person's own attempts.
    limited = f"{'attempt' if visitor.cause is RequestCause.PERSON else 'caused'}:{person.pk}:"
    conversation_id = target.pk if isinstance(target, Conversation) else target
    this_attempt, ends_at = f"{limited}{visitor.via}:{action}:{conversation_id or ''}", timezone.now() + COUNTING_PERIOD

    def line(detail: str = "") -> AuditEvent:
        return record(action, visitor, target, code=Code.PERM_VISIBILITY, detail=detail)

    with transaction.atomic():
        lock()
        has_room = aggregation.is_open(this_attempt) or aggregation.count_open(person, limited) < LISTED_OF_PERSON
        if has_room or _is_first(visitor, person, target, action):
            aggregation.count(this_attempt, aggregation.MORE, visitor, ends_at, line)
        else:
            # One counter for each action, so that twenty harmless attempts do not hide that another action was tried.
            others_of_action = f"further {limited}{visitor.via}:{action}"
            aggregation.count(others_of_action, aggregation.MORE_ELSEWHERE, visitor, ends_at, lambda: line(ONLY_COUNTED))


def _is_first(visitor: Visitor, person: User, target: Conversation | UUID | None, action: str) -> bool:
    """Whether the log has no line yet of this person's attempt at this action on this conversation.

    Of all time, not of this hour: then the lines are at most as many as conversations times actions, and cannot fill a disk. An id of which
    nothing exists is never a first, because anybody can make up any number of them.
    """
    if not isinstance(target, Conversation):
        return False
    lines = AuditEvent.objects.filter(conversation_id=target.pk, actor=person.pk, code=Code.PERM_VISIBILITY)
    return not lines.filter(action=action, way=visitor.via).exists()


def _warn(person: User) -> None:
    env = environment()
    if not env.alert_attempts:
        return
    now = timezone.now()
    attempts = attempts_of(person, now - ALERT_PERIOD)
    if attempts < env.alert_attempts:
        return
    name = person.get_username()
    _, is_new = AttemptWarning.objects.update_or_create(person_name=name, day=now.date(), defaults={"attempts": attempts})
    if is_new:
        log.warning("%r made %d attempts within 24 hours to see hidden channels without permission", name, attempts)
