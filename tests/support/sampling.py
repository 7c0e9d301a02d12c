"""Samples a backend to its end and collects the result."""

from dataclasses import dataclass, field

from chatui.backends.base import Backend, BackendError, Effort, SampleEnded, SampleLimits, SampleRequest, Taker
from renderer.events import Assembler, Finished, RawEvent
from renderer.frames import Frame, Header, Role
from renderer.gate import Audience, may_see, show

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


def sample_request(text: str, *before: Frame, effort: Effort = "medium", max_tokens: int | None = None) -> SampleRequest:
    return SampleRequest((*before, Frame(Header(Role.USER), text)), effort=effort, max_tokens=max_tokens)


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
