"""The messages between a page and each server. This is the only module that knows the product's events."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import uuid4


@dataclass(slots=True)
class FrameContent:
    """The content of one frame: new text, HTML or plain; what the page sends and fetches in response; whether the turn has ended.

    ``is_missed``: the answer ended before the page could follow it, so its text comes from a fetch. ``fault``: why there is none.
    """

    text: str = ""
    replies: list[str] = field(default_factory=list)
    fetches: list[str] = field(default_factory=list)
    has_ended: bool = False
    is_missed: bool = False
    fault: str = ""


class Dialect(Protocol):
    """The protocol of one page."""

    path: str

    def ask(self, question: str) -> str:
        """The frame that asks this question."""
        ...

    def read(self, frame: str) -> FrameContent:
        """Read a frame."""
        ...


class Relay:
    """Both relays: a question is its text, an answer's text is in ``t``."""

    path = "/ws/"

    def ask(self, question: str) -> str:
        """See Dialect."""
        return question

    def read(self, frame: str) -> FrameContent:
        """See Dialect."""
        fields = json.loads(frame)
        return FrameContent(text=fields.get("t", ""), has_ended="end" in fields)


class Product:
    """The product's page: it asks, and all else arrives as events. It fetches text that events do not include or that it has missed."""

    path = "/ws/"

    def __init__(self) -> None:
        self._exchange = ""

    def ask(self, question: str) -> str:
        """See Dialect. Each question begins a new conversation."""
        command = {"type": "send", "client_id": str(uuid4()), "conversation": None, "text": question, "effort": "medium"}
        return json.dumps(command)

    def read(self, frame: str) -> FrameContent:
        """See Dialect."""
        content = FrameContent()
        for event in json.loads(frame):
            self._take(event, content)
        return content

    def _take(self, event: dict[str, Any], content: FrameContent) -> None:
        match event["type"]:
            case "response.delta" | "response.delta.flush":
                content.text += event.get("html") or event.get("text") or ""
            case "chatui:snapshot":
                content.text += "".join(html for message in event["messages"] for html in message["blocks"])
            case "chatui:ping":
                content.replies.append(json.dumps({"type": "pong", "number": event["number"]}))
            case "chatui:accepted":
                self._exchange = f"{event['url']}turns/{event['turn']}/"
            case "response.completed":
                content.has_ended = True
                content.fetches += [] if "row" in event else [self._exchange]
            case "chatui:idle":
                content.has_ended = content.is_missed = True
                content.fetches.append(self._exchange)
            case "response.incomplete" | "response.failed" | "response.cancel" | "chatui:refused" | "chatui:closing":
                content.has_ended = True
                content.fault = f"{event['type']} {event.get('code')}"


class Program:
    """A program: a streamed request of Open Responses for each question, and its events."""

    path = "/v1/responses"

    def ask(self, question: str) -> str:
        """See Dialect."""
        return json.dumps({"model": "", "input": question, "stream": True})

    def read(self, frame: str) -> FrameContent:
        """See Dialect."""
        if frame.strip() == "[DONE]":
            return FrameContent()
        event = json.loads(frame)
        match event["type"]:
            case "response.output_text.delta":
                return FrameContent(text=event["delta"])
            case "response.completed":
                return FrameContent(has_ended=True)
            case "response.incomplete" | "response.failed" | "error":
                return FrameContent(has_ended=True, fault=event["type"])
            case _:
                return FrameContent()


class Chainlit:
    """Chainlit's page: events of Socket.IO over Engine.IO, whose frames begin with digits for their kinds."""

    path = "/ws/socket.io/?EIO=4&transport=websocket"

    def __init__(self) -> None:
        self._has_asked = False

    def ask(self, question: str) -> str:
        """See Dialect."""
        self._has_asked = True
        now = datetime.now(UTC).isoformat()
        message = {"id": str(uuid4()), "threadId": "", "name": "user", "type": "user_message", "output": question, "createdAt": now}
        return "42" + json.dumps(["client_message", {"message": message, "fileReferences": []}])

    def read(self, frame: str) -> FrameContent:
        """See Dialect."""
        if frame.startswith("42"):
            return self._take(*json.loads(frame[2:]))
        session = {"clientType": "webapp", "sessionId": str(uuid4()), "threadId": "", "userEnv": "{}", "chatProfile": ""}
        replies = {"0": "40" + json.dumps(session), "40": '42["connection_successful"]', "2": "3"}
        kind = frame[:2] if frame.startswith("4") else frame[:1]
        return FrameContent(replies=[replies[kind]] if kind in replies else [])

    def _take(self, event: str, *values: Any) -> FrameContent:
        match event:
            case "stream_start":
                return FrameContent(text=values[0]["output"])
            case "stream_token":
                return FrameContent(text=values[0]["token"])
            case "task_end":
                return FrameContent(has_ended=self._has_asked)
            case _:
                return FrameContent()


DIALECTS: dict[str, type[Dialect]] = {"product": Product, "relay": Relay, "floor": Relay, "chainlit": Chainlit, "program": Program}
