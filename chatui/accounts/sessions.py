"""Finds the person behind a socket, in the database each time, so that a sign-out or deactivation takes effect at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.models import Session
from django.db.models import Exists, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from chatui.database.compiled_statements import Parameter
from chatui.models import User
from chatui.proxies import visitor_address

CLIENT_ADDRESS_UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session that was valid when it was checked, with its person and the hash of the password that was used to start it."""

    person: User
    key: str = field(repr=False)
    password_hash: str = field(repr=False)


def signed_in(cookies: dict[str, str]) -> SignedIn | None:
    """The session of the session cookie, if it is still valid and its person is still active. Two statements."""
    person = signed_in_user(cookies)
    return SignedIn(person, cookies[settings.SESSION_COOKIE_NAME], person.get_session_auth_hash()) if person else None


def query_person_of(session: SignedIn) -> QuerySet[User]:
    """A query for the person of a session, if they are active and the session has not ended. Check the result with ``is_same``."""
    return query_person(session.key, session.person.pk, timezone.now())


def query_person(key: str | Parameter, person: UUID | Parameter, now: datetime | Parameter) -> QuerySet[User]:
    """A query for the person of a session, if they are active and the session is valid at ``now``."""
    not_expired = Session.objects.filter(pk=key, expire_date__gt=now)
    people: QuerySet[User] = User.objects.filter(Exists(not_expired), pk=person, is_active=True)
    return people


def is_same(session: SignedIn, person: User | None) -> bool:
    """Whether the person's password is still the one that was used to start the session."""
    return person is not None and constant_time_compare(person.get_session_auth_hash(), session.password_hash)


def signed_in_user(cookies: dict[str, str]) -> User | None:
    """The person of the session cookie, if the session is still valid and the person is still active."""
    key = cookies.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = auth.get_user(request)
    return user if isinstance(user, User) else None


def end_all(person: User, except_key: str | None = None) -> int:
    """End every session of a person, except the one with the key ``except_key``. Returns how many were ended."""
    # Between password and second factor there is no session to end yet: that step expires by itself (web.entrance.second_step).
    User.objects.filter(pk=person.pk).update(sessions_ended_at=timezone.now())
    ended = 0
    # The owner is stored inside the session, so each session is read.
    for row in Session.objects.exclude(pk=except_key).iterator(chunk_size=500):
        if row.get_decoded().get(auth.SESSION_KEY) == str(person.pk):
            row.delete()
            ended += 1
    return ended


def client_address(scope: dict[str, Any]) -> str:
    """The client's network address; behind a trusted proxy, the one that the proxy reports."""
    client = scope.get("client") or [CLIENT_ADDRESS_UNKNOWN]
    forwarded = b",".join(value for name, value in scope.get("headers", []) if name == b"x-forwarded-for")
    return visitor_address(str(client[0]), forwarded.decode("latin-1"))
