"""One test question to a model server: the frames of the answer as the real back end parsed it, and the raw bytes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field

from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleRequest
from chatui.backends.recording import Exchange, Recorder
from chatui.codes import ProductCode
from chatui.doctor.observed_bytes import Observed, observe
from renderer.events import Assembler
from renderer.frames import Channel, Frame, Intent
from renderer.gate import Audience, may_see, show

MAX_BYTES = 4 << 20
"""How much of an answer is stored. The rest is read and discarded."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one question. Its texts are not in the repr.

    ``status``: 0 if there was no response. ``error_text``: the message of a server that refused.
    ``is_flawed``: output was repaired or hidden because it broke a rule. ``is_recorded_whole``: ``observed`` covers all of it.
    """

    frames: tuple[Frame, ...] = field(repr=False)
    observed: Observed
    ended: SampleEnded | None = None
    error: BackendError | None = None
    status: int = 0
    error_text: str = field(default="", repr=False)
    is_flawed: bool = False
    is_recorded_whole: bool = True

    @property
    def answers(self) -> list[Frame]:
        """The visible frames."""
        return [frame for frame in self.frames if may_see(frame.header, Audience.END_USER)]

    @property
    def visible(self) -> str:
        """The visible text, in order."""
        return "".join(show(frame, Audience.END_USER) for frame in self.answers)

    @property
    def caught(self) -> list[Frame]:
        """The text that the leak guard removed from the answer."""
        return [frame for frame in self.frames if frame.header.intent == Intent.DEBUG]

    @property
    def thought(self) -> str:
        """The reasoning that arrived separately from the answer, in any field."""
        frames = (frame for frame in self.frames if frame.header.channel == Channel.ANALYSIS and frame.header.intent is None)
        return "\n\n".join([*(frame.body for frame in frames), self.observed.summary])

    @property
    def was_cut(self) -> bool:
        """Whether the back end treated it as cut by the length limit."""
        return self.ended is not None and self.ended.reason is EndReason.LENGTH


async def attempt(backend: Backend, request: SampleRequest, seconds: float) -> Trial:
    """Ask once, for at most ``seconds``. Never raises for what a server does; the connection is closed in any case."""
    recorder = Recorder(backend, max_bytes=MAX_BYTES)
    assembler, finished = Assembler(), []
    ended: SampleEnded | None = None
    error: BackendError | None = None
    try:
        async with asyncio.timeout(seconds), aclosing(backend.sample(request)) as events:
            async for event in events:
                if isinstance(event, SampleEnded):
                    ended = event
                elif done := assembler.feed(event):
                    finished.append(done)
    except BackendError as raised:
        error = raised
    except TimeoutError:
        error = BackendError(ProductCode.TIMEOUT, "the time for this question was up")
    if left := assembler.finish():
        finished.append(left)
    exchange = recorder.exchange or Exchange("POST", "", None)
    error_text = bytes(exchange.raw[:4000]).decode("utf-8", "replace") if exchange.status != 200 else ""
    return Trial(
        tuple(done.frame for done in finished),
        observe(exchange),
        ended,
        error,
        exchange.status,
        error_text,
        is_flawed=any(done.error for done in finished),
        is_recorded_whole=len(exchange.raw) < MAX_BYTES,
    )
