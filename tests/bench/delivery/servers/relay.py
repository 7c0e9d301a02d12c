"""The bare relay with which the product is compared: httpx in, Channels on Daphne out, a frame for each token, and nothing else.

No accounts, no database, no gate, no rendering. Daphne serves ``application``; BENCH_UPSTREAM is the address of the model server.
"""

import asyncio
import json
import os

import httpx
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.urls import path

# Channels reads Django's settings; here there are none.
if not settings.configured:
    settings.configure(CHANNEL_LAYERS={})

UPSTREAM = os.environ.get("BENCH_UPSTREAM", "")


class Relay(AsyncWebsocketConsumer):
    """Each text received is a question."""

    _client: httpx.AsyncClient | None = None

    async def connect(self) -> None:
        """Accept everybody."""
        self._tasks: set[asyncio.Task[None]] = set()
        await self.accept()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Answer in a task, because a handler that streams would receive nothing meanwhile."""
        task = asyncio.create_task(self._relay(text_data or ""))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, question: str) -> None:
        if Relay._client is None:
            Relay._client = httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None), trust_env=False)
        body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": question}]}
        async with Relay._client.stream("POST", f"{UPSTREAM}/v1/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    delta = json.loads(line[6:])["choices"][0]["delta"]
                    if content := delta.get("content"):
                        await self.send(text_data=json.dumps({"t": content}))
        await self.send(text_data='{"end":1}')


application = ProtocolTypeRouter({"websocket": URLRouter([path("ws/", Relay.as_asgi())])})  # type: ignore[arg-type, list-item]
