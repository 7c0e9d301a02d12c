"""Response headers that Django has no setting for: against caching, embedding, prefetching and device access."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-DNS-Prefetch-Control": "off",
}


class HeadersMiddleware:
    """Adds the headers, and ``no-store`` unless it is a static file."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self._get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._call_async(request)
        return _with_headers(self._get_response(request))  # type: ignore[arg-type]

    async def _call_async(self, request: HttpRequest) -> HttpResponseBase:
        return _with_headers(await self._get_response(request))  # type: ignore[misc]


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    # On a shared machine a conversation must not come back from the browser's cache after its owner has signed out.
    response.headers.setdefault("Cache-Control", "no-store")
    return response
