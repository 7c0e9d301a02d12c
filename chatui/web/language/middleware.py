"""Sets the language and the time zone of each request.

The language is that of the person's account, else of the cookie, else what the browser asks for, else the operator's setting. It is never
part of the address: a link to a conversation is the same for everybody.
"""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from chatui.accounts import time_zones
from chatui.env import environment
from chatui.languages.available import is_available, preferred_language, tag
from chatui.permissions.access import as_person
from chatui.web.middleware.inline import Inline

if TYPE_CHECKING:
    from chatui.models import User

_WITHOUT_LANGUAGE = ("/healthz", "/readyz", "/metrics", "/brand/", "/v1/", "/scim/")


_IN_UTC = re.compile(r"/(audit|admin|usage)/|/c/[^/]+/debug/")
"""Pages that several people compare, or filter by days, use one time zone."""


class LanguageMiddleware(Inline, MiddlewareMixin):
    """Runs after the session and authentication middleware. Responses that may differ by language have a ``Vary`` header."""

    def may_wait_before(self, request: HttpRequest) -> bool:
        """A signed-in person is read from the database."""
        return _has_language(request)

    def process_request(self, request: HttpRequest) -> None:
        """Activate the language and the time zone for this request."""
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


def _time_zone_of(request: HttpRequest, person: User | None) -> tzinfo:
    return time_zones.zone_of(person.time_zone) if person and not _IN_UTC.match(request.path_info) else UTC


def _language_of(request: HttpRequest, person: User | None) -> str:
    wished = (
        person.language if person else "",
        request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        preferred_language(request.headers.get("Accept-Language", "")),
    )
    return next((code for code in wished if is_available(code)), environment().language)
