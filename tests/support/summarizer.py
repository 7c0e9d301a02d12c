"""A model server and a summarizer for tests: the one thinks until it is released, the other plays scripted lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from chatui.backends.base import EndReason, SampleEnded, SampleEvent, SampleRequest
from chatui.backends.spec import BackendSpec, split_choice
from chatui.model_servers import connected
from chatui.turns import summarizing
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Terminator
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, Step, frame

THOUGHT = (
    "The user wants to know the fastest way to work. I weigh the train against the bicycle and against walking all the way there, "
    "and I see that rain slows the roads down a lot in the morning hours. "
)

_PROPOSE = summarizing.Summarizing._propose

Says = str | float | Exception | Sequence[SampleEvent]


class Summarizer:
    """Plays one of ``says`` for each request, then repeats the last: a line, seconds of silence, an error, or raw events."""

    name, kind, is_demo = "Summarizer", "scripted", False

    def __init__(self, *says: Says) -> None:
        self.says = list(says)
        self.reviews = "allow"
        self.requests: list[SampleRequest] = []
        self.running = self.max_running = 0
        self.broken_off = 0
        self.judged = 0
        """How many of its lines the product has shown or blocked."""

    async def sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        self.requests.append(request)
        self.running += 1
        self.max_running = max(self.running, self.max_running)
        try:
            for step in self._script(request):
                if isinstance(step, float):
                    await asyncio.sleep(step)
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        except (asyncio.CancelledError, GeneratorExit):
            self.broken_off += 1
            raise
        finally:
            self.running -= 1

    def _script(self, request: SampleRequest) -> Sequence[SampleEvent | float | Exception]:
        if "decide whether one progress line" in request.frames[0].body:
            return _line(self.reviews)
        text = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(text, str):
            return _line(text)
        return [text] if isinstance(text, (float, Exception)) else text

    async def models(self) -> tuple[str, ...]:
        return ("small-model",)

    async def aclose(self) -> None:
        pass


def _line(text: str) -> list[SampleEvent]:
    thought: list[SampleEvent] = [FrameOpened(ANALYSIS), FrameText("I write a line."), FrameClosed(Terminator.END)]
    return [*thought, FrameOpened(FINAL), FrameText(text), FrameClosed(Terminator.RETURN), SampleEnded(EndReason.STOP)]


def install(patch: pytest.MonkeyPatch, model: ScriptedBackend, summarizer: Summarizer | None, **fields: object) -> None:
    """Have turns answered by ``model`` and, if given, summarized by ``summarizer``. The pauses are short."""
    values: dict[str, object] = {"name": "big", "kind": "demo", "summaries": "none"}
    if summarizer is not None:
        values |= {"summaries": "model", "summarizer": "small/small-model", "summary_review": False}
    known = BackendSpec.model_validate(values | fields)

    others = {"small": summarizer}
    patch.setattr(connected, "spec_of", lambda choice="": known)
    patch.setattr(connected, "backend", lambda choice="": others.get(split_choice(choice)[0]) or model)

    async def propose(self: summarizing.Summarizing, candidate: str) -> bool:
        is_shown = await _PROPOSE(self, candidate)
        if summarizer is not None:
            summarizer.judged += 1
        return is_shown

    patch.setattr(summarizing.Summarizing, "_propose", propose)
    for name, seconds in {"FIRST_SECONDS": 0.0, "STEP_SECONDS": 0.02, "POLL_SECONDS": 0.01}.items():
        patch.setattr(summarizing, name, seconds)


def thinks(*gates: asyncio.Event, answer: str = "Take the bicycle.", thought: str = THOUGHT) -> list[Step]:
    """A turn that thinks, waits at each gate, thinks again, and answers."""
    steps: list[Step] = [FrameOpened(ANALYSIS), FrameText(thought)]
    for gate in gates:
        steps += [gate, FrameText(thought)]
    return [*steps, FrameClosed(Terminator.END), *frame(FINAL, answer, Terminator.RETURN), SampleEnded(EndReason.STOP)]
