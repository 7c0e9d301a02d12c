"""The route of the WebSocket, ``/ws/``, with its checks."""

from __future__ import annotations

from channels.routing import URLRouter
from channels.sessions import CookieMiddleware
from django.urls import path

from chatui.live.consumer import ChatConsumer
from chatui.live.origin import ExactOriginCheck

websocket_urlpatterns = [path("ws/", ChatConsumer.as_asgi())]  # type: ignore[arg-type]

application = ExactOriginCheck(CookieMiddleware(URLRouter(websocket_urlpatterns)))  # type: ignore[arg-type]
