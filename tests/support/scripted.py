"""A backend that plays raw events from a script, and can wait, fail or break off in the middle."""

import asyncio
from collections.abc import Sequence

from chatui.backends.base import Backend, EndReason, SampleEnded, SampleRequest, Taker, Usage
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
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
