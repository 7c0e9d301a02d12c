"""The audit log: ``record`` writes one line, chained by hash to the line before it. If it cannot be written, the caller must not go on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from chatui.models import AuditEvent, User

if TYPE_CHECKING:
    from chatui.models import Conversation

FIRST_HASH = "0" * 64
_ATTEMPTS = 20
_LOCK = 0x63686174  # any number that is ours alone


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks (None: not signed in), from which network address, and by which way: page, socket, download or office."""

    user: User | None
    address: str
    way: str


def record(
    action: str,
    visitor: Visitor,
    *,
    code: str = "",
    conversation: Conversation | None = None,
    conversation_id: UUID | None = None,
    detail: str = "",
) -> AuditEvent:
    """Append one line, in a transaction of its own, and return it.

    ``detail`` is a few words of ours; content never goes into the log. Raises a database error where the line cannot be written.
    """
    event = AuditEvent(
        action=action,
        code=code,
        way=visitor.way,
        actor=visitor.user,
        actor_name=visitor.user.get_username() if visitor.user else "",
        conversation_id=conversation.pk if conversation else conversation_id,
        owner_name=conversation.owner.get_username() if conversation else "",
        address=visitor.address[:64],
        detail=detail[:200],
    )
    for attempt in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                _append(event)
            return event
        except IntegrityError:
            # Another process took the next number first; the chain must not fork, so take the one after it.
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def digest(event: AuditEvent) -> str:
    """SHA-256, in hexadecimal, over every column of a line but its own hash."""
    fields = [
        event.number,
        event.at.isoformat(),
        event.code,
        event.action,
        event.way,
        str(event.actor_id or ""),
        event.actor_name,
        str(event.conversation_id or ""),
        event.owner_name,
        event.address,
        event.detail,
        event.previous_hash,
    ]
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True).encode()).hexdigest()


def _append(event: AuditEvent) -> None:
    if connection.vendor == "postgresql":
        # One writer at a time, in turn: with many at once, taking numbers and trying again would starve some. Ends with the transaction.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    last = AuditEvent.objects.select_for_update().order_by("-number").first()
    event.number = last.number + 1 if last else 1
    event.previous_hash = last.hash if last else FIRST_HASH
    event.at = timezone.now()
    event.hash = digest(event)
    event.save(force_insert=True)
