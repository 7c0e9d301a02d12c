"""Records attempts to see hidden channels without permission, and warns staff of people who keep trying."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

from django.utils import timezone

from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.guess_limits import address_group
from chatui.models import AttemptWarning, AuditEvent, User
from chatui.throttle import Throttle
from renderer.errors import Code

log = logging.getLogger(__name__)

LISTED_PER_HOUR = 20
"""How many lines an address that is not signed in (a /64 network, in IPv6) gets before they are only counted."""

LISTED_PER_HOUR_IN_ALL = 500
"""The same for all such addresses together, so that many addresses cannot flood the log either."""

NOT_LISTED = "further attempts not listed"

_by_address = Throttle("stranger", attempts=LISTED_PER_HOUR, seconds=3600)
_in_all = Throttle("strangers", attempts=LISTED_PER_HOUR_IN_ALL, seconds=3600)


@dataclass(frozen=True, slots=True)
class Warned:
    """A person who asked too often on a day (UTC), and how often."""

    id: UUID
    person: str
    day: date
    attempts: int


def record_attempt(visitor: Visitor, conversation_id: UUID | None, action: str) -> None:
    """Record an attempt as ``E-PERM-VISIBILITY`` before it is refused. Raises a database error if that fails."""
    if visitor.user is None:
        _record_stranger(visitor, conversation_id, action)
        return
    record(action, visitor, conversation_id, code=Code.PERM_VISIBILITY)
    _warn(visitor.user)


def unacknowledged() -> list[Warned]:
    """The warnings that staff have not acknowledged yet, the newest first."""
    rows = AttemptWarning.objects.filter(acknowledged_at=None).order_by("-raised_at")[:50]
    return [Warned(row.pk, row.person_name, row.day, row.attempts) for row in rows]


def acknowledge(visitor: Visitor, warning_id: UUID) -> None:
    """Mark a warning as seen by a member of staff. Recorded; does nothing the second time, or for a warning that does not exist."""
    row = AttemptWarning.objects.filter(pk=warning_id, acknowledged_at=None).first()
    if row is None or visitor.user is None:
        return
    record("acknowledge warning", visitor, row.person_name, detail=f"attempts on {row.day}: {row.attempts}")
    name = visitor.user.get_username()
    AttemptWarning.objects.filter(pk=row.pk, acknowledged_at=None).update(acknowledged_at=timezone.now(), acknowledged_by=name)


def _record_stranger(visitor: Visitor, conversation_id: UUID | None, action: str) -> None:
    over = _by_address.count(address_group(visitor.address)) - LISTED_PER_HOUR
    if over < 1:
        # Counted only while its own address is below the limit, so one stranger cannot use up the limit for all.
        over = _in_all.count() - LISTED_PER_HOUR_IN_ALL
    if over > 1:
        return
    # The first line over the limit says that further attempts are not listed.
    detail = NOT_LISTED if over == 1 else ""
    record(action, visitor, conversation_id, code=Code.PERM_VISIBILITY, detail=detail)


def _warn(person: User) -> None:
    env = environment()
    if not env.alert_attempts:
        return
    now = timezone.now()
    since = now - timedelta(hours=env.alert_hours)
    attempts = AuditEvent.objects.filter(actor=person, code=Code.PERM_VISIBILITY, at__gte=since).count()
    if attempts < env.alert_attempts:
        return
    name = person.get_username()
    _, is_new = AttemptWarning.objects.update_or_create(person_name=name, day=now.date(), defaults={"attempts": attempts})
    if is_new:
        log.warning("%r asked %d times within %g hours for hidden channels without the permission", name, attempts, env.alert_hours)
