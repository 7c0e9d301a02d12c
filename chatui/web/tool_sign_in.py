"""A person's page of their accounts at tool servers, and the way to an authorization server and back.

The answer that comes back belongs to a sign-in that this browser began, for this person and this server; it is taken once.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chatui.codes import ProductCode
from chatui.limits import Throttle
from chatui.permissions.access import NotFoundError
from chatui.proxies import public_address
from chatui.web.errors import refuse
from chatui.web.guards import for_anybody, keep_for_tab, person_of, signed_in, visitor_of
from chatui.web.sign_in import session

if TYPE_CHECKING:
    from chatui.tools.sign_in.door import SignInError

log = logging.getLogger(__name__)
_SESSION_KEY = "tool_sign_ins"
_begun = Throttle("tool-sign-in", attempts=30, seconds=600)


@signed_in("GET")
def tool_accounts(request: HttpRequest) -> HttpResponse:
    from chatui.display import tool_sign_in  # takes 2 MB, and most installations have no tool servers

    shown = tool_sign_in.of_person(person_of(request))
    return render(request, "account/tool_accounts.html", {"accounts": shown})


@signed_in("POST")
def connect(request: HttpRequest, server: str) -> HttpResponse:
    """Send the browser to where the person signs in for this tool server."""
    from chatui.display import tool_sign_in
    from chatui.tools.sign_in.door import SignInError

    person = person_of(request)
    _begun.check(str(person.pk))
    after = session.own_path(request, request.POST.get("next", ""))
    try:
        pending = tool_sign_in.begin(person, server, public_address(request, reverse("tool_back", args=[server])), after)
    except SignInError as error:
        return _refused(request, server, error)
    # What is connected now is revoked first, and not after: a service may revoke all that the person has there.
    tool_sign_in.disconnect(visitor_of(request, "page"), server, waits=True)
    keep_for_tab(request, _SESSION_KEY, pending.state, pending.dump())
    response = render(request, "account/going_on.html", {"provider": server, "address": pending.address})
    # As at a sign-in service: our form-action policy also applies to redirects after forms.
    response.headers["Refresh"] = f"0; url={pending.address}"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@for_anybody("GET")
def client_document(request: HttpRequest, server: str) -> JsonResponse:
    """The document about this installation as a client, for authorization servers. It is the same whether there is such a server or not."""
    from chatui.tools.sign_in import flow

    return JsonResponse(flow.document(public_address(request, reverse("tool_back", args=[server]))))


@signed_in("GET")
def back(request: HttpRequest, server: str) -> HttpResponse:
    """Take the answer of the authorization server, once."""
    from chatui.display import tool_sign_in
    from chatui.tools.sign_in.door import SignInError
    from chatui.tools.sign_in.flow import PendingToolSignIn

    answer = request.GET.dict()
    stored: dict[str, Any] = request.session.get(_SESSION_KEY, {})
    values = stored.get(answer.get("state", ""))
    if values is None:
        # Not recorded: any site could make browsers send such answers, and so fill the audit log.
        return refuse(request, ProductCode.TOOL_ACCOUNT, 400)
    try:
        request.session[_SESSION_KEY] = {state: kept for state, kept in stored.items() if state != answer["state"]}
        pending = PendingToolSignIn.load(values)
        tool_sign_in.finish(visitor_of(request, "page"), server, pending, answer)
    except SignInError as error:
        return _refused(request, server, error)
    return redirect(pending.after or "tool_accounts")


@signed_in("POST")
def disconnect(request: HttpRequest, server: str) -> HttpResponse:
    from chatui.display import tool_sign_in

    if not tool_sign_in.disconnect(visitor_of(request, "page"), server):
        raise NotFoundError
    return redirect("tool_accounts")


def _refused(request: HttpRequest, server: str, error: SignInError) -> HttpResponse:
    from chatui.display import tool_sign_in
    from chatui.tools.sign_in.door import UnavailableError

    log.warning("tool server %s: an account could not be connected: %s", server, str(error))
    tool_sign_in.refused(visitor_of(request, "page"), server, str(error))
    is_away = isinstance(error, UnavailableError)
    code = ProductCode.TOOL_ACCOUNT_AWAY if is_away else ProductCode.TOOL_ACCOUNT
    return refuse(request, code, 503 if is_away else 400)
