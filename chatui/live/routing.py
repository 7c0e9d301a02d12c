"""The route of the WebSocket, ``/ws/``, with its checks: only this site's own pages may connect.

A browser sends its cookies with a WebSocket that any page on the web opens, so only the check of the Origin keeps other sites out. The
Origin header must match a public origin exactly.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import path

from chatui.env import environment
from chatui.live.consumer import ChatConsumer
from chatui.proxies import is_trusted, setup_faults

Application = Callable[[Any, Any, Any], Awaitable[Any]]


def is_allowed(scope: dict[str, Any]) -> bool:
    """Whether the connection comes from this site: exactly one Origin header, with the same scheme, host and port."""
    origins = [value for name, value in scope.get("headers", []) if name == b"origin"]
    hosts = [value for name, value in scope.get("headers", []) if name == b"host"]
    if len(origins) != 1 or len(hosts) != 1:
        return False
    origin = origins[0].decode("latin-1")
    public: list[str] = environment().origins
    if public:
        return origin in public
    host = hosts[0].decode("latin-1")
    domain, _port = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False  # a foreign host name that points at this server (DNS rebinding)
    return bool(origin == f"{_scheme(scope)}://{host}")


def _scheme(scope: dict[str, Any]) -> str:
    """``https`` if a proxy that the operator trusts says that the browser used it, otherwise ``http``."""
    client = (scope.get("client") or ("",))[0]
    forwarded = [value for name, value in scope.get("headers", []) if name == b"x-forwarded-proto"]
    return "https" if is_trusted(client) and forwarded == [b"https"] else "http"


websocket_urlpatterns = [path("ws/", ChatConsumer.as_asgi())]  # type: ignore[arg-type]

_allowed: Application = CookieMiddleware(URLRouter(websocket_urlpatterns))  # type: ignore[arg-type]


def application(scope: Any, receive: Any, send: Any) -> Awaitable[Any]:
    """The socket of a page of this site; for every other page, a refusal."""
    if is_allowed(scope):
        return _allowed(scope, receive, send)
    setup_faults.note_origin(next((value.decode("latin-1") for name, value in scope.get("headers", []) if name == b"origin"), "no origin"))
    return WebsocketDenier()(scope, receive, send)
