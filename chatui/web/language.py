"""The language form on every page. It works without scripts."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST

from chatui.codes import ProductCode
from chatui.permissions.access import as_person
from chatui.site.languages import is_available
from chatui.web.errors import came_from, refuse

AS_BROWSER = ""
"""The choice "as in the browser"."""

_ONE_YEAR = 365 * 24 * 3600


@csrf_exempt
@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Store the choice in the account of a signed-in person, so that it counts everywhere, and in this browser's cookie.

    People who are signed out need no CSRF token: nothing is stored on the server, and public pages (a share link) set no cookie for a
    token.
    """
    return csrf_protect(_choose)(request) if as_person(request.user) else _choose(request)


def _choose(request: HttpRequest) -> HttpResponse:
    code = request.POST.get("language")
    if code is None or not (code == AS_BROWSER or is_available(code)):
        return refuse(request, ProductCode.COMMAND, 400)
    person = as_person(request.user)
    if person is not None:
        person.language = code
        person.save(update_fields=["language"])
    return in_cookie(redirect(_page(request)), code)


def in_cookie(response: HttpResponse, code: str) -> HttpResponse:
    """Store the choice in a cookie, for pages that are shown before sign-in."""
    if code == AS_BROWSER:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, path="/", samesite="Lax")
    else:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=_ONE_YEAR,
            path="/",
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def _page(request: HttpRequest) -> str:
    """The page that the form is on. A conversation that was started on the first page has its own address by now."""
    page = back(request)
    return (came_from(request) or page) if "next" in request.POST and urlsplit(page).path == reverse("home") else page


def back(request: HttpRequest, otherwise: str = "") -> str:
    """Redirect to the page in a form's ``next`` if it is ours; else to ``otherwise``, or the first page."""
    url = request.POST.get("next", "")
    is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return url if is_ours else otherwise or reverse("home")
