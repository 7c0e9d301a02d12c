"""Error pages: a code, a message, and the id of the request, which the log repeats.

They never quote the request or the error, except in a link to our own page with the refused form.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec
from urllib.parse import urlsplit, urlunsplit

import django.db
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from chatui.codes import ProductCode
from chatui.database import faults
from chatui.database.connections import release_request_connection
from chatui.observability import measures
from chatui.observability.request_ids import request_id
from chatui.site.languages import sentence_of
from renderer.errors import ErrorCode

P = ParamSpec("P")

log = logging.getLogger(__name__)

PROGRAMS = "/v1/"
"""Below this path, errors are the API's error objects, also for unknown addresses."""

_IN_MINUTES = 100
"""From this many seconds on, the page gives the time to wait in minutes."""

_TOO_LARGE = (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)


def refuse(request: HttpRequest, code: ErrorCode, status: int, *, wait_seconds: int = 0) -> HttpResponse:
    """An error response: JSON for the product's scripts, a page for people. It says how long to wait, if that helps."""
    response = _answer(request, code, status, wait_seconds)
    if wait_seconds:
        response.headers["Retry-After"] = str(wait_seconds)
    # ``_answer`` has logged a line without the address. Any scanner can cause these: Django would log each once more, with its address, and
    # a wrong host with a traceback.
    response._has_been_logged = status < 500  # type: ignore[attr-defined]
    return response


def _outside_request(handler: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Django calls an error handler in a thread of the event loop, where no request ends: the database connection that its page used would
    never return to the pool, and would be used again after the server has closed it.
    """

    @wraps(handler)
    def handle(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return handler(*args, **kwargs)
        finally:
            release_request_connection()

    return handle


@_outside_request
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, which names the setting if the host is unknown; 413 for a form that is too large to be read."""
    if isinstance(exception, _TOO_LARGE):
        return refuse(request, ProductCode.FORM_TOO_LARGE, 413)
    if isinstance(exception, DisallowedHost):
        return refuse(request, ProductCode.WRONG_HOST, 400)
    return refuse(request, ProductCode.COMMAND, 400)


@_outside_request
def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, other than refused access to hidden channels."""
    return refuse(request, ProductCode.NOT_FOUND, 403)


@_outside_request
def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, ProductCode.NOT_FOUND, 404)


@_outside_request
def server_error(request: HttpRequest) -> HttpResponse:
    """500; 503 while the database is locked, full or unavailable."""
    error = sys.exc_info()[1]
    if not isinstance(error, django.db.Error):
        return refuse(request, ProductCode.INTERNAL, 500)
    # The page would read the person from the same database, and fail or wait as well.
    request.user = AnonymousUser()
    if faults.is_transient(error):
        response = refuse(request, faults.busy_error(error).code, 503)
        response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs a traceback for every page of an outage
        return response
    return refuse(request, ProductCode.INTERNAL, 500)


def came_from(request: HttpRequest) -> str:
    """The address, within this site, of the page that sent a form, according to the browser; empty if unknown or on another site."""
    page = urlsplit(request.headers.get("Referer", ""))
    address = urlunsplit(("", "", page.path, page.query, ""))
    is_ours = page.netloc == request.get_host() and address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_ours else ""


def wants_json(request: HttpRequest) -> bool:
    """Whether one of the product's scripts asks, rather than a person with a form."""
    return "application/json" in request.headers.get("Accept", "")


def _answer(request: HttpRequest, code: ErrorCode, status: int, wait_seconds: int) -> HttpResponse:
    number, sentence = request_id.get(), sentence_of(code)
    # The line has the number that people see, as every line of a request, and the name of the view instead of its address.
    view = request.resolver_match.view_name if request.resolver_match else "no view"
    measures.ERROR_PAGES.labels(code.value, str(status)).inc()
    level = logging.ERROR if status >= 500 else logging.INFO
    raised = sys.exc_info()[1]
    cause = {"cause": faults.kind_of(raised)} if isinstance(raised, django.db.Error) else {}
    log.log(level, "error page", extra={"code": code.value, "status": status, "view": view, **cause})
    if request.path.startswith(PROGRAMS):
        kind = "not_found" if status == 404 else "server_error" if status >= 500 else "invalid_request"
        error = {"message": f"{sentence} ({code.value})", "type": kind, "param": None, "code": kind}
        return JsonResponse({"error": error}, status=status)
    if wants_json(request):
        return JsonResponse({"ok": False, "code": code, "message": sentence, "request": number}, status=status)
    context = {"code": code.value, "sentence": sentence, "request_id": number, "status": status, "wait_seconds": wait_seconds}
    if wait_seconds >= _IN_MINUTES:
        context["wait_minutes"] = -(-wait_seconds // 60)
    if code == ProductCode.COMMAND and status == 403:  # a form with a missing or old token
        context["came_from"] = came_from(request)
    page = render(request, "site/error.html", context, status=status)
    if wait_seconds and request.method == "GET":
        page.headers["Refresh"] = str(wait_seconds)  # the page tries again by itself, also without scripts
    return page
