"""Records the places where hidden text could leak while it streams: the bus, and a browser's socket."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.audit_log.record import Visitor
from chatui.models.user import User
from chatui.permissions import debug_requests
from chatui.wire.bus import Bus, Message
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Terminator
from tests.canary.reviewed import END_USER_EVENTS
from tests.support.canary import Canary, hidden_headers
from tests.support.scripted import Step

_IN_A_SNAPSHOT = {"message_id", "kind", "blocks"}


class BusRecorder:
    """All messages sent over the bus, with their recipients."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        send, send_to = Bus.send, Bus.send_to

        def to_group(bus: Bus, group: str, message: Message, **more: Any) -> None:
            self.sent.append((group, dict(message)))
            send(bus, group, message, **more)

        def to_process(bus: Bus, process: str, group: str, message: Message) -> None:
            if "audience" in message:
                self.sent.append((f"reply-{message['audience']}", dict(message)))
            send_to(bus, process, group, message)

        patch.setattr(Bus, "send", to_group)
        patch.setattr(Bus, "send_to", to_process)

    def to_end_users(self) -> list[str]:
        """The messages to everybody but the debug audience."""
        return [json.dumps(message) for target, message in self.sent if not target.endswith("-debug")]

    def to_debug(self) -> list[str]:
        """The messages to the debug audience."""
        return [json.dumps(message) for target, message in self.sent if target.endswith("-debug")]


def hidden_steps(canary: Canary, names: Iterable[str] = (), *, without: str = "") -> list[Step]:
    """Frames with every hidden header (or those in ``names``, ``without`` one), in pieces, so that a marker is cut in two as tokens are."""
    steps: list[Step] = []
    for what, header in hidden_headers(canary).items():
        if (names and what not in names) or what == without:
            continue
        marker = canary.plant(f"streamed {what}")
        steps += [FrameOpened(header), FrameText(marker[:7]), FrameText(marker[7:]), FrameText(" and more\n\n"), FrameText(f"# {marker}")]
        steps.append(FrameClosed(Terminator.CALL if what == "tool call" else Terminator.END))
    return steps


def assert_allowed(raw: Iterable[str]) -> None:
    """Assert that every event of an end user's socket is in the reviewed list, with no other fields."""
    for event in (event for text in raw for event in json.loads(text)):
        assert event["type"] in END_USER_EVENTS, event["type"]
        assert set(event) <= END_USER_EVENTS[event["type"]], event
        for message in event.get("messages", ()):
            assert set(message) == _IN_A_SNAPSHOT


@database_sync_to_async
def open_debug_view(person: User, conversation: str) -> None:
    debug_requests.open_debug_view(Visitor(person, "127.0.0.1", "page"), conversation, "a fault was reported")
