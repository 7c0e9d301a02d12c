"""How an answer came, and what the server said around its text: noted only for those who examine a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chatui.backends.sse import ServerSentEvent

Feed = Callable[[list[ServerSentEvent]], bool]


class Counting(Protocol):
    """Reads a sample and counts its text, before anything of it is held or hidden."""

    @property
    def chars(self) -> int: ...


@dataclass(slots=True)
class SampleFacts:
    """Facts about one sample, which a backend notes while it reads. None of them is text of a model."""

    asked_at: float = 0.0
    """When the request was sent (monotonic); of several, the last one."""
    was_taken: bool = False
    """Whether the server answered with status 200."""
    is_whole: bool = False
    """Whether it answered with one JSON body instead of a stream."""
    reported_end: str = ""
    """The server's word for how the answer ended."""
    chars: int = 0
    """The length of all text, reasoning and arguments of calls included."""
    pieces: int = 0
    """The number of events that added to it."""
    reads: int = 0
    """In how many reads these arrived."""
    began: float | None = None
    """When the first of them came, in seconds since the request."""
    ended: float | None = None
    """When the last of them came, likewise."""
    ids: int = 0
    """The number of token ids."""
    repeats: bool = False
    """Whether each text of the answer holds those before it."""

    def sent(self, path: str, body: bytes) -> None:
        """``SampleRequest.on_sent``."""
        self.asked_at, self.was_taken = time.monotonic(), False

    def taken(self, is_taken: bool) -> None:
        """``SampleRequest.on_taken``."""
        self.was_taken |= is_taken

    def noting(self, feed: Feed, counting: Counting) -> Feed:
        """``feed``, but with one event at a time, after each of which it is noted whether there is more text."""

        def noted(events: list[ServerSentEvent]) -> bool:
            seconds, before = time.monotonic() - self.asked_at, self.pieces
            is_over = False
            for batch in [[event] for event in events] or [[]]:
                is_over = feed(batch)
                self.pieces += counting.chars > self.chars
                self.chars = counting.chars
                if is_over:
                    break
            if self.pieces > before:
                self.began, self.ended = seconds if self.began is None else self.began, seconds
                self.reads += 1
            return is_over

        return noted
