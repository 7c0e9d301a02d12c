"""Starts a session, for every sign-in method: recorded first, with the time of authentication."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.contrib import auth
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from chatui.accounts import header_sign_in, second_factor, sessions, sign_in, sign_in_settings
from chatui.accounts.forms import wait_of
from chatui.audit_log.record import Visitor
from chatui.guesses import PLACE_SECONDS
from chatui.limits import Throttle
from chatui.permissions.access import as_person
from chatui.proxies import public_address
from chatui.web.guards import View, signed_in, visitor_of
from chatui.web.sign_in import second_step

if TYPE_CHECKING:
    from chatui.models.user import User


RECENT_SECONDS = 600
"""How long after authentication people may change their sign-in methods: somebody else may use an open session later."""

_AUTHENTICATED_AT, _WITH_FACTOR = "shown_at", "shown_with_factor"
_changes = Throttle("ways-to-sign-in", attempts=30, seconds=600)


@dataclass(frozen=True, slots=True)
class Entrance:
    """How somebody signed in."""

    how: str = ""
    """For the audit log, empty for a password."""
    hours: int = 0
    """The session's lifetime, 0 for the default."""
    has_factor: bool = False
    """Whether they gave a second factor, or a passkey."""
    is_confirmed: bool = True
    """Whether they were asked for something; a provider may have signed them in without a question."""
    mark: str = ""
    """The session's mark, where that is not ``how``."""
    origin: str = ""
    """As for ``sessions.store_origin``."""


BY_PASSWORD = Entrance()


def enter(request: HttpRequest, person: User, entrance: Entrance = BY_PASSWORD, *, after: str = "") -> HttpResponse:
    """Sign the person in, and redirect to the path ``after``."""
    sign_in.record_signed_in(Visitor(person, visitor_of(request, "page").address, "page"), entrance.how)
    second_step.finish(request)  # removes the password step of anybody else in this browser
    auth.login(request, person)
    if entrance.hours:
        request.session.set_expiry(timedelta(hours=entrance.hours))  # a timedelta is stored as a fixed time, so activity does not extend it
    record_start(request, person, entrance.mark or entrance.how)
    request.session[_WITH_FACTOR] = entrance.has_factor
    if not entrance.is_confirmed:
        del request.session[_AUTHENTICATED_AT]
    if entrance.origin:
        sessions.store_origin(request.session.session_key, entrance.origin)
    return on_known_device(redirect(after or "home"), person)


def record_start(request: HttpRequest, person: User, how: str = "") -> None:
    """Record that a session has begun, for the person's list of sessions."""
    mark_authenticated(request)
    if request.session.session_key is None:
        request.session.save()
    visitor = visitor_of(request, "page")
    sessions.record_start(person, str(request.session.session_key), visitor, request.headers.get("User-Agent", ""), how)


def mark_authenticated(request: HttpRequest, *, has_factor: bool = False) -> None:
    """Record that the person has just authenticated. ``has_factor``: as in ``Entrance``."""
    request.session[_AUTHENTICATED_AT] = time.time()
    request.session[_WITH_FACTOR] = has_factor


def is_recent(request: HttpRequest) -> bool:
    """Whether the person has recently authenticated in this session, with the strongest factor that the account has.

    A proxy that signs people in by a header vouches for them with each request, and there is nothing to ask.
    """
    person = as_person(request.user)
    if person is None or (needs_factor(person) and not request.session.get(_WITH_FACTOR)):
        return False
    if request.session.get(header_sign_in.SESSION_KEY) and not sign_in_settings.has_own_way(person):
        return True
    at = request.session.get(_AUTHENTICATED_AT, 0)
    return isinstance(at, (int, float)) and 0 <= time.time() - at < RECENT_SECONDS


def needs_factor(person: User) -> bool:
    """Whether this person confirms changes with a second factor: the password alone must not open what both protect."""
    return sign_in_settings.may_use(person) and second_factor.is_on(person)


def admit_change(person: User) -> None:
    """Count a change of one's own sign-in methods and sessions: each is a line of the audit log, which nobody may flood. Raises
    ThrottledError."""
    _changes.check(str(person.pk))


def own_change(view: View) -> View:
    """Guards a view that changes a person's own sign-in methods: they have just authenticated, and each change is counted."""

    @signed_in("POST")
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_recent(request):
            return redirect("sign_in_confirm")
        admit_change(cast("User", request.user))
        return view(request, *args, **kwargs)

    return answer


def refused_form(response: HttpResponse, form: BaseForm | None) -> HttpResponse:
    """The page with a form: 429 if a secret in it was not checked, with the time to wait; the browser keeps its place."""
    if form is None or (wait := wait_of(form)) is None:
        return response
    response.status_code = HTTPStatus.TOO_MANY_REQUESTS
    response.headers["Retry-After"] = str(wait.seconds)
    if wait.place:
        _set_cookie(response, sign_in.PLACE_COOKIE, wait.place, wait.seconds + PLACE_SECONDS)
    return response


def on_known_device(response: HttpResponse, person: User) -> HttpResponse:
    """Set a device cookie: wrong passwords from this browser are counted separately from those of strangers."""
    _set_cookie(response, sign_in.DEVICE_COOKIE, sign_in.new_device(person), sign_in.DEVICE_SECONDS)
    return response


def _set_cookie(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    response.set_cookie(name, value, max_age=seconds, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax")


def own_path(request: HttpRequest, path: str) -> str:
    """``path`` if it belongs to this site, else empty: a link must not redirect people elsewhere after they have signed in."""
    is_own = url_has_allowed_host_and_scheme(path, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    # ``redirect`` would take any other beginning for the name of a view, and an unknown name fails.
    return path if is_own and path.startswith("/") and len(path) <= 500 else ""


def back_address(request: HttpRequest, provider: str) -> str:
    """The redirect address for a provider, which the operator registers there."""
    return public_address(request, reverse("sign_in_back", args=[provider]))
