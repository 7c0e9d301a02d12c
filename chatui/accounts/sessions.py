"""Finds the person behind a socket, fresh from the database: a sign-out or deactivation counts at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.models import Session
from django.http import HttpRequest

from chatui.models import User
from chatui.proxies import visitor_address

CLIENT_ADDRESS_UNKNOWN = ""


def signed_in_user(cookies: dict[str, str]) -> User | None:
    """The person of the session cookie, if the session is still good and the person still active."""
    key = cookies.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = auth.get_user(request)
    return user if isinstance(user, User) else None


def end_all(person: User) -> int:
    """End every session of a person; how many there were."""
    ended = 0
    # Whose a session is stands inside of it, so each is looked at.
    for row in Session.objects.iterator(chunk_size=500):
        if row.get_decoded().get(auth.SESSION_KEY) == str(person.pk):
            row.delete()
            ended += 1
    return ended


def client_address(scope: dict[str, Any]) -> str:
    """The network address of the socket's other end; behind a trusted proxy the one that the proxy names."""
    client = scope.get("client") or [CLIENT_ADDRESS_UNKNOWN]
    forwarded = b",".join(value for name, value in scope.get("headers", []) if name == b"x-forwarded-for")
    return visitor_address(str(client[0]), forwarded.decode("latin-1"))
