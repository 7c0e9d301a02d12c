"""The ASGI application: HTTP for pages and the API, a WebSocket for pages, and one for programs."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import Any

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
http = get_asgi_application()

from chatui.api import socket  # noqa: E402 - needs Django to be set up
from chatui.env import environment  # noqa: E402
from chatui.live.routing import application as pages  # noqa: E402
from chatui.observability import tracing  # noqa: E402
from chatui.observability.tracing import measured  # noqa: E402

tracing.begin(environment())

PROGRAMS = "/v1/responses"


def websocket(scope: dict[str, Any], receive: Any, send: Any) -> Awaitable[None]:
    """Programs authenticate by a key, which a browser cannot send. So only for pages the origin is checked."""
    return (socket.serve if scope["path"] == PROGRAMS else pages)(scope, receive, send)


application = ProtocolTypeRouter({"http": measured(http), "websocket": websocket})
