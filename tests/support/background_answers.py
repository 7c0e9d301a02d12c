"""Answers that a process records for programs which follow them later: as that process has them, and as another process follows them."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from chatui.api import recordings, recordings_elsewhere
from chatui.api.recordings_elsewhere import LostError as LostError
from chatui.models.programs import ProgramAnswer
from tests.support.limits import limit

GROUP = limit("chatui.api", "GROUP")
OTHER = "another process"


def forget(*responses: str) -> None:
    """Drop the recordings of these responses, or of all, as some time after their end."""
    for each in [UUID(response.removeprefix("resp_")) for response in responses] or ProgramAnswer.objects.values_list("pk", flat=True):
        recordings.forget(each)


def be_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """From now on this process records nothing that it could find, as if another one wrote the answers."""
    patch.setattr(recordings, "recording_of", lambda key: None)


@contextmanager
def many_readers(owner: UUID) -> Iterator[None]:
    """Meanwhile this person's responses have as many readers as they may."""
    recordings.readers[owner] = limit("chatui.api", "MAX_READERS")
    try:
        yield
    finally:
        del recordings.readers[owner]


class OtherProcess:
    """The other process, with a recording of at most ``most`` events at once, or without one if it ``has_none``; and the bus between both.

    ``loses`` decides whether a message is lost; if it ``repeats``, each arrives twice.
    """

    reaches_others = True
    views_hidden = False

    def __init__(self) -> None:
        self.most, self.read_to, self.has_none = 5000, 0, False
        self.receivers: dict[str, Any] = {}
        self.is_settled = asyncio.Event()
        self.is_settled.set()
        self.loses: Callable[[dict[str, Any]], bool] = lambda message: False
        self.repeats = False
        self.sent: deque[dict[str, Any]] = deque()

    def replies(self) -> None:
        """Let it answer."""
        recordings_elsewhere.listen()

    async def ask(self) -> bool:
        """Whether it has the recording. Raises LostError."""
        return await recordings_elsewhere.find(uuid4(), OTHER, uuid4()) is not None

    def followed(self, after: int = -1, wait: float = 5.0) -> AsyncGenerator[dict[str, Any] | None, None]:
        """What a reader in this process gets of the recording."""
        reader = recordings_elsewhere.FollowedElsewhere(uuid4(), OTHER, uuid4(), views_hidden=False)
        return reader.follow(after, lambda: wait)

    # As the product uses a recording.

    async def follow(self, after: int, wait: Callable[[], float]) -> AsyncIterator[dict[str, int]]:
        for number in range(after + 1, self.most):
            self.read_to = max(self.read_to, number)
            yield {"sequence_number": number}

    # As it uses the bus.

    def join(self, group: str, receive: Any) -> None:
        self.receivers[group] = receive

    def leave(self, group: str, receive: Any) -> None:
        self.receivers.pop(group, None)

    def is_heard(self, group: str) -> bool:
        return group in self.receivers

    async def settled(self) -> None:
        await self.is_settled.wait()

    def send_to(self, process: str, group: str, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if not self.loses(message) and group in self.receivers:
            for _ in range(1 + self.repeats):
                asyncio.get_running_loop().call_soon(self.receivers[group], group, message)


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> OtherProcess:
    """Another process that has a recording."""
    found = OtherProcess()
    monkeypatch.setattr(recordings_elsewhere, "bus", lambda: found)
    monkeypatch.setattr(recordings, "recording_of", lambda key: None if found.has_none else found)
    return found
