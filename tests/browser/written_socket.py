"""A page's socket whose events the test writes: for states that no server holds still in."""

import json
from typing import Any

from playwright.sync_api import Page, WebSocketRoute

TURN, CONVERSATION, QUESTION = (f"11111111-0000-7000-8000-00000000000{number}" for number in range(3))


class WrittenSocket:
    """Install it before the page loads. It accepts the first question; everything after that the test says."""

    def __init__(self, page: Page) -> None:
        self._socket: WebSocketRoute | None = None
        self._number = 0
        page.route_web_socket("**/ws/**", self._open)

    def turn(self, event: str, **fields: Any) -> None:
        """The next event of the turn."""
        self._number += 1
        self.send({"type": event, "turn": TURN, "sequence_number": self._number, **fields})

    def snapshot(self, **fields: Any) -> None:
        """The whole turn so far."""
        rest = {"working": True, "messages": [], "place": 0, "can_answer_now": True, "calls_wait": 0, "files": 0}
        self.send({"type": "chatui:snapshot", "turn": TURN, "sequence_number": self._number, **rest, **fields})

    def message(self, name: str, kind: str, html: str) -> None:
        """A message of one block."""
        self.turn("chatui:message", message_id=name, kind=kind)
        self.turn("response.delta.flush", message_id=name, block=0, html=html)

    def send(self, event: dict[str, Any]) -> None:
        """One event."""
        assert self._socket, "the page has no socket yet"
        self._socket.send(json.dumps([event]))

    def _open(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        socket.on_message(self._hear)

    def _hear(self, message: str | bytes) -> None:
        command = json.loads(message)
        if command["type"] != "send":
            return
        place = {"conversation": CONVERSATION, "question": QUESTION}
        known = {"client_id": command["client_id"], "url": f"/c/{CONVERSATION}/", "title": "Trains"}
        self.send({"type": "chatui:accepted", "turn": TURN, **place, **known})
        self.turn("response.created", **place, kind="send")
