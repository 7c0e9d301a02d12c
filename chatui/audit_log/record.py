"""Writes the audit log: ``record`` appends a line, hash-chained to the line before. If that fails, the caller must not continue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from renderer.characters import MOVING

FIRST_HASH = "0" * 64
_LOCK = 0x63686174  # any number that no other program uses


class RequestCause(StrEnum):
    """Why a browser or program sent a request that its person did not initiate. The line of an attempt has it as its ``way``."""

    PERSON = ""
    LINK = "another site's link"
    EMBEDDED = "another site's page"
    PREFETCH = "prefetch"
    RECONNECT = "reconnect"


NOT_BY_PERSON = tuple(cause.value for cause in RequestCause if cause is not RequestCause.PERSON)
"""The ways of attempts that a person's browser made without the person."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """The origin of a request."""

    user: User | None
    """None: not signed in."""
    address: str
    """The network address."""
    via: str
    """What the request came by, the ``way`` of a line: page, socket, download, program, admin or shell; server for sum lines that the
    product writes by itself. Old lines say office for admin. An attempt that the person did not make themselves has its cause instead."""
    cause: RequestCause = RequestCause.PERSON
    device: str = field(default="", repr=False)
    """What the browser was given at an earlier sign-in (``accounts.sign_in``), or empty; it is in no line."""

    def of(self, user: User) -> Visitor:
        """The same origin, for this person."""
        return Visitor(user, self.address, self.via, device=self.device)

    def as_nobody(self) -> Visitor:
        """The same origin without a person, for events before anybody has authenticated."""
        return Visitor(None, self.address, self.via, device=self.device)


SHELL = Visitor(None, "", "shell")
"""The visitor of management commands: the operator, who has no account."""
PRODUCT = Visitor(None, "", "server")
"""The product itself."""

About = Conversation | UUID | str | None
"""The subject of a line: a conversation, the id of one that may not exist, or the name of an account or group."""

HASHED_COLUMNS = (
    "number",
    "at",
    "code",
    "action",
    "way",
    "actor_id",
    "actor_name",
    "conversation_id",
    "owner_name",
    "address",
    "detail",
    "previous_hash",
)
"""The columns that a line's hash covers, in this order: all except the hash itself and the row's primary key."""


def record(action: str, visitor: Visitor, about: About = None, *, code: str = "", detail: str = "") -> AuditEvent:
    """Append a line, in a transaction of its own, and return it.

    ``detail``: a few words from the product; the log never has text of a conversation. Raises a database error if the line cannot be
    written.
    """
    conversation_id, owner_name = _subject(about)
    event = AuditEvent(
        action=action,
        code=code,
        way=visitor.via,
        actor=visitor.user,
        actor_name=visitor.user.get_username() if visitor.user else "",
        conversation_id=conversation_id,
        owner_name=MOVING.sub("\ufffd", owner_name)[:150],
        address=visitor.address[:64],
        detail=MOVING.sub("\ufffd", detail)[:200],
    )
    return append(event)


def append(event: AuditEvent) -> AuditEvent:
    """Set a line's number, time and hashes, and write it. Raises a database error as ``record`` does."""
    with transaction.atomic():
        _append(event)
    return event


def lock() -> None:
    """Lock the log until the end of the transaction. On SQLite, the transaction is exclusive anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def digest(event: AuditEvent) -> str:
    """SHA-256, in hexadecimal, over every column of a line except its own hash."""
    return digest_of([getattr(event, column) for column in HASHED_COLUMNS])


def digest_of(values: Sequence[object]) -> str:
    """As ``digest``, from the values of HASHED_COLUMNS."""
    return hashlib.sha256(json.dumps([_plain(value) for value in values], ensure_ascii=True).encode()).hexdigest()


def _subject(about: About) -> tuple[UUID | None, str]:
    """The id of the conversation that a line is about, and the name of its owner or of another subject."""
    if isinstance(about, Conversation):
        return about.pk, about.owner.get_username()
    return (None, about) if isinstance(about, str) else (about, "")


def _plain(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _append(event: AuditEvent) -> None:
    lock()  # so that no other process writes a line with the same number
    last = AuditEvent.objects.select_for_update().order_by("-number").first()
    event.number = last.number + 1 if last else 1
    event.previous_hash = last.hash if last else FIRST_HASH
    event.at = timezone.now()
    event.hash = digest(event)
    event.save(force_insert=True)
