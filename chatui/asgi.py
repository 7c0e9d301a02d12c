"""The ASGI application: HTTP for pages, a WebSocket for events."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
http = get_asgi_application()

from chatui.live.routing import application as websocket  # noqa: E402 - needs Django to be set up

application = ProtocolTypeRouter({"http": http, "websocket": websocket})
