"""The endpoints for a provider: one sends the browser there to sign in, one receives it back, and one is told of a logout.

The last one is for the provider's logout notification (OpenID Connect Back-Channel Logout 1.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt

from chatui.accounts import invitations, openid, provider_claims, provider_logout, sessions, sign_in
from chatui.accounts.openid import BadSignInError, NotListedError, PendingSignIn, ProviderUnavailableError, SingleSignOnError
from chatui.accounts.sign_in_settings import Provider, provider_of
from chatui.audit_log.record import Visitor
from chatui.guesses import GuessLimit, MustWaitError, Scope, address_group
from chatui.lifecycle import closing, scim_people
from chatui.limits import Throttle
from chatui.permissions.access import NotFoundError, as_person, existing
from chatui.web.errors import refuse
from chatui.web.guards import for_anybody, keep_for_tab, notify_sockets, visitor_of
from chatui.web.sign_in import session

# Only to bound how many sessions one network makes us store: a whole office may begin its day behind one address.
_begun = Throttle("single-sign-on", attempts=1000, seconds=600)
# Of responses and logout tokens that claim to come from a provider: attempts with forged ones.
_responses = GuessLimit("single sign-on", address=Scope(free=20, longest=300, window=3600))
_logouts = GuessLimit("provider logout", address=Scope(free=20, longest=60, window=3600))
_SESSION_KEY = "single_sign_on"


@for_anybody("POST")
def begin(request: HttpRequest, provider: str) -> HttpResponseBase:
    """Send the browser to the provider; with the field ``connect``, to connect the identity there to the signed-in account, with
    ``confirm``, to have it ask for the signed-in person again.
    """
    configured, person = existing(provider_of(provider)), as_person(request.user)
    connects, confirms = "connect" in request.POST, "confirm" in request.POST
    if sign_in.is_needed() or (person is not None) != (connects or confirms):
        return redirect("home")
    if connects and not session.is_recent(request):
        return redirect("sign_in_ways")
    visitor = visitor_of(request, "page")
    _begun.check(sign_in.browser_of(visitor) or address_group(visitor.address))
    after = session.own_path(request, request.POST.get("next", ""))
    invitation = _invitation(request)
    own = str(person.pk) if person else ""
    started = PendingSignIn(
        configured.key, after=after, connects=own if connects else "", confirms="" if connects else own, invitation=invitation
    )
    try:
        address = openid.authorization_url(configured, started, session.back_address(request, configured.key))
    except SingleSignOnError as error:
        return _refused(request, configured, error)
    keep_for_tab(request, _SESSION_KEY, started.state, started.dump())
    response = render(request, "account/going_on.html", {"provider": configured.name, "address": address})
    # Our form-action policy would refuse a redirect, because it also applies to redirects after forms.
    response.headers["Refresh"] = f"0; url={address}"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@for_anybody("GET")
def back(request: HttpRequest, provider: str) -> HttpResponseBase:
    """Accept the provider's answer, once, and sign the person in."""
    configured, visitor, answer = existing(provider_of(provider)), visitor_of(request, "page"), request.GET.dict()
    if answer.get("state", "") not in request.session.get(_SESSION_KEY, {}):
        # Not counted: a state cannot be guessed, and any site could make browsers send false ones until a whole office is throttled.
        return _refused(request, configured, BadSignInError("this browser did not start this sign-in"))
    try:
        started = _pop_pending(request, answer["state"])
        claims = openid.fetch_claims(configured, started, answer, session.back_address(request, configured.key))
        follow = _connected if started.connects else _confirmed if started.confirms else _entered
        return follow(request, configured, started, provider_claims.read(configured, claims))
    except SingleSignOnError as error:
        if isinstance(error, BadSignInError):
            try:
                _responses.miss(visitor.address)  # a valid one is never refused
            except MustWaitError:
                sign_in.record_provider_sign_in_refused(visitor, f"by {configured.key}: had to wait")
                raise
        return _refused(request, configured, error)


def _invitation(request: HttpRequest) -> str:
    """The invitation in the form, if it is valid; else None, for a sign-in without invitation."""
    value = request.POST.get("invitation", "")
    invitation_id, _, token = value.partition("/")
    try:
        invitations.find_valid(UUID(invitation_id), token)
    except (NotFoundError, ValueError):
        return ""
    return value


def _pop_pending(request: HttpRequest, state: str) -> PendingSignIn:
    """The sign-in that was begun in this browser with that state, which is removed: an answer is accepted once."""
    stored: Mapping[str, dict[str, Any]] = request.session[_SESSION_KEY]
    request.session[_SESSION_KEY] = {other: started for other, started in stored.items() if other != state}
    return PendingSignIn(**stored[state])


def _entered(request: HttpRequest, provider: Provider, started: PendingSignIn, person_claims: provider_claims.PersonClaims) -> HttpResponse:
    person = scim_people.find_or_create_account(visitor_of(request, "page").as_nobody(), provider, person_claims, started.invitation)
    how = sessions.sign_in_method_of(provider.key)
    mark = sessions.mark_of(provider.issuer)
    entrance = session.Entrance(how, provider.session_hours, is_confirmed=False, mark=mark, origin=person_claims.session)
    response = session.enter(request, person, entrance, after=started.after)
    notify_sockets(person)  # for other sessions: groups may have been removed
    return response


def _connected(
    request: HttpRequest, provider: Provider, started: PendingSignIn, person_claims: provider_claims.PersonClaims
) -> HttpResponse:
    visitor = _still(request, started.connects)
    if not session.is_recent(request):
        # It was when they were sent there, but they may have been away for long, or have a second factor since.
        return redirect("sign_in_confirm")
    scim_people.connect(visitor, provider, person_claims)
    return redirect("sign_in_ways")


def _confirmed(
    request: HttpRequest, provider: Provider, started: PendingSignIn, person_claims: provider_claims.PersonClaims
) -> HttpResponse:
    visitor = _still(request, started.confirms)
    scim_people.confirm(visitor, provider, person_claims)
    session.mark_authenticated(request)
    return redirect(started.after or "sign_in_ways")


def _still(request: HttpRequest, key: str) -> Visitor:
    visitor = visitor_of(request, "page")
    if visitor.user is None or str(visitor.user.pk) != key:
        raise BadSignInError("somebody else is signed in now")
    return visitor


def _refused(request: HttpRequest, provider: Provider, error: SingleSignOnError) -> HttpResponse:
    account = error.account if isinstance(error, NotListedError) else ""
    if account and not request.session.exists(str(request.session.session_key)):
        request.session.flush()  # the session of this browser was among those that ended, and is not to be stored again
    sign_in.record_provider_sign_in_refused(visitor_of(request, "page"), f"by {provider.key}: {error.why}", account)
    return refuse(request, error.code, error.status)


@csrf_exempt
@for_anybody("POST")
def provider_logout_view(request: HttpRequest, provider: str) -> HttpResponse:
    """Accept a logout token. The request's own session is ignored: the token alone identifies the person."""
    found, visitor = existing(provider_of(provider)), visitor_of(request, "program").as_nobody()
    try:
        with provider_logout.use(found, request.POST.get("logout_token")) as logged_out:
            closing.sign_out(visitor, found, logged_out)
    except (BadSignInError, ProviderUnavailableError) as error:
        return _refused_logout(visitor, found, error)
    return HttpResponse(status=200)


def _refused_logout(visitor: Visitor, provider: Provider, error: BadSignInError | ProviderUnavailableError) -> HttpResponse:
    """Refuse and count a wrong token. A valid token is never refused because of wrong ones from the same address."""
    sign_in.record_provider_sign_in_refused(visitor, f"by {provider.key}: {error.why}")
    if isinstance(error, ProviderUnavailableError):
        return JsonResponse({"error": "temporarily_unavailable"}, status=503)
    try:
        _logouts.miss(visitor.address)
    except MustWaitError as wait:
        return JsonResponse({"error": "invalid_request"}, status=429, headers={"Retry-After": str(wait.seconds)})
    return JsonResponse({"error": "invalid_request"}, status=400)
