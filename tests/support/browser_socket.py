"""A browser's WebSocket for tests: the real ASGI application with cookies and Origin, and events as a flat list."""

import asyncio
import json
from collections.abc import Sequence
from types import TracebackType
from typing import Any
from uuid import uuid4

from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from chatui.models.user import User


@database_sync_to_async
def cookie_of(person: User | None) -> str:
    if person is None:
        return ""
    client = Client()
    client.force_login(person)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


class BrowserSocket:
    """``async with BrowserSocket(person) as socket``. ``raw`` has everything received, as text. ``more``: headers that no browser sends."""

    def __init__(
        self,
        person: User | None,
        *,
        origin: str | None = "http://localhost:8000",
        host: str = "localhost:8000",
        path: str = "/ws/",
        more: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        self._person = person
        self._origin = origin
        self._host = host
        self._path = path
        self._more = more
        self.raw: list[str] = []
        self.accepted = False
        self.close_code: object = None
        self._queue: list[dict[str, Any]] = []

    async def __aenter__(self) -> "BrowserSocket":
        from chatui.asgi import application

        cookie = await cookie_of(self._person)
        headers = [(b"host", self._host.encode()), (b"cookie", cookie.encode())]
        if self._origin is not None:
            headers.append((b"origin", self._origin.encode()))
        headers += self._more
        self._communicator = WebsocketCommunicator(application, self._path, headers=headers)
        self.accepted, code = await self._communicator.connect(timeout=30)
        self.close_code = None if self.accepted else code
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._communicator.disconnect()

    async def send(self, type: str, **fields: Any) -> None:
        await self._communicator.send_to(text_data=json.dumps({"type": type, **fields}))

    async def send_raw(self, text: str) -> None:
        await self._communicator.send_to(text_data=text)

    async def send_message(self, text: str = "What is 2 + 2?", **fields: Any) -> str:
        client_id = str(uuid4())
        await self.send("send", **{"client_id": client_id, "conversation": None, "text": text, "effort": "medium"} | fields)
        return client_id

    async def next(self, timeout: float = 30.0) -> dict[str, Any]:
        """The next event. A closed socket is the event ``closed``."""
        while not self._queue:
            message = await self._communicator.receive_output(timeout)
            if message["type"] == "websocket.close":
                self.close_code = message["code"]
                return {"type": "closed", "code": message["code"]}
            events = json.loads(message["text"])
            self.raw.append(json.dumps(events))
            for event in events:
                if event["type"] == "chatui:ping":
                    await self.send("pong", number=event["number"])
                else:
                    self._queue.append(event)
        return self._queue.pop(0)

    async def until(self, *types: str, timeout: float = 30.0) -> list[dict[str, Any]]:
        """Events up to and including the first of one of these types."""
        seen: list[dict[str, Any]] = []
        async with asyncio.timeout(timeout):
            while not seen or seen[-1]["type"] not in types:
                seen.append(await self.next(timeout))
        return seen

    async def silence(self, seconds: float = 0.3) -> list[dict[str, Any]]:
        """Everything that arrives within that time."""
        seen: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(seconds):
                while True:
                    seen.append(await self.next(seconds * 2))
        except TimeoutError:
            return seen


ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancel")


def shown_text(events: list[dict[str, Any]]) -> str:
    """The HTML that a page following these events would show, messages in order."""
    blocks: dict[tuple[str, int], str] = {}
    for event in events:
        if event["type"] == "chatui:snapshot":
            blocks = {(m["message_id"], i): html for m in event["messages"] for i, html in enumerate(m["blocks"])}
        elif "block" in event and "html" in event:
            blocks[event["message_id"], event["block"]] = event["html"]
        elif "block" in event:
            before, _, after = blocks[event["message_id"], event["block"]].rpartition("</code>")
            blocks[event["message_id"], event["block"]] = before + event["text"] + "</code>" + after
    return "".join(blocks.values())
