"""Response headers that Django has no setting for: against caching, embedding, prefetching and device access."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from chatui.web.middleware.inline import Inline

HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-DNS-Prefetch-Control": "off",
}


class HeadersMiddleware(Inline, MiddlewareMixin):
    """Adds the headers, and ``no-store`` unless it is a static file."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The response with every header that it does not have yet."""
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        # On a shared machine a conversation must not come back from the browser's cache after its owner has signed out.
        response.headers.setdefault("Cache-Control", "no-store")
        return response
