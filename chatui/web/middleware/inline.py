"""Django's own middleware, run on the event loop where it does not block, because Django would use a thread for every step.

A request passes ten of these, twice each. Steps that may wait for the database or a body still use a thread: storing a session or a
message, checking the token of a posted form, and reading the language of a signed-in person.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from csp.middleware import CSPMiddleware as DjangoCSP
from django.contrib.auth.middleware import AuthenticationMiddleware as DjangoAuthentication
from django.contrib.messages.middleware import MessageMiddleware as DjangoMessages
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessions
from django.http import HttpRequest, HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware as DjangoXFrameOptions
from django.middleware.common import CommonMiddleware as DjangoCommon
from django.middleware.csrf import CsrfViewMiddleware as DjangoCsrf
from django.middleware.security import SecurityMiddleware as DjangoSecurity

from chatui.web.deferred import Deferred

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class Inline:
    """A mixin for a ``MiddlewareMixin``. ``may_wait_before`` and ``may_wait_after`` say when its steps need a thread all the same."""

    def may_wait_before(self, request: HttpRequest) -> bool:
        """Whether ``process_request`` may wait for something."""
        return False

    def may_wait_after(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """Whether ``process_response`` may wait for something."""
        return False

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        """Django calls this for a request on the event loop. The steps are those of ``MiddlewareMixin``, in the same order."""
        before, after = getattr(self, "process_request", None), getattr(self, "process_response", None)
        response = None
        if before is not None:
            response = await sync_to_async(before)(request) if self.may_wait_before(request) else before(request)
        response = response or await self.get_response(request)  # type: ignore[attr-defined] # in the class that this is mixed into
        if after is not None:
            waits = self.may_wait_after(request, response)
            response = await sync_to_async(after)(request, response) if waits else after(request, response)
        return response  # type: ignore[no-any-return] # Django's methods have no types here


class SecurityMiddleware(Inline, DjangoSecurity):
    """HTTPS and the headers that go with it."""


class XFrameOptionsMiddleware(Inline, DjangoXFrameOptions):
    """Prevents other sites from framing pages."""


class CSPMiddleware(Inline, DjangoCSP):
    """The content security policy of each page."""


class SessionMiddleware(Inline, DjangoSessions):
    """The session of a browser: read at first use, stored here if it has changed."""

    def may_wait_after(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """A session that has changed is stored."""
        return bool(request.session.modified)


class CommonMiddleware(Inline, DjangoCommon):
    """Slashes at the ends of addresses, and the length of what is sent."""


class AuthenticationMiddleware(Inline, DjangoAuthentication):
    """The signed-in person, loaded at first use."""


class MessageMiddleware(Inline, DjangoMessages):
    """Confirmation messages, stored in the session until they are shown."""

    def may_wait_after(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """Messages that were shown or added change the session."""
        storage: Any = getattr(request, "_messages", None)
        return storage is not None and bool(storage.used or storage.added_new)


class CsrfViewMiddleware(Inline, DjangoCsrf):
    """Refuses other sites' forms. A thread is only used to read a token from the body, and to load a view with its first request."""

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        if self.async_mode:
            # Django checks on the instance whether this is a coroutine function.
            self.process_view = self._process_view  # type: ignore[method-assign, assignment]

    async def _process_view(self, request: HttpRequest, view: Any, args: Any, named: Any) -> HttpResponseBase | None:
        check = super().process_view
        is_loaded = not isinstance(view, Deferred) or view.is_loaded
        if is_loaded and (request.method in _SAFE_METHODS or getattr(view, "csrf_exempt", False)):
            return check(request, view, args, named)
        return await sync_to_async(check)(request, view, args, named)
