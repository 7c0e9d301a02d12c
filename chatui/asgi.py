"""The ASGI application: HTTP for pages and the API, a WebSocket for pages, and one for programs."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import Any

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
http = get_asgi_application()
# A request begins without a connection: each has a thread of its own, which Django would start for these two alone.
for _receiver in (reset_queries, close_old_connections):
    request_started.disconnect(_receiver)

from chatui.api import socket  # noqa: E402 - needs Django to be set up
from chatui.env import environment  # noqa: E402
from chatui.live.routing import application as pages  # noqa: E402
from chatui.observability import request_ids, tracing  # noqa: E402
from chatui.observability.tracing import measured  # noqa: E402
from chatui.proxies import is_trusted  # noqa: E402

tracing.begin(environment())

PROGRAMS = "/v1/responses"
_ID_HEADER = request_ids.HEADER.lower().encode()


def websocket(scope: dict[str, Any], receive: Any, send: Any) -> Awaitable[None]:
    """Programs authenticate by a key, which a browser cannot send. So only for pages the origin is checked."""
    given = next((value for name, value in scope.get("headers", ()) if name == _ID_HEADER), b"")
    request_ids.begin(given.decode("latin-1") if is_trusted((scope.get("client") or ("",))[0]) else "")
    return (socket.serve if scope["path"] == PROGRAMS else pages)(scope, receive, send)


application = ProtocolTypeRouter({"http": measured(http), "websocket": websocket})
