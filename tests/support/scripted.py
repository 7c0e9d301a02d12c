"""A backend that plays raw events from a script, and can wait, fail or break off in the middle."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleRequest, Taker, Usage
from chatui.backends.spec import split_choice
from chatui.model_servers import connected
from renderer.errors import ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frames import Header, Terminator

ANALYSIS = Header("assistant", channel="analysis")
PREAMBLE = Header("assistant", channel="commentary", intent="preamble")
FINAL = Header("assistant", channel="final")
CALL = Header("assistant", channel="commentary", recipient="functions.lookup", call_id="c1", constrain="json")
REPLY = Header("tool", channel="commentary", recipient="assistant", name="functions.lookup", call_id="c1")

Step = RawEvent | SampleEnded | Exception | asyncio.Event


def frame(header: Header, text: str, terminator: Terminator = Terminator.END) -> list[RawEvent]:
    """A frame, with one event for each word."""
    return [FrameOpened(header), *(FrameText(word) for word in text.split(" ") for word in (word + " ",)), FrameClosed(terminator)]


def open_frame(header: Header, *texts: str) -> list[RawEvent]:
    """The beginning of a frame, which is still being written."""
    return [FrameOpened(header), *map(FrameText, texts)]


def called(header: Header, text: str = "{}", terminator: Terminator = Terminator.CALL) -> list[RawEvent]:
    """A call of a tool."""
    return frame(header, text, terminator)


def withdrawn(header: Header, text: str, code: ErrorCode | None = None) -> list[RawEvent]:
    """A frame whose text turns out not to be for people."""
    return [*open_frame(header, text), FrameWithdrawn(), FrameClosed(None, code)]


def more(text: str) -> RawEvent:
    """More text of the open frame."""
    return FrameText(text)


def withdrawal() -> RawEvent:
    """The text of the open frame is not for people after all."""
    return FrameWithdrawn()


def closed(code: ErrorCode | None = None) -> RawEvent:
    """The end of the open frame; with ``code``, of one that cannot be read."""
    return FrameClosed(Terminator.END if code is None else None, code)


def failure(code: ErrorCode, detail: str = "", **fields: Any) -> BackendError:
    """The model server refuses, or fails."""
    return BackendError(code, detail, **fields)


def cut(*steps: Sequence[Step], reason: str = "length") -> list[Step]:
    """These steps, after which the server ends the answer for another reason than that it is complete."""
    return [*(step for each in steps for step in each), ended(EndReason(reason))]


def ended(reason: EndReason = EndReason.STOP) -> SampleEnded:
    return SampleEnded(reason, Usage(10, 20), "scripted-model")


def answer(text: str = "Four.", thought: str = "simple arithmetic") -> list[Step]:
    return [*frame(ANALYSIS, thought), *frame(FINAL, text, Terminator.RETURN), ended()]


class ScriptedBackend(Backend):
    """Set ``script`` before a turn starts, and ``following`` for the samplings after the first.

    ``requests`` has all requests; ``closed`` counts samples that were cut.
    """

    name = "Scripted"
    kind = "scripted"
    is_demo = False

    def __init__(self) -> None:
        self.script: Sequence[Step] = answer()
        self.following: list[Sequence[Step]] = []
        self.requests: list[SampleRequest] = []
        self.closed = 0
        self.waiting = asyncio.Event()

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        self.requests.append(request)
        script = list(self.script)
        request.on_taken(True)
        if self.following:
            self.script = self.following.pop(0)
        try:
            for step in script:
                if isinstance(step, asyncio.Event):
                    self.waiting.set()
                    await step.wait()
                elif isinstance(step, Exception):
                    raise step
                elif isinstance(step, SampleEnded):
                    return step
                else:
                    take(step)
                    await asyncio.sleep(0)
            return SampleEnded(EndReason.STOP)
        except asyncio.CancelledError:
            self.closed += 1
            raise
        finally:
            request.on_taken(False)

    async def models(self) -> tuple[str, ...]:
        return ("scripted-model",)

    async def aclose(self) -> None:
        pass


class TitlingBackend(ScriptedBackend):
    """Answers, and plays ``titles`` when a title is requested."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.titles = ScriptedBackend()
        self.titles.script = answer(title, "HIDDEN-THOUGHT of a title")

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        is_for_title = request.frames[0].body.startswith("You name a conversation")
        return await (self.titles.sample(request, take) if is_for_title else super().sample(request, take))


def connect(monkeypatch: pytest.MonkeyPatch, backend: Backend, **others: Backend) -> None:
    """From now on every turn asks ``backend``, and ``others`` where it names one of these model servers."""
    monkeypatch.setattr(connected, "backend", lambda choice="": others.get(split_choice(choice)[0], backend))
