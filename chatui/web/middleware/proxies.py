"""Applies ``X-Forwarded-For`` and ``X-Forwarded-Proto``, but only from the proxies that the operator trusts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from chatui.proxies import is_trusted, visitor_address

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class TrustedProxyMiddleware:
    """Sets REMOTE_ADDR and the scheme from the headers of a trusted proxy; others' headers are ignored."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        peer = request.META.get("REMOTE_ADDR") or ""
        request.META["chatui.peer"] = peer
        if is_trusted(peer):
            request.META["REMOTE_ADDR"] = visitor_address(peer, request.META.get("HTTP_X_FORWARDED_FOR", ""))
            if request.META.get("HTTP_X_FORWARDED_PROTO") == "https":
                # This is what is_secure() reads, for WSGI and ASGI requests alike.
                request._get_scheme = lambda: "https"  # type: ignore[attr-defined]
        return self._get_response(request)
