"""A frame recorder between stand-ins for the writer, the pages and the summary."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from chatui.backends.base import SampleRequest
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.turns import frame_recorder
from chatui.turns.frame_recorder import FrameRecorder
from chatui.turns.running_turn import RunningTurn
from chatui.turns.stages import ModelFrames, WayBack
from renderer.activities.activity import Activity
from renderer.errors import ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Header, Terminator
from tests.support.turns import ask

Post = tuple[str, list[str], tuple[UUID, ...], list[UUID]]
"""What was to be stored: how, the texts, the possible parents and the keys."""


def unstored(choice: str = "", effort: str = "high", program: Any = None, **fields: Any) -> RunningTurn:
    """A turn that is in no database. Its first request has those of the ``fields`` that a turn does not have itself."""
    begun_at = datetime(2026, 1, 1, tzinfo=UTC)
    row = Turn(conversation=Conversation(owner_id=uuid4()), question_id=uuid4(), asked_by_id=uuid4(), started_at=begun_at)
    row.lease_owner, row.choice, row.effort = "owner", choice, effort
    request = SampleRequest(**{"frames": ()} | {name: fields.pop(name) for name in fields.keys() - RunningTurn.__slots__})
    return RunningTurn(row, None, ask(text="", effort=effort, program=program), request=request, **fields)


class Recording:
    """A recorder between stand-ins for all that it writes to."""

    def __init__(self, **fields: Any) -> None:
        self.job = unstored(**fields)
        self.posts: list[Post] = []
        self.saving: list[asyncio.Future[list[Message]]] = []
        self.published: list[tuple[RawEvent, UUID]] = []
        self.summarized: list[RawEvent] = []
        self.failures: list[BaseException] = []
        self.summary: list[Activity] = []
        self.late_summary: list[Activity] = []
        self.pieces = self.job.pieces
        publisher: Any = SimpleNamespace(take=lambda event, key: self.published.append((event, key)))
        summary = self._summary()
        self.recorder = FrameRecorder(self.job, publisher, summary, self.failures.append)
        self.way_back = WayBack([ModelFrames(self.job.call_ids), summary, self.recorder.before_cut], self.recorder.feed)

    def _summary(self) -> Any:
        async def aclose() -> None:
            self.summarized.clear()
            self.summary += self.late_summary

        def feed(event: RawEvent) -> list[RawEvent]:
            self.summarized.append(event)
            return [event]

        def lines() -> list[Activity]:
            found, self.summary = self.summary, []
            return found

        return SimpleNamespace(feed=feed, finish=lambda: (), lines=lines, aclose=aclose)

    def post(self, keep: Any, job: RunningTurn, parents: tuple[UUID, ...], *written: Any, order: UUID) -> asyncio.Future[list[Message]]:
        assert (job, order) == (self.job, self.job.turn.pk)
        match written:
            case (frames,):
                self.posts.append((keep.__name__, [one.frame.body for _, one in frames], parents, [key for key, _ in frames]))
            case key, lines:
                self.posts.append((keep.__name__, [line.sentence for line in lines], parents, [key]))
        self.saving.append(asyncio.get_running_loop().create_future())
        return self.saving[-1]

    def feed(self, header: Header, text: str = "", end: Terminator | None = Terminator.END, error: ErrorCode | None = None) -> None:
        for event in (FrameOpened(header), FrameText(text), FrameClosed(end, error)):
            self.way_back.feed(event)
        self.way_back.finish()

    def texts(self) -> list[list[str]]:
        return [texts for _, texts, *_ in self.posts]


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Recording:
    return start(monkeypatch)


def start(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> Recording:
    found = Recording(**fields)
    monkeypatch.setattr(frame_recorder, "writer", SimpleNamespace(post=found.post))
    return found
