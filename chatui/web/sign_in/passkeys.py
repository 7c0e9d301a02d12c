"""The passkey endpoints: sign in with one, use one after the password, add one and remove one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from chatui.accounts import session_list, sign_in
from chatui.accounts.second_factor import ceremonies, enrollment, passkeys, relying_party
from chatui.accounts.second_factor.ceremonies import RefusedPasskeyError
from chatui.accounts.second_factor.relying_party import Site
from chatui.accounts.sign_in_rules import password_use
from chatui.permissions.access import NotFoundError, as_person
from chatui.throttle import Throttle
from chatui.web.entrance import second_step, session_start
from chatui.web.guards import guarded
from chatui.web.people import person_of
from chatui.web.sign_in import challenges
from chatui.web.visitors import visitor_of

if TYPE_CHECKING:
    from chatui.models import User

_SIGN_IN, _STEP, _NEW, _CONFIRM = "sign-in", "code", "new", "confirm"
_REFUSED = "passkey-refused"
_asked = Throttle("passkey-options", attempts=120, seconds=600)


@require_POST
@guarded
def options(request: HttpRequest, what: str) -> JsonResponse:
    """The options for the browser, with a new challenge. The same for everybody who is not known yet."""
    site, device = _site(request), request.COOKIES.get(sign_in.DEVICE_COOKIE, "")
    _asked.check(sign_in.browser_of(device) or visitor_of(request, "page").address)
    person = {_STEP: _between, _NEW: _adding, _CONFIRM: _confirming}.get(what, lambda _: None)(request)
    is_signed_in = request.user.is_authenticated
    if what == _SIGN_IN and not is_signed_in:
        options = ceremonies.authentication_options(site, (), challenges.give(request, _SIGN_IN))
    elif what in (_STEP, _CONFIRM) and person is not None:
        options = ceremonies.authentication_options(site, passkeys.ids_of(person, site), challenges.give(request, what, str(person.pk)))
    elif what == _NEW and person is not None:
        options = ceremonies.registration_options(
            site, person, passkeys.ids_of(person, site), challenges.give(request, _NEW, str(person.pk))
        )
    else:
        raise NotFoundError
    return JsonResponse(ceremonies.as_dict(options))


@sensitive_post_parameters()
@require_POST
@guarded
def enter(request: HttpRequest) -> HttpResponse:
    """Sign in with a passkey, which counts as both factors."""
    if request.user.is_authenticated:
        return redirect("home")
    site, after = _site(request), session_start.own_path(request, request.POST.get("next", ""))
    device = request.COOKIES.get(sign_in.DEVICE_COOKIE, "")
    try:
        person = passkeys.find_owner(visitor_of(request, "page"), site, _credential(request), challenges.take(request, _SIGN_IN), device)
    except RefusedPasskeyError:
        return redirect(f"{reverse('sign_in')}?{urlencode({_REFUSED: ''} | ({'next': after} if after else {}))}")
    return session_start.enter(request, person, how="with a passkey", after=after)


@sensitive_post_parameters()
@require_POST
@guarded
def step(request: HttpRequest) -> HttpResponse:
    """The step after the password, with a passkey instead of a code."""
    person = _between(request)
    if person is None:
        return redirect("sign_in")
    try:
        passkeys.check(
            visitor_of(request, "page"), person, _site(request), _credential(request), challenges.take(request, _STEP, str(person.pk))
        )
    except RefusedPasskeyError:
        return redirect(f"{reverse('sign_in_code')}?{_REFUSED}")
    return session_start.enter(request, person, how="by password and passkey", after=second_step.finish(request))


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@guarded
def new(request: HttpRequest) -> HttpResponse:
    """Add a passkey: for people who have just authenticated, or who need a second factor before they can sign in."""
    person = _adding(request)
    if person is None:
        return redirect("sign_in_confirm" if request.user.is_authenticated else "sign_in")
    if request.method == "GET":
        device = session_list.device_of(request.headers.get("User-Agent", ""))
        return render(request, "ways/passkey.html", {"name": device, "most": passkeys.MAX_NAME_CHARS, "is_possible": site_of(request)})
    return _add(request, person)


@require_POST
@login_required
@guarded
def remove(request: HttpRequest, passkey_id: UUID) -> HttpResponse:
    """Remove a passkey, if another sign-in method is left, and another factor if one is required."""
    if not session_start.is_recent(request):
        return redirect("sign_in_confirm")
    session_start.admit_change(person_of(request))
    passkeys.remove(visitor_of(request, "page"), person_of(request), passkey_id)
    return redirect("sign_in_ways")


@require_POST
@login_required
@guarded
def rename(request: HttpRequest, passkey_id: UUID) -> HttpResponse:
    """Rename one's own passkey."""
    if not session_start.is_recent(request):
        return redirect("sign_in_confirm")
    session_start.admit_change(person_of(request))
    passkeys.rename(visitor_of(request, "page"), person_of(request), passkey_id, request.POST.get("name", ""))
    return redirect("sign_in_ways")


def is_confirmed(request: HttpRequest, person: User) -> bool:
    """Whether a signed-in person has just used one of their passkeys. Counted, and a refusal is recorded. Raises MustWaitError."""
    if _confirming(request) is None:
        raise NotFoundError
    try:
        passkeys.check(
            visitor_of(request, "page"), person, _site(request), _credential(request), challenges.take(request, _CONFIRM, str(person.pk))
        )
    except RefusedPasskeyError:
        return False
    return True


def site_of(request: HttpRequest) -> Site | None:
    """The site of passkeys at this address; None if there can be none."""
    return relying_party.site_of(str(request.scheme), request.get_host())


def _add(request: HttpRequest, person: User) -> HttpResponse:
    site, visitor = _site(request), visitor_of(request, "page")
    session_start.admit_change(person)
    try:
        registered = ceremonies.verify_registration(site, _credential(request), challenges.take(request, _NEW, str(person.pk)))
        codes = passkeys.add(visitor, person, site, registered, request.POST.get("name", ""))
    except RefusedPasskeyError as error:
        passkeys.record_not_added(visitor, person, error)
        return redirect(f"{reverse('passkey_new')}?{_REFUSED}")
    after = second_step.finish(request)
    if not request.user.is_authenticated:
        answer = session_start.enter(request, person, how="by password and passkey", after=after)
        return render(request, "ways/recovery_codes.html", {"codes": codes, "after": after}) if codes else answer
    after = reverse("sign_in_ways")
    return render(request, "ways/recovery_codes.html", {"codes": codes, "after": after}) if codes else redirect(after)


def _between(request: HttpRequest) -> User | None:
    """The person who has entered their password, and has a passkey for the next step."""
    person = None if request.user.is_authenticated else second_step.person_of(request)
    return person if person is not None and enrollment.has_passkeys(person) else None


def _confirming(request: HttpRequest) -> User | None:
    person = as_person(request.user)
    return person if person is not None and password_use.may_use(person) and enrollment.has_passkeys(person) else None


def can_confirm(request: HttpRequest) -> bool:
    """Whether the signed-in person has a passkey that can be used at this address."""
    return _confirming(request) is not None and site_of(request) is not None


def _adding(request: HttpRequest) -> User | None:
    person = as_person(request.user)
    if person is not None:
        return person if session_start.is_recent(request) and passkeys.may_have(person) else None
    person = second_step.person_of(request)
    return person if person is not None and not enrollment.is_on(person) else None


def _site(request: HttpRequest) -> Site:
    site = site_of(request)
    if site is None:
        raise NotFoundError
    return site


def _credential(request: HttpRequest) -> str:
    return request.POST.get("credential", "")
