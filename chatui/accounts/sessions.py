"""Finds the person behind a session, lists a person's sessions, with where each started, and ends them.

The person behind a socket is looked up in the database each time, so that a sign-out or deactivation takes effect at once. A key that is
passed to a function here is that of the cookie; what is stored is its digest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone

from chatui.accounts.session_store import SessionStore, stored_key
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.database.statements import read
from chatui.models.sign_in import BegunSession
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of
from chatui.proxies import visitor_address

CLIENT_ADDRESS_UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session that was valid when it was checked, with its person as they were then. ``key``: as it is stored, which opens nothing."""

    person: User
    key: str = field(repr=False)


def signed_in(cookies: dict[str, str]) -> SignedIn | None:
    """The session of the session cookie, if it is still valid and its person is still active. Two statements."""
    if not (key := cookies.get(settings.SESSION_COOKIE_NAME)):
        return None
    request = HttpRequest()
    request.session = SessionStore(key)
    person = auth.get_user(request)
    return SignedIn(person, stored_key(key)) if isinstance(person, User) else None


def read_again(session: SignedIn, end: str = "", *values: object, also: Sequence[str] = ()) -> tuple[User, tuple[Any, ...]] | None:
    """The person of a session, if they are active, it has not ended, and their password is still the one that it was checked with.
    ``end``: of the statement; ``values``, of ``also``: see ``statements.read``."""
    found = read(User, _IS_VALID + end, *values, session.person.pk, session.key, timezone.now(), also=also)
    return next((each for each in found if each[0].password == session.person.password), None)


_IS_VALID = "id = %s AND is_active AND EXISTS (SELECT 1 FROM django_session WHERE session_key = %s AND expire_date > %s)"


def end_all(person: User, except_key: str | None = None) -> int:
    """End every session of a person, except the one with the key ``except_key``. Returns how many were ended."""
    # Between password and second factor there is no session to end yet: that step expires by itself (``web.sign_in.session``).
    User.objects.filter(pk=person.pk).update(sessions_ended_at=timezone.now())
    ended = 0
    # The owner is stored inside the session, so each session is read.
    for row in Session.objects.exclude(pk=stored_key(except_key)).iterator(chunk_size=500):
        if row.get_decoded().get(auth.SESSION_KEY) == str(person.pk):
            row.delete()
            ended += 1
    BegunSession.objects.filter(user=person).exclude(key=stored_key(except_key)).delete()
    return ended


def client_address(scope: dict[str, Any]) -> str:
    """The client's network address; behind a trusted proxy, the one that the proxy reports."""
    client = scope.get("client") or [CLIENT_ADDRESS_UNKNOWN]
    forwarded = b",".join(value for name, value in scope.get("headers", []) if name == b"x-forwarded-for")
    return visitor_address(str(client[0]), forwarded.decode("latin-1"))


_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"), ("Linux", "Linux"))


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A session as the page shows it."""

    id: UUID
    begun_at: datetime
    ends_at: datetime
    address: str
    device: str
    service: str
    """The provider that started it; empty for other sign-ins."""
    is_this: bool
    """Whether it is the current session."""


def readmit(visitor: Visitor, person: User) -> None:
    """Let the keys and share links of a person work again who was not admitted before (``lifecycle.closing.turn_away``). Recorded."""
    if User.objects.filter(pk=person.pk).exclude(rests_since=None).update(rests_since=None):
        person.rests_since = None
        record("keys and links work again", visitor, person.get_username(), detail="admitted again")


def record_start(person: User, key: str, visitor: Visitor, user_agent: str, sign_in_method: str) -> None:
    """Record a new session, and delete the records of the person's ended sessions."""
    readmit(visitor, person)
    active_keys = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    with transaction.atomic():
        BegunSession.objects.filter(user=person).exclude(key__in=active_keys).delete()
        details = {"user": person, "address": visitor.address[:64], "device": device_of(user_agent), "way": sign_in_method[:60]}
        BegunSession.objects.update_or_create(key=stored_key(key), defaults=details)


def store_origin(key: str | None, outside_id: str) -> None:
    """Store where a session comes from: the provider's own id of it, so that the provider can end it; or the id of the passkey that began
    it."""
    BegunSession.objects.filter(key=stored_key(key)).update(outside_id=outside_id)


def end_begun_with(person: User, passkey: str, except_key: str | None) -> None:
    """End the sessions that began with this passkey, except the one with the key ``except_key``."""
    _end(BegunSession.objects.filter(user=person, outside_id=passkey).exclude(key=stored_key(except_key)))


def end_provider_sessions(issuer: str, key: str, person: User | None, outside_id: str, except_key: str | None = None) -> Mapping[User, int]:
    """End the sessions that a provider started for this person or under this id, except one, and return their number by person.

    If a person and an id are given, both must match; without either, nothing is ended. ``key``: the provider's, by which sessions are
    marked that an older release began.
    """
    if person is None and not outside_id:
        return {}
    ways = (mark_of(issuer), sign_in_method_of(key))
    rows = BegunSession.objects.filter(way__in=ways).exclude(key=stored_key(except_key))
    rows = rows.filter(user=person) if person is not None else rows
    return _end(rows.filter(outside_id=outside_id) if outside_id else rows)


def _end(rows: QuerySet[BegunSession]) -> Mapping[User, int]:
    """End these sessions. Returns their number by person."""
    with transaction.atomic():
        taken = list(rows.select_related("user"))
        keys = [row.key for row in taken]
        Session.objects.filter(pk__in=keys).delete()
        BegunSession.objects.filter(key__in=keys).delete()
    return Counter(row.user for row in taken)


def sign_in_method_of(provider: str) -> str:
    """How sign-ins with this provider are named in the audit log."""
    return f"by {provider}"


def mark_of(issuer: str) -> str:
    """How sessions that a provider started are marked: by its issuer, because the operator may change its key."""
    return f"by {sha256(issuer.encode()).hexdigest()[:40]}"


def delete_ended() -> None:
    active_keys = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    BegunSession.objects.exclude(key__in=active_keys).delete()


def change_key(before: str | None, key: str | None) -> None:
    """Record that a session continues under another key."""
    BegunSession.objects.filter(key=stored_key(before)).update(key=stored_key(key))


def sessions_of(person: User, current_key: str | None) -> list[OwnSession]:
    """The person's sessions, the newest first. Sessions older than this feature are not listed."""
    ends = Session.objects.filter(session_key=OuterRef("key"), expire_date__gt=timezone.now()).values("expire_date")
    rows = BegunSession.objects.filter(user=person).annotate(ends_at=Subquery(ends)).exclude(ends_at=None).order_by("-begun_at")
    providers = sign_in_file().providers
    current = stored_key(current_key)
    names = {way: each.name for each in providers for way in (sign_in_method_of(each.key), mark_of(each.issuer))}
    return [
        OwnSession(row.pk, row.begun_at, row.ends_at, row.address, row.device, names.get(row.way, ""), is_this=row.key == current)
        for row in rows
    ]


def end(visitor: Visitor, session_id: UUID) -> None:
    """End one of the visitor's own sessions. Recorded. Raises NotFoundError if it is not theirs."""
    person = person_of(visitor)
    with transaction.atomic():
        if not _end(BegunSession.objects.filter(pk=session_id, user=person)):
            raise NotFoundError
        record("end session", visitor, person.get_username(), detail="of their own")


def end_others(visitor: Visitor, current_key: str | None) -> None:
    """End all of the visitor's own sessions except the current one, including those that are not listed. Recorded."""
    person = person_of(visitor)
    record("end session", visitor, person.get_username(), detail="all others of their own")
    end_all(person, except_key=current_key)


def end_all_of(visitor: Visitor, person: User) -> int:
    """End all of a person's sessions, for an account manager whose permission was checked. Recorded. Returns how many there were."""
    with transaction.atomic():
        ended = end_all(person)
        record("end session", visitor, person.get_username(), detail=f"all {ended}, by staff")
    return ended


def device_of(user_agent: str) -> str:
    """The browser and operating system by name; never the text of the header itself."""
    named = (next((name for sign, name in table if sign in user_agent), "") for table in (_BROWSERS, _SYSTEMS))
    return " · ".join(filter(None, named))
