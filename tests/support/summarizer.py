"""A model server and a summarizer for tests: the one thinks until it is released, the other names kinds of work."""

import asyncio
import json
import re
from collections.abc import Sequence

import pytest

from chatui.backends.base import Backend, EndReason, SampleEnded, SampleRequest, Taker
from chatui.backends.spec import BackendSpec, split_choice
from chatui.model_servers import connected
from renderer.activities import lines
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Terminator
from tests.support.limits import set_limits
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, Step, frame

QUESTION = "Compare trains and bicycles: how do I get to work fastest when it rains?"
THOUGHT = (
    "The person has two options for the way to work, so I compare them. On one hand, the train is faster than the bicycle on most days. "
    "On the other hand, the difference between them is small in the rain, compared to walking. The train is more expensive, whereas the "
    "bicycle costs nothing. Comparing the two at eight o'clock: the train needs half an hour, versus forty minutes for the bicycle. "
    "In comparison, a bus is cheaper than the train, but slower than either. "
)
"""Reasoning that is read as ``compare``."""
COMPARING = "Comparing trains and bicycles"
"""The line about it, in English."""

Says = str | float | Exception | Sequence[RawEvent | SampleEnded]


class Summarizer(Backend):
    """Plays one of ``says`` for each request, then repeats the last: the name of a kind, other text, seconds of silence, an error, or raw
    events."""

    name, kind, is_demo = "Summarizer", "scripted", False

    def __init__(self, *says: Says) -> None:
        self.says = list(says)
        self.requests: list[SampleRequest] = []
        self.running = self.max_running = 0
        self.broken_off = 0

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        self.requests.append(request)
        self.running += 1
        self.max_running = max(self.running, self.max_running)
        try:
            for step in self._script(request):
                if isinstance(step, float):
                    await asyncio.sleep(step)
                elif isinstance(step, Exception):
                    raise step
                elif isinstance(step, SampleEnded):
                    return step
                else:
                    take(step)
            return SampleEnded(EndReason.STOP)
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        finally:
            self.running -= 1

    def _script(self, request: SampleRequest) -> Sequence[RawEvent | SampleEnded | float | Exception]:
        says = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(says, str):
            return says_text(numbered(request, says))
        return [says] if isinstance(says, (float, Exception)) else says

    async def models(self) -> tuple[str, ...]:
        return ("small-model",)

    async def aclose(self) -> None:
        pass


def numbered(request: SampleRequest, sentence: str) -> str:
    """The answer that names the kind with this sentence, if the request lists it; else the text itself."""
    found = re.search(rf"^(\d+)\. {re.escape(sentence)}$", request.frames[-1].body, re.MULTILINE) if sentence else None
    return json.dumps({"kind": int(found[1])}) if found else sentence


def says_text(text: str) -> list[RawEvent | SampleEnded]:
    thought: list[RawEvent] = [FrameOpened(ANALYSIS), FrameText("I choose a number."), FrameClosed(Terminator.END)]
    return [*thought, FrameOpened(FINAL), FrameText(text), FrameClosed(Terminator.RETURN), SampleEnded(EndReason.STOP)]


TICKS = tuple(0.3 * number for number in range(1, 9))


def quick(patch: pytest.MonkeyPatch, ticks: Sequence[float] = TICKS) -> None:
    """Let lines appear at these seconds of a turn."""
    patch.setattr(lines, "TICKS", tuple(ticks))
    set_limits(patch, "chatui.turns", ASK_AHEAD=0.2)


def install(patch: pytest.MonkeyPatch, model: ScriptedBackend, summarizer: Summarizer | None = None, **fields: object) -> None:
    """Have turns answered by ``model`` and summarized by ``summarizer``, or by built-in code. The pauses are short."""
    values: dict[str, object] = {"name": "big", "kind": "demo", "summaries": "built-in"}
    if summarizer is not None:
        values |= {"summaries": "model", "summarizer": "small/small-model"}
    known = BackendSpec.model_validate(values | fields)
    others = {"small": summarizer}
    patch.setattr(connected, "spec_of", lambda choice="": known)
    patch.setattr(connected, "backend", lambda choice="": others.get(split_choice(choice)[0]) or model)
    quick(patch)


def thinks(*gates: asyncio.Event, answer: str = "Take the bicycle.", thought: str = THOUGHT) -> list[Step]:
    """A turn that thinks, waits at each gate, thinks again, and answers."""
    steps: list[Step] = [FrameOpened(ANALYSIS), FrameText(thought)]
    for gate in gates:
        steps += [gate, FrameText(thought)]
    return [*steps, FrameClosed(Terminator.END), *frame(FINAL, answer, Terminator.RETURN), SampleEnded(EndReason.STOP)]
