"""What every request passes through besides Django's own middleware.

Header sign-in is for the person whom a trusted proxy names, and ends the session when the header changes. It is checked on every request.

Some response headers have no setting in Django: those against caching, embedding, prefetching and device access. ``X-Forwarded-For`` and
``X-Forwarded-Proto`` are applied, but only from the proxies that the operator trusts; so is ``X-Request-ID``.

People get a page when an address does not accept the method; Django's own response is blank. A person gets there after signing in again, if
their session ended while they sent a form: the sign-in leads to the form's address.

The language of a request is that of the person's account, else of the cookie, else what the browser asks for, else the operator's setting.
It is never part of the address: a link to a conversation is the same for everybody. The time zone is set as well.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed, HttpResponsePermanentRedirect
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware as DjangoCommon
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware as DjangoSecurity
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from chatui.accounts import header_sign_in, profile, sign_in
from chatui.accounts.header_sign_in import SESSION_KEY
from chatui.accounts.openid import SingleSignOnError
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.observability import measures, request_ids
from chatui.permissions.access import as_person
from chatui.proxies import is_trusted, public_host, setup_faults, visitor_address
from chatui.site.languages import is_available, preferred_language, tag
from chatui.web.errors import refuse
from chatui.web.guards import notify_sockets, visitor_of
from chatui.web.sign_in import session
from chatui.web.sign_in.session import Entrance

if TYPE_CHECKING:
    from chatui.models.user import User


MONITORED = ("/healthz", "/readyz", "/metrics")
"""They reveal nothing, or need the operator's token."""

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
    if name is not None and not sign_in.is_needed():
        arrived = header_sign_in.find_or_create_account(visitor_of(request, "page").as_nobody(), name)
        session.enter(request, arrived, Entrance("by header"))
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


class _OnTheLoop(MiddlewareMixin):
    """The steps of a middleware that rarely waits, on the event loop. Django's would take each to a thread and back: twenty times for a
    request, and each costs more than the step."""

    async def __acall__(self, request: HttpRequest) -> Any:
        """See Django."""
        before, after = getattr(self, "process_request", None), getattr(self, "process_response", None)
        response = (before(request) if before else None) or await self.get_response(request)  # type: ignore[misc]
        if after is None:
            return response
        return await sync_to_async(after)(request, response) if self._stores(request) else after(request, response)

    def _stores(self, request: HttpRequest) -> bool:
        """Whether what follows the response waits for the database."""
        return False


class FrameOptionsMiddleware(_OnTheLoop, XFrameOptionsMiddleware):
    """Django's."""


class ContentPolicyMiddleware(_OnTheLoop, CSPMiddleware):
    """That of ``csp``, which builds a policy anew for each response: that of responses without one of their own is built once."""

    def __init__(self, get_response: Handler) -> None:
        super().__init__(get_response)
        self._usual = build_policy()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if settings.DEBUG or hasattr(request, "_csp_nonce") or not _WITH_OWN_POLICY.isdisjoint(vars(response)):
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self._usual)
        return response


_WITH_OWN_POLICY = frozenset({"_csp_config", "_csp_update", "_csp_replace", "_csp_exempt"})
"""What the decorators of ``csp`` leave on a response."""


class CsrfMiddleware(_OnTheLoop, CsrfViewMiddleware):
    """Django's, which reads the form of a request that changes something, in a thread, unless the view is exempt."""

    def __init__(self, get_response: Handler) -> None:
        super().__init__(get_response)
        if self.async_mode:
            self.process_view = self._checked  # type: ignore[assignment,method-assign]

    async def _checked(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        check = super().process_view
        reads_nothing = request.method in _SAFE or getattr(view[0], "csrf_exempt", False)
        return check(request, *view) if reads_nothing else await sync_to_async(check)(request, *view)


_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")


class PersonMiddleware(_OnTheLoop, AuthenticationMiddleware):
    """Django's: the person is read when somebody asks."""


class StoredSessionMiddleware(_OnTheLoop, SessionMiddleware):
    """Django's: the session is read when somebody asks."""

    def _stores(self, request: HttpRequest) -> bool:
        return bool(request.session.modified)


class SecurityMiddleware(_OnTheLoop, DjangoSecurity):
    """HTTPS and the headers that go with it. What an untrusted proxy was asked for by HTTPS is not sent to itself, but refused inside."""

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        response = super().process_request(request)
        if response is None or request.META.get("HTTP_X_FORWARDED_PROTO") != "https":
            return response
        setup_faults.note_untrusted(str(request.META.get(PEER, "")))
        request.is_misled = True  # type: ignore[attr-defined]
        return None


class CommonMiddleware(_OnTheLoop, DjangoCommon):
    """Host names, slashes at the ends of addresses, and the length of what is sent."""

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        """See Django. Monitors ask each process at its own address, whatever people call the site."""
        return None if request.path_info in MONITORED else super().process_request(request)


HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-DNS-Prefetch-Control": "off",
}


class HeadersMiddleware(_OnTheLoop):
    """Adds the headers, and ``no-store``, unless it is a static file."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers[request_ids.HEADER] = request_ids.request_id.get()
        # On a shared machine a conversation must not come back from the browser's cache after its owner has signed out.
        response.headers.setdefault("Cache-Control", "no-store")
        return response


Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class TrustedProxyMiddleware:
    """Sets REMOTE_ADDR, the scheme and the request's id from the headers of a trusted proxy; others' headers are ignored. Sets the public
    host and port."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        peer = request.META.get("REMOTE_ADDR") or ""
        request.META[PEER] = peer
        if host := request.META.get("HTTP_HOST"):
            request.META["HTTP_HOST"] = public_host(host)
        if not is_trusted(peer):
            request_ids.begin()
        else:
            request_ids.begin(request.META.get("HTTP_X_REQUEST_ID", ""))
            request.META["REMOTE_ADDR"] = visitor_address(peer, request.META.get("HTTP_X_FORWARDED_FOR", ""))
            if request.META.get("HTTP_X_FORWARDED_PROTO") == "https":
                # This is what is_secure() reads, for WSGI and ASGI requests alike.
                request._get_scheme = lambda: "https"  # type: ignore[attr-defined]
        return self._get_response(request)


class CountingMiddleware:
    """Counts each request with the time until its response began, but not those of monitors. The outermost middleware: it sees static
    files, too, and every refusal."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Handler) -> None:
        self._get_response: Any = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._answer(request)
        begun = time.perf_counter()
        response: HttpResponseBase = self._get_response(request)
        _count(request, response, begun)
        return response

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        begun = time.perf_counter()
        response: HttpResponseBase = await self._get_response(request)
        _count(request, response, begun)
        return response


def _count(request: HttpRequest, response: HttpResponseBase, begun: float) -> None:
    path = request.path_info
    if path not in MONITORED:
        is_static, is_api = path.startswith("/static/"), path.startswith(("/v1/", "/scim/"))
        measures.count_request("static" if is_static else "api" if is_api else "page", response.status_code, begun)


class RefusedMethodMiddleware(MiddlewareMixin):
    """Replaces a blank 405 by the error page, and refuses what a proxy without trust passes on. The innermost middleware, so that the page
    has a language."""

    async def __acall__(self, request: HttpRequest) -> Any:
        """See Django. In a thread only where there is a page to show, because that reads the database."""
        if hasattr(request, "is_misled"):
            return await sync_to_async(self.process_request)(request)
        response: Any = await self.get_response(request)  # type: ignore[misc]
        return await sync_to_async(self.process_response)(request, response) if _is_blank(response) else response

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        return refuse(request, ProductCode.WRONG_PROXY, 400) if hasattr(request, "is_misled") else None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not _is_blank(response):
            return response
        page = refuse(request, ProductCode.NOT_FOUND, response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page


def _is_blank(response: HttpResponseBase) -> bool:
    return isinstance(response, HttpResponseNotAllowed) and not response.content


_WITHOUT_LANGUAGE = ("/healthz", "/readyz", "/metrics", "/brand/", "/v1/", "/scim/")


_IN_UTC = re.compile(r"/(audit|admin)/")
"""What several people compare, line by line, is in one time zone."""


class LanguageMiddleware(_OnTheLoop):
    """Runs after the session and authentication middleware. Responses that may differ by language have a ``Vary`` header."""

    async def __acall__(self, request: HttpRequest) -> Any:
        """See Django. In a thread where a page has a language, because that reads who asks for it."""
        if _has_language(request):
            await sync_to_async(self.process_request)(request)
        else:
            self.process_request(request)
        return self.process_response(request, await self.get_response(request))  # type: ignore[misc]

    def process_request(self, request: HttpRequest) -> None:
        timezone.activate(UTC)
        translation.activate(_language_of(request, None) if _has_language(request) else "en")
        if _has_language(request):
            # Last, because the person cannot be read while the database is down: the error page is in the browser's language.
            person = as_person(getattr(request, "user", None))
            translation.activate(_language_of(request, person))
            timezone.activate(_time_zone_of(request, person))

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the ``Vary`` header. The session adds ``Cookie`` only if it was read, but public pages depend on cookies, too."""
        if _has_language(request):
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
            response.headers.setdefault("Content-Language", tag(translation.get_language() or "en"))
        return response


def _has_language(request: HttpRequest) -> bool:
    """Whether the response has a language. Endpoints for programs have none, which saves reading the session."""
    return not request.path_info.startswith(_WITHOUT_LANGUAGE)


_ZONE_COOKIE = "chatui_zone"
"""The browser's time zone, which ``theme-early.js`` sets. The first page of a browser is in UTC."""


def _time_zone_of(request: HttpRequest, person: User | None) -> tzinfo:
    if person is None or _IN_UTC.match(request.path_info):
        return UTC
    return profile.zone_of(person.time_zone or request.COOKIES.get(_ZONE_COOKIE, ""))


def _language_of(request: HttpRequest, person: User | None) -> str:
    wished = (
        person.language if person else "",
        request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        preferred_language(request.headers.get("Accept-Language", "")),
    )
    return next((code for code in wished if is_available(code)), environment().language)
