"""A page of a person, which asks over the socket, and what is stored of its turns."""

from types import TracebackType
from typing import Any
from uuid import UUID, uuid4

from channels.db import database_sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running, titles
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.turns import QUESTION


class Page(BrowserSocket):
    """``async with Page(person) as page``: a socket that asks, and waits for what comes of it."""

    turn: Turn
    """The row of the turn that it asked for last, as it was then."""

    async def __aenter__(self) -> "Page":
        await super().__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await super().__aexit__(kind, error, trace)

    async def ask(self, text: str = QUESTION, **fields: Any) -> Turn:
        """Ask a new question; ``fields`` as in the command, such as ``conversation`` or another ``type``."""
        event = await self.tried(text, **fields)
        assert event["type"] == "chatui:accepted", event
        self.turn = await Turn.objects.select_related("conversation").aget(pk=event["turn"])
        return self.turn

    async def tried(self, text: str = QUESTION, **fields: Any) -> dict[str, Any]:
        """The reply to such a question: accepted or refused."""
        sent: dict[str, Any] = {"type": "send", "client_id": uuid4(), "conversation": None, "effort": "medium"}
        sent |= ({"text": text} if text else {}) | fields
        written: dict[str, Any] = {name: str(value) if isinstance(value, UUID) else value for name, value in sent.items()}
        await self.send(**written)
        return (await self.until("chatui:accepted", "chatui:refused"))[-1]

    async def answered(self, text: str = QUESTION, **fields: Any) -> Turn:
        """Ask, and return the row once the turn has ended and all of it is stored."""
        await self.ask(text, **fields)
        return await self.ended()

    async def ended(self) -> Turn:
        """The row of the last turn, once it has ended and all of it is stored."""
        await self.until(*ENDS)
        await settled()
        return await Turn.objects.select_related("conversation").aget(pk=self.turn.pk)

    async def tell(self, command: str, **fields: Any) -> None:
        """Send a command about the last turn, such as ``stop``."""
        await self.send(command, conversation=str(self.turn.conversation_id), turn=str(self.turn.pk), **fields)

    async def heard(self) -> None:
        """Wait until all is done that it told about its turn."""
        await self.follow(self.turn.conversation_id)
        await self.until("chatui:snapshot", "chatui:idle")

    async def follow(self, conversation: object) -> None:
        await self.send("subscribe", conversation=str(conversation))


async def answered(person: User, text: str = QUESTION, **fields: Any) -> Turn:
    """A whole turn, which the person's page asks for and follows."""
    async with Page(person) as page:
        return await page.answered(text, **fields)


async def begun(person: User, text: str = QUESTION, **fields: Any) -> Turn:
    """The same of a page that is left as soon as it has asked."""
    async with Page(person) as page:
        return await page.ask(text, **fields)


async def told(person: User, turn: Turn, command: str) -> None:
    """What a page that opens the conversation then tells about its running turn, such as ``stop``."""
    async with Page(person) as page:
        page.turn = turn
        await page.tell(command)
        await page.heard()


@database_sync_to_async
def opened(person: User, path: str) -> str:
    """The page at this path."""
    client = Client()
    client.force_login(person)
    return client.get(path).content.decode()


@database_sync_to_async
def posted(person: User, path: str, **form: Any) -> int:
    """Send a form there, as a page does. Returns the status."""
    client = Client()
    client.force_login(person)
    return client.post(path, form).status_code


@database_sync_to_async
def imported(person: User, text: bytes) -> Conversation:
    """The conversation that comes of a file which the person uploads."""
    client = Client()
    client.force_login(person)
    answer = client.post("/import/", {"file": SimpleUploadedFile("talk.ocml", text)})
    assert answer.status_code in (200, 302), answer.content
    return Conversation.objects.filter(owner=person, imported_at__isnull=False).latest("imported_at")


async def settled() -> None:
    """Wait until no turn runs here any more, and no title is asked for."""
    await running.settle()
    await titles.settle()


async def rows_of(turn: Turn) -> list[Message]:
    """The messages that the turn wrote."""
    return [row async for row in Message.objects.filter(turn=turn.pk).order_by("position")]


async def conversation_of(turn: Turn) -> list[Message]:
    """All messages of its conversation, in the order in which they were stored."""
    return [row async for row in Message.objects.filter(conversation=turn.conversation_id).order_by("position")]


def shape(messages: list[Message]) -> list[tuple[str, str]]:
    """Of each message its role and its channel."""
    return [(message.role, message.channel) for message in messages]
