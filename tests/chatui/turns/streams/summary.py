"""A summary without its turn, a database or a model server: what people are shown of it, and what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import date
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from chatui.backends.spec import BackendSpec
from chatui.model_servers import connected
from chatui.turns import summarizing
from chatui.turns.ledger import Job
from chatui.turns.summarizing import Summarizing
from chatui.usage.counting import Attribution
from renderer.errors import ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame, Header, Role
from renderer.gate import VisibleText
from renderer.summary import frame

QUESTION = "How do I get to work fastest when it rains?"
FIRST, SECOND, THIRD = "Compared ways to work", "Weighed the rain", "Looked at the time"
HIDDEN = "marmoset gazelle zeppelin gondola walrus"
NUMBERS = ("apple", "bread", "cloud", "dream", "earth", "fruit", "green", "house", "image", "juice", "knife", "lemon", "music", "night")
MANY = [f"Thought of {word} and more" for word in NUMBERS]
Events = Sequence[RawEvent]


def written(text: str, header: Header = SUMMARY) -> Events:
    return (FrameOpened(header), FrameText(text[:5]), FrameText(text[5:]), FrameClosed(None))


class Summary:
    """A summary of a turn that answers QUESTION, and what people were shown of it."""

    def __init__(self, *frames: Frame, **fields: Any) -> None:
        self.shown: list[str] = []
        asked = Attribution(uuid4(), date(2026, 1, 1))
        branch = (Frame(Header(Role.USER), QUESTION), *frames)
        self.job = Job(uuid4(), uuid4(), asked.person_id, uuid4(), "owner", "high", asked, "one/large-model", branch)
        values = {"name": "one", "kind": "chat", "url": "http://127.0.0.1:9", "summaries": "server"} | fields
        self.summarizing = Summarizing(BackendSpec.model_validate(values), self.job, self._show)

    def _show(self, text: VisibleText) -> None:
        assert isinstance(text, VisibleText)
        self.shown.append(text)

    def take(self, *events: RawEvent) -> None:
        for event in events:
            self.summarizing.take(event)

    async def show_first(self) -> None:
        """Show the first line, so that the branch is indexed. The next ones then wait for their time."""
        self.take(*written(FIRST))
        await until(lambda: self.shown == [FIRST])

    def stored(self) -> list[tuple[str, str, ErrorCode | None]]:
        """The role in the summary, the text and the code of each frame to store."""
        kinds = {frame.ASIDE: "blocked", SUMMARY: "steps"}
        return [(kinds[one.frame.header], one.frame.body, one.error) for one in self.summarizing.finish()]


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not reached():
            await asyncio.sleep(0.001)


async def wait_a_little() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def in_this_thread(function: Callable[..., object], *arguments: object) -> object:
    """Stands in for a pool of threads, whose threads would open a database."""
    return function(*arguments)


@pytest.fixture
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back ends are known by the choices that they were looked up with."""
    monkeypatch.setattr(connected, "spec_of", lambda choice: choice)
    monkeypatch.setattr(connected, "backend", lambda choice: SimpleNamespace(name=f"the back end of {choice}"))
    monkeypatch.setattr(summarizing, "pools", SimpleNamespace(turns=SimpleNamespace(run=in_this_thread)))


@pytest.fixture(autouse=True)
def pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause, except that the line after a shown one would wait for a minute."""
    for name, seconds in {"FIRST_SECONDS": 0.0, "STEP_SECONDS": 60.0, "POLL_SECONDS": 0.0}.items():
        monkeypatch.setattr(summarizing, name, seconds)
