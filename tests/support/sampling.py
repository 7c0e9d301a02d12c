"""Samples a backend to its end and collects the result."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from chatui.backends import registry
from chatui.backends.base import Backend, BackendError, Effort, Endpoint, SampleEnded, SampleLimits, SampleRequest, Taker
from chatui.turns.stages import ModelFrames, WayBack
from renderer.events import Assembler, Finished, RawEvent
from renderer.frames import Frame, Header, Role
from renderer.gate import Audience, may_see, show
from renderer.harmony.vocabulary import Vocabulary

# For tests in which only the machine can be slow, and for those that wait for a deadline.
PATIENT = SampleLimits(connect=120, first=120, idle=120, overall=240, discover=120, read_interval=0.001)
HASTY = SampleLimits(connect=1, first=1, idle=1, overall=6, discover=1, read_interval=0.001)


@dataclass
class Outcome:
    finished: list[Finished] = field(default_factory=list)
    ended: SampleEnded | None = None
    error: BackendError | None = None

    @property
    def visible(self) -> str:
        frames = [done.frame for done in self.finished if may_see(done.frame.header, Audience.END_USER)]
        return "".join(show(frame, Audience.END_USER) for frame in frames)

    @property
    def hidden(self) -> str:
        return "".join(done.frame.body for done in self.finished if not may_see(done.frame.header, Audience.END_USER))

    @property
    def calls(self) -> list[tuple[str | None, str]]:
        return [(done.frame.header.recipient, done.frame.body) for done in self.finished if done.frame.terminator == "<|call|>"]


def way_back(take: Callable[[RawEvent], None]) -> WayBack:
    """The way of a model's events in a turn that asks for nothing else: ``feed`` it with them, and ``take`` gets what the turn takes."""
    return WayBack([ModelFrames(())], take)


def sample_request(text: str, *before: Frame, effort: Effort = "medium", max_tokens: int | None = None) -> SampleRequest:
    return SampleRequest((*before, Frame(Header(Role.USER), text)), effort=effort, max_tokens=max_tokens)


class _SentError(Exception):
    """Ends a sample before anything is sent."""


def sent(kind: str, request: SampleRequest, vocabulary: Vocabulary | None = None, *, context: int | None = 1_000_000) -> dict[str, Any]:
    """The body with which ``request`` is made over a wire format. There is no server.

    ``vocabulary``: for token ids. ``context``: tokens of prompt and answer together; None if unknown.
    """

    def note(path: str, body: bytes) -> None:
        raise _SentError(body)

    async def ask() -> None:
        backend = _without_server(kind, context, vocabulary)
        try:
            await backend.sample(replace(request, on_sent=note), Taker(lambda _: None))
        finally:
            await backend.aclose()

    try:
        asyncio.run(ask())
    except _SentError as error:
        body: dict[str, Any] = json.loads(error.args[0])
        return body
    raise AssertionError("nothing was sent")


@cache
def _without_server(kind: str, context: int | None, vocabulary: Vocabulary | None) -> Backend:
    endpoint = Endpoint("http://127.0.0.1:9", model="m", context=context)
    return registry.build(endpoint, kind=kind, vocabulary=(lambda: vocabulary) if vocabulary else None)


async def outcome(backend: Backend, request: SampleRequest) -> Outcome:
    """Collect all frames. Fails if a frame that was opened was not closed, whatever happened."""
    result, assembler = Outcome(), Assembler()

    def take(event: RawEvent) -> None:
        assert result.ended is None, "something came after the end"
        if done := assembler.feed(event):
            result.finished.append(done)

    try:
        result.ended = await backend.sample(request, Taker(take))
    except BackendError as error:
        result.error = error
    assert assembler.finish() is None, "a frame was left open"
    assert (result.ended is None) != (result.error is None), "a sample ends or fails, one of the two"
    return result
