"""The ASGI application: HTTP for pages and the API, a WebSocket for pages, and one for programs."""

from __future__ import annotations

import os
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


async def websocket(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Programs authenticate by a key, which a browser cannot send. So only for pages the origin is checked."""
    if scope["path"] == PROGRAMS:
        await socket.serve(scope, receive, send)
    else:
        await pages(scope, receive, send)


application = ProtocolTypeRouter({"http": measured(http), "websocket": websocket})
