"""The sessions of a person: where each began, and how they end one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib import auth
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from chatui.audit_log.record import Visitor, record
from chatui.models import BegunSession, User
from chatui.permissions.access import NotFoundError, person_of

_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"), ("Linux", "Linux"))


@dataclass(frozen=True, slots=True)
class OwnSession:
    """One for the page. ``is_this``: the one that asks."""

    id: UUID
    begun_at: datetime
    ends_at: datetime
    address: str
    device: str
    way: str
    is_this: bool


def note(person: User, key: str, visitor: Visitor, user_agent: str, way: str) -> None:
    """A session has begun. What is left of the person's that have ended goes."""
    lasting = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    with transaction.atomic():
        BegunSession.objects.filter(user=person).exclude(key__in=lasting).delete()
        where = {"user": person, "address": visitor.address[:64], "device": device_of(user_agent), "way": way[:60]}
        BegunSession.objects.update_or_create(key=key, defaults=where)


def forget_ended() -> None:
    """Where sessions began that have ended is nobody's business any more."""
    lasting = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    BegunSession.objects.exclude(key__in=lasting).delete()


def moved(before: str | None, key: str | None) -> None:
    """A session goes on under another key."""
    BegunSession.objects.filter(key=before).update(key=key)


def of(person: User, this: str | None) -> list[OwnSession]:
    """The person's, the newest first. ``this``: the key of the one that asks. Sessions from before there was this list are not in it."""
    ends = Session.objects.filter(session_key=OuterRef("key"), expire_date__gt=timezone.now()).values("expire_date")
    rows = BegunSession.objects.filter(user=person).annotate(ends_at=Subquery(ends)).exclude(ends_at=None).order_by("-begun_at")
    return [OwnSession(row.pk, row.begun_at, row.ends_at, row.address, row.device, row.way, row.key == this) for row in rows]


def end(visitor: Visitor, session_id: UUID) -> None:
    """End one of one's own. Recorded. Raises NotFoundError where it is not theirs."""
    person = person_of(visitor)
    with transaction.atomic():
        row = BegunSession.objects.filter(pk=session_id, user=person).first()
        if row is None:
            raise NotFoundError
        record("end session", visitor, person.get_username(), detail="of their own")
        Session.objects.filter(pk=row.key).delete()
        row.delete()


def end_others(visitor: Visitor, this: str | None) -> None:
    """End all of one's own but this one, also those that are not in the list. Recorded."""
    person = person_of(visitor)
    record("end session", visitor, person.get_username(), detail="all others of their own")
    # Whose a session is stands inside of it, so each is looked at.
    for row in Session.objects.exclude(pk=this).iterator(chunk_size=500):
        if row.get_decoded().get(auth.SESSION_KEY) == str(person.pk):
            row.delete()
    BegunSession.objects.filter(user=person).exclude(key=this).delete()


def device_of(user_agent: str) -> str:
    """Browser and system, as far as a person would recognize them; never the words of the header itself."""
    named = (next((name for sign, name in table if sign in user_agent), "") for table in (_BROWSERS, _SYSTEMS))
    return " · ".join(filter(None, named))
