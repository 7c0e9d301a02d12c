"""Records a span for each HTTP request: method, URL pattern and status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.urls import Resolver404, resolve

from chatui.tracing import spans

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NOT_MEASURED = ("/static/", "/healthz", "/readyz", "/metrics")
"""The beginnings of paths that are requested every few seconds, or cost next to nothing."""


def measured(application: Application) -> Application:
    """The application with a span around each request; the application itself if tracing is off."""
    if not spans.is_on():
        return application

    async def around(scope: Scope, receive: Any, send: Send) -> None:
        if scope["path"].startswith(_NOT_MEASURED):
            await application(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        route = _route(scope["path"])
        with spans.span(f"{method} {route}".strip(), "server", method=method, route=route) as span:

            async def sending(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    span.set_attributes(response_status=message["status"])
                await send(message)

            await application(scope, receive, sending)

    return around


def _route(path: str) -> str:
    """The URL pattern of a path. The path itself is never recorded: it can contain names of groups and secrets of links."""
    try:
        return f"/{resolve(path).route}"
    except Resolver404:
        return ""
