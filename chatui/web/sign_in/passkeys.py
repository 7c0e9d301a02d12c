"""The passkey endpoints: sign in with one, use one after the password, add one and remove one.

A browser's challenges each work once, for ten minutes, for one purpose and one person.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chatui.accounts import passkey_ceremonies, passkeys, second_factor, sessions, sign_in, sign_in_settings
from chatui.accounts.passkey_ceremonies import TIMEOUT_SECONDS, RefusedPasskeyError, Site
from chatui.limits import CACHE_ERRORS, Throttle
from chatui.permissions.access import NotFoundError, as_person, existing
from chatui.web.guards import for_anybody, keep_for_tab, notify_sockets, person_of, visitor_of
from chatui.web.sign_in import second_step, session

if TYPE_CHECKING:
    from chatui.models.passkeys import Passkey
    from chatui.models.user import User


_SESSION_KEY = "given_challenges"


def give(request: HttpRequest, purpose: str, person: str = "") -> bytes:
    """A new challenge. ``person``: the id of the passkey's owner; empty if unknown yet."""
    challenge = secrets.token_bytes(32)
    keep_for_tab(request, _SESSION_KEY, challenge.hex(), {"at": time.time(), "for": purpose, "person": person})
    return challenge


def take(request: HttpRequest, purpose: str, person: str = "") -> list[bytes]:
    """The challenges given for this purpose. They are used up even if the attempt fails."""
    stored = request.session.pop(_SESSION_KEY, {})
    return [
        bytes.fromhex(challenge)
        for challenge, each in stored.items()
        if each["for"] == purpose and each["person"] == person and 0 <= time.time() - each["at"] < TIMEOUT_SECONDS and _is_first(challenge)
    ]


def _is_first(challenge: str) -> bool:
    """Whether this is the first use: of two concurrent requests that read it from the same session, only one gets it."""
    try:
        return cache.add(f"chatui:passkey:{challenge}", 1, TIMEOUT_SECONDS)
    except CACHE_ERRORS:
        return False


_SIGN_IN, _STEP, _NEW, _CONFIRM = "sign-in", "code", "new", "confirm"
_REFUSED = "passkey-refused"
_asked = Throttle("passkey-options", attempts=120, seconds=600)


@for_anybody("POST")
def options(request: HttpRequest, what: str) -> JsonResponse:
    """The options for the browser, with a new challenge. The same for everybody who is not known yet."""
    site, visitor = _site(request), visitor_of(request, "page")
    _asked.check(sign_in.browser_of(visitor) or visitor.address)
    if what == _SIGN_IN and not request.user.is_authenticated:
        return JsonResponse(passkey_ceremonies.authentication_options(site, None, give(request, _SIGN_IN)))
    person = existing({_STEP: _between, _NEW: _adding, _CONFIRM: _confirming}.get(what, lambda _: None)(request))
    options_for = passkey_ceremonies.registration_options if what == _NEW else passkey_ceremonies.authentication_options
    return JsonResponse(options_for(site, person, give(request, what, str(person.pk))))


@for_anybody("POST")
def enter(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("home")
    after = session.own_path(request, request.POST.get("next", ""))
    try:
        used = _used(request, _SIGN_IN)
    except RefusedPasskeyError:
        return redirect(f"{reverse('sign_in')}?{urlencode({_REFUSED: ''} | ({'next': after} if after else {}))}")
    return session.enter(request, used.user, _entrance("with a passkey", used), after=after)


@for_anybody("POST")
def step(request: HttpRequest) -> HttpResponse:
    person = _between(request)
    if person is None:
        return redirect("sign_in")
    try:
        used = _used(request, _STEP, person)
    except RefusedPasskeyError:
        return redirect(f"{reverse('sign_in_code')}?{_REFUSED}")
    return session.enter(request, person, _entrance("by password and passkey", used), after=second_step.finish(request))


@for_anybody("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    """Add a passkey: for people who have just authenticated, or who need a second factor before they can sign in."""
    person = _adding(request)
    if person is None:
        return redirect("sign_in_confirm" if request.user.is_authenticated else "sign_in")
    if request.method == "GET":
        device = sessions.device_of(request.headers.get("User-Agent", ""))
        return render(request, "account/passkey.html", {"name": device, "most": passkeys.MAX_NAME_CHARS, "is_possible": site_of(request)})
    return _add(request, person)


@session.own_change
def remove(request: HttpRequest, passkey_id: UUID) -> HttpResponse:
    """Remove a passkey, if another sign-in method is left, and another factor if one is required."""
    passkeys.remove(visitor_of(request, "page"), passkey_id, request.session.session_key)
    notify_sockets(person_of(request))
    return redirect("sign_in_ways")


@session.own_change
def rename(request: HttpRequest, passkey_id: UUID) -> HttpResponse:
    passkeys.rename(visitor_of(request, "page"), person_of(request), passkey_id, request.POST.get("name", ""))
    return redirect("sign_in_ways")


def is_confirmed(request: HttpRequest, person: User) -> bool:
    """Whether a signed-in person has just used one of their passkeys. Counted, and a refusal is recorded. Raises MustWaitError."""
    if _confirming(request) is None:
        raise NotFoundError
    try:
        _used(request, _CONFIRM, person)
    except RefusedPasskeyError:
        return False
    return True


def _used(request: HttpRequest, purpose: str, person: User | None = None) -> Passkey:
    challenges = take(request, purpose, str(person.pk) if person else "")
    return passkeys.use(visitor_of(request, "page"), _site(request), request.POST.get("credential", ""), challenges, person)


def _entrance(how: str, used: Passkey) -> session.Entrance:
    return session.Entrance(how, has_factor=True, origin=str(used.pk))


def site_of(request: HttpRequest) -> Site | None:
    """The site of passkeys at this address; None if there can be none."""
    return passkey_ceremonies.site_of(str(request.scheme), request.get_host())


def _add(request: HttpRequest, person: User) -> HttpResponse:
    site, visitor = _site(request), visitor_of(request, "page")
    session.admit_change(person)
    try:
        registered = passkey_ceremonies.verify_registration(site, request.POST.get("credential", ""), take(request, _NEW, str(person.pk)))
        added, codes = passkeys.add(visitor, person, site, registered, request.POST.get("name", ""))
    except RefusedPasskeyError as error:
        passkeys.record_not_added(visitor, person, error)
        return redirect(f"{reverse('passkey_new')}?{_REFUSED}")
    after = second_step.finish(request)
    if not request.user.is_authenticated:
        answer = session.enter(request, person, _entrance("by password and passkey", added), after=after)
        return render(request, "account/recovery_codes.html", {"codes": codes, "after": after}) if codes else answer
    session.mark_authenticated(request, has_factor=True)
    after = reverse("sign_in_ways")
    return render(request, "account/recovery_codes.html", {"codes": codes, "after": after}) if codes else redirect(after)


def _between(request: HttpRequest) -> User | None:
    """The person who has entered their password, and has a passkey for the next step."""
    person = None if request.user.is_authenticated else second_step.person_of(request)
    return person if person is not None and second_factor.has_passkeys(person) else None


def _confirming(request: HttpRequest) -> User | None:
    person = as_person(request.user)
    return person if person is not None and sign_in_settings.may_use(person) and second_factor.has_passkeys(person) else None


def can_confirm(request: HttpRequest) -> bool:
    """Whether the signed-in person has a passkey that can be used at this address."""
    return _confirming(request) is not None and site_of(request) is not None


def _adding(request: HttpRequest) -> User | None:
    person = as_person(request.user)
    if person is not None:
        return person if session.is_recent(request) and passkeys.may_have(person) else None
    person = second_step.person_of(request)
    return person if person is not None and not second_factor.is_on(person) else None


def _site(request: HttpRequest) -> Site:
    return existing(site_of(request))
