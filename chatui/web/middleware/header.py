"""Header sign-in: signs in the person whom a trusted proxy names, and ends the session when the header changes. Checked on every
request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.contrib import auth
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from chatui.accounts import first_account, header_sign_in, sign_in
from chatui.accounts.header_sign_in import SESSION_KEY, ForgedHeaderError
from chatui.accounts.single_sign_on.errors import SingleSignOnError
from chatui.codes import ProductCode
from chatui.permissions.access import as_person
from chatui.web.entrance import session_start
from chatui.web.errors import refuse
from chatui.web.people import notify_sockets
from chatui.web.visitors import visitor_of

PEER = "chatui.peer"
"""The key under which TrustedProxyMiddleware stores the address of the connection's peer, whatever the headers say about the visitor."""

_WITHOUT_SESSIONS = ("/v1/", "/scim/", "/healthz", "/readyz", "/metrics", "/static/")


class HeaderSignInMiddleware:
    """Runs after the session and authentication middleware. Unused unless the operator names a header."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if header_sign_in.rule() is None:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            name = header_sign_in.name_in(_headers(request), str(request.META.get(PEER, "")))
            if not request.path.startswith(_WITHOUT_SESSIONS):
                _synchronize(request, name)
        except ForgedHeaderError as error:
            sign_in.record_provider_sign_in_refused(visitor_of(request, "page"), f"by header: {error.why}")
            return refuse(request, ProductCode.SIGN_IN_FAILED, 403)
        except SingleSignOnError as error:
            sign_in.record_provider_sign_in_refused(visitor_of(request, "page"), f"by header: {error.why}")
            return refuse(request, error.code, error.status)
        return self._get_response(request)


def _synchronize(request: HttpRequest, name: str | None) -> None:
    began = request.session.get(SESSION_KEY)
    if began == name and (name is None or request.user.is_authenticated):
        return
    person = as_person(request.user)
    if person is not None and (began is not None or name is not None):
        # The next person at this browser must not find the session of the one before.
        auth.logout(request)
        notify_sockets(person)
        sign_in.record_signed_out(visitor_of(request, "page").of(person))
    if name is not None and not first_account.is_needed():
        arrived = header_sign_in.find_or_create_account(visitor_of(request, "page").as_nobody(), name)
        session_start.enter(request, arrived, how="by header")
        request.session[SESSION_KEY] = name


def _headers(request: HttpRequest) -> Iterator[tuple[bytes, bytes]]:
    """The headers as received. Only ASGI requests have them; for a test client, those that Django made."""
    scope = getattr(request, "scope", None)
    if scope is not None:
        yield from scope["headers"]
        return
    for key, value in request.META.items():
        if key.startswith("HTTP_"):
            yield key.removeprefix("HTTP_").replace("_", "-").lower().encode(), str(value).encode("latin-1", "replace")
