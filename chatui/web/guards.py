"""The decorators of all views that check access, and what a view reads of its request: the person, their address, numbers in addresses.

The decorators convert the exceptions of ``chatui.permissions.access`` into responses. It is also determined whether the person or another
site caused a request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from csp.constants import NONE
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from chatui.accounts.sign_in import DEVICE_COOKIE
from chatui.audit_log.record import RequestCause, Visitor
from chatui.codes import ProductCode
from chatui.guesses import MustWaitError
from chatui.limits import ThrottledError
from chatui.permissions import access, ratings
from chatui.permissions.access import HiddenViewRefusedError, NotFoundError, OptInNeededError, as_person
from chatui.permissions.debug_requests import NotIndependentError
from chatui.web.errors import refuse, wants_json
from chatui.wire import bus

if TYPE_CHECKING:
    from chatui.models.user import User


# A file that is opened directly is a document of our origin: it may run nothing and load nothing, and has an opaque origin.
INERT = {"default-src": [NONE], "base-uri": [NONE], "form-action": [NONE], "frame-ancestors": [NONE], "sandbox": True}

View = Callable[..., HttpResponseBase]
Other = TypeVar("Other")


def visitor_of(request: HttpRequest, way: str) -> Visitor:
    """The signed-in person of a request (None for nobody), the address and the browser that it came from, and what caused it."""
    device = request.COOKIES.get(DEVICE_COOKIE, "")
    return Visitor(as_person(request.user), request.META.get("REMOTE_ADDR") or "", way, cause_of(request.headers), device)


def person_of(request: HttpRequest) -> User:
    """The signed-in person of a view that needs one."""
    person = as_person(request.user)
    if person is None:
        raise TypeError("a view without login_required asked for a person")
    return person


def notify_sockets(*people: User) -> None:
    """Make these people's sockets recheck their session and permissions. Best effort: they also do so regularly."""
    for person in people:
        bus.send_from_thread(bus.person(person.pk), {"type": "session.check"})


def number(text: str | None, otherwise: Other) -> int | Other:
    """A whole number from an address or a form that fits into a database column; ``otherwise`` if it is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else otherwise


_MAX_TABS = 5


def keep_for_tab(request: HttpRequest, name: str, key: str, value: object) -> None:
    """Keep a value in the session for one of several tabs, under ``name`` and a key that only this tab knows. Old ones are dropped."""
    before = list(request.session.get(name, {}).items())[1 - _MAX_TABS :]
    request.session[name] = {**dict(before), key: value}


def cause_of(headers: Mapping[str, str]) -> RequestCause:
    """What caused a request, according to the browser (Fetch Metadata Request Headers; ``Purpose`` is the older name).

    No script can set these headers. Another client can: then the attempt is missing from the warnings, but not from the log.
    """
    if any(word in headers.get(name, "").lower() for name in ("Sec-Purpose", "Purpose") for word in ("prefetch", "prerender")):
        return RequestCause.PREFETCH
    if headers.get("Sec-Fetch-Site") not in ("cross-site", "same-site"):
        return RequestCause.PERSON
    is_navigation = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    return RequestCause.LINK if is_navigation else RequestCause.EMBEDDED


def secret_address(view: View) -> View:
    """The address of the page is a secret: other pages learn only the origin, and search engines list nothing.

    Not ``no-referrer``: browsers would then post the page's form with ``Origin: null``, which the CSRF check refuses.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers["Referrer-Policy"] = "strict-origin"
        response.headers["X-Robots-Tag"] = "noindex, nofollow, noarchive"
        return response

    return wrapped


def guarded(view: View) -> View:
    """ "Not found" and "not yours" are the same 404. Refused access to hidden channels is a 403 that names nothing.

    People who are signed out are then redirected to the sign-in page.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotFoundError as error:
            return refuse(request, error.code, 404)
        except HiddenViewRefusedError as error:
            return refuse(request, error.code, 403) if request.user.is_authenticated else redirect_to_login(request.get_full_path())
        except (OptInNeededError, NotIndependentError) as error:
            return refuse(request, error.code, 403)
        except (ThrottledError, MustWaitError) as error:
            return refuse(request, error.code, 429, wait_seconds=error.seconds)

    return answer


def signed_in(*methods: str) -> Callable[[View], View]:
    """A guarded view for people who are signed in, which takes only these methods. No report of an error has what its forms contain."""
    return lambda view: sensitive_post_parameters()(require_http_methods(methods)(login_required(_for_pages(guarded(view)))))


def for_anybody(*methods: str) -> Callable[[View], View]:
    """A guarded view that takes only these methods, and needs no sign-in."""
    return lambda view: sensitive_post_parameters()(require_http_methods(methods)(guarded(view)))


def _for_pages(view: View) -> View:
    """What is only a part of a page, or data for its scripts, leads to the first page if somebody opens it by itself."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        is_opened = request.method == "GET" and request.headers.get("Sec-Fetch-Dest") == "document"
        return redirect("home") if is_opened and isinstance(response, HttpResponse) and _is_part(response) else response

    return answer


def _is_part(response: HttpResponse) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    is_whole = kind not in ("text/html", "application/json") or response.content.lstrip()[:9].lower() == b"<!doctype"
    return response.status_code == HTTPStatus.OK and not is_whole and "Content-Disposition" not in response.headers


def hidden_channels(method: str, action: str) -> Callable[[View], View]:
    """Guards a view of hidden channels, which takes only this method. ``action``: for the audit log.

    Any request to such an address without the permission is an attempt, also with another method or without a CSRF token. The view itself
    asks ``access``, instead of ``login_required``, so that the attempt of somebody who is signed out is recorded first.
    """

    def decorate(view: View) -> View:
        inner = guarded(view)

        @wraps(view)
        def answer(request: HttpRequest, conversation_id: UUID, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == method:
                return inner(request, conversation_id, *args, **kwargs)
            _record_attempt(request, conversation_id, action)
            return HttpResponseNotAllowed([method])

        answer.hidden_action = action  # type: ignore[attr-defined]
        return answer

    return decorate


def done(request: HttpRequest, url: str, **fields: str) -> HttpResponse:
    """The answer to a form that was carried out: JSON for the product's scripts, a redirect for people."""
    return JsonResponse({"ok": True, "url": url, **fields}) if wants_json(request) else redirect(url)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose token is missing or old."""
    match = request.resolver_match
    action = getattr(match.func, "hidden_action", "") if match else ""
    if match and action:
        _record_attempt(request, match.kwargs["conversation_id"], action)
    if match and "conversation_id" in match.kwargs:
        _record_hidden_messages(request, match.kwargs)
    if match and match.view_name == "ratings" and "hidden" in request.POST:
        with contextlib.suppress(HiddenViewRefusedError, NotFoundError):
            ratings.hidden_exporter(visitor_of(request, "download"))
    response = refuse(request, ProductCode.COMMAND, 403)
    response._has_been_logged = False  # type: ignore[attr-defined] # Django's line says which check the form failed
    return response


def _record_hidden_messages(request: HttpRequest, named: Mapping[str, Any]) -> None:
    """Record an attempt for each hidden message that the address or the form names, where the form with a token would be one."""
    allowed = {"message": access.message_on_branch, "leaf": access.visible_message, "message_id": access.visible_message}
    for name, message in allowed.items():
        with contextlib.suppress(NotFoundError):
            if key := named.get(name) or request.POST.get(name):
                message(visitor_of(request, "page"), named["conversation_id"], key, action="form without token")


def _record_attempt(request: HttpRequest, conversation_id: UUID, action: str) -> None:
    """Record an attempt if the person of a request that is refused anyway lacks the permission."""
    with contextlib.suppress(HiddenViewRefusedError, NotFoundError):
        access.debuggable_conversation(visitor_of(request, "page"), conversation_id, action=action)
