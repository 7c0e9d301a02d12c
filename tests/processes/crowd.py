"""A crowd that asks at the same moment: many people with many pages, each of which sends several questions and follows one answer."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.support.browser_socket import ENDS
from tests.support.served import Deployment, LiveSocket, Server

PAGES_A_PERSON = 25
QUESTIONS_A_PAGE = 5
"""As many commands at once per page, and pages per person, as the product's rate limits accept."""


@dataclass
class Page:
    """``refused``: the error codes of refused questions. ``places``: the queue positions that the page received, in order."""

    socket: LiveSocket
    accepted: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    end: dict[str, Any] | None = None

    async def ask(self, questions: int) -> None:
        """Send all questions at once, each in a new conversation, and follow the last."""
        for number in range(questions):
            await self.socket.send("send", client_id=str(uuid4()), conversation=None, text=f"Question {number}", effort="low")
        for _ in range(questions):
            reply = (await self.socket.until("chatui:accepted", "chatui:refused"))[-1]
            if reply["type"] == "chatui:accepted":
                self.accepted.append(reply)
            else:
                self.refused.append(reply["code"])
        if self.accepted:
            await self.socket.send("subscribe", conversation=self.accepted[-1]["conversation"])

    async def read(self) -> None:
        """Read until the followed answer ends."""
        while self.end is None:
            event = await self.socket.next()
            if event["type"] in (*ENDS, "chatui:idle"):
                self.end = event
            elif "place" in event:
                self.places.append(event["place"])


@dataclass
class Crowd:
    """The pages of all people."""

    pages: list[Page]
    questions: int

    async def ask(self) -> None:
        """Everybody asks."""
        each, more = divmod(self.questions, len(self.pages))
        await asyncio.gather(*(page.ask(each + (number < more)) for number, page in enumerate(self.pages)))

    async def read(self) -> None:
        """Everybody reads until their answer ends."""
        await asyncio.gather(*(page.read() for page in self.pages))

    @property
    def accepted(self) -> list[dict[str, Any]]:
        return [reply for page in self.pages for reply in page.accepted]

    @property
    def refused(self) -> Counter[str]:
        return Counter(code for page in self.pages for code in page.refused)


@asynccontextmanager
async def gathered(deployment: Deployment, server: Server, questions: int) -> AsyncIterator[Crowd]:
    """Enough people and pages for ``questions``, all connected to ``server``."""
    pages = -(-questions // QUESTIONS_A_PAGE)
    names = [f"person{number}" for number in range(-(-pages // PAGES_A_PERSON))]
    await asyncio.to_thread(lambda: deployment.make_people(**{name: (False, []) for name in names}))
    clients = [await asyncio.to_thread(server.sign_in, name) for name in names]
    async with AsyncExitStack() as sockets:
        opened = [await sockets.enter_async_context(LiveSocket(server, clients[number // PAGES_A_PERSON])) for number in range(pages)]
        yield Crowd([Page(socket) for socket in opened], questions)
