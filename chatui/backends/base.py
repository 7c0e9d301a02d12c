"""The interface that every model server has for the rest of the product: a Backend that samples raw events.

No Django in this package: a back end can be tried from a plain script.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from renderer.errors import ErrorCode
from renderer.events import RawEvent
from renderer.frames import Frame

Effort = Literal["low", "medium", "high"]


class EndReason(StrEnum):
    """Why a sample ended. ``LENGTH`` means that the answer was cut."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """One request to a model. ``frames`` is the history the model may see again, system and developer frames included.

    ``cut_answer`` is an answer that was cut: the sample continues its text, and the first answer that it opens holds only what is new.
    A back end that cannot put the model back into it asks for the rest in words, and leaves out what the model repeats. Its body is empty
    where there is no text yet: then the answer is always asked for in words. A model whose reasoning was cut must never be put straight
    into the answer: it would go on reasoning there, for everybody to read.
    ``on_sent`` hears, before the first event, what is sent: the path and the exact JSON body. It holds hidden text.
    """

    frames: tuple[Frame, ...]
    model: str | None = None
    effort: Effort = "medium"
    max_tokens: int | None = None
    cut_answer: Frame | None = None
    on_sent: Callable[[str, bytes], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SampleEnded:
    """Always the last event of a sample that did not raise. ``model`` is the name that the server gave itself.

    ``turns_left_out``: how many of the oldest turns the model was not shown, because they did not fit.
    """

    reason: EndReason
    usage: Usage | None = None
    model: str | None = None
    turns_left_out: int = 0


SampleEvent = RawEvent | SampleEnded


@dataclass(frozen=True, slots=True)
class Limits:
    """How long (seconds) and how much a sample may take. A server that drips a byte at a time meets ``idle`` and ``overall``."""

    connect: float = 10.0
    first: float = 300.0
    idle: float = 60.0
    overall: float = 1800.0
    discover: float = 3.0
    max_output_chars: int = 1_000_000
    max_line_bytes: int = 1 << 20
    max_error_bytes: int = 8 << 10
    read_interval: float = 0.03


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model server is and how it is asked: ``url`` with or without a trailing ``/v1``, ``key`` (in no repr) where it needs one.

    ``model``: the name to ask for, where a request names none; None for the first that the server names.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    model: str | None = None
    limits: Limits = Limits()


class BackendError(Exception):
    """A model server failed. ``code`` carries the sentence for people; ``detail`` may hold model output and is for staff only.

    ``retryable`` says that nothing had come yet and that asking again, after ``retry_after`` seconds, may help. ``str()`` of this
    error is the code alone, so that a log or a traceback does not quote what the server sent.
    """

    def __init__(self, code: ErrorCode, detail: str = "", *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.detail = detail
        self.retryable = retryable
        self.retry_after = retry_after


class Backend(Protocol):
    """A model server and how to reach it."""

    @property
    def name(self) -> str:
        """What pages call it, such as ``Demo`` or ``llama.cpp at 127.0.0.1:8080``."""
        ...

    @property
    def kind(self) -> str:
        """Its wire format: a key of ``chatui.backends.registry``."""
        ...

    @property
    def is_demo(self) -> bool:
        """Whether its answers are scripted; pages say so."""
        ...

    def sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        """Ask the model once. Every frame that is opened is closed, also before an error is raised.

        ``aclose()`` of the generator, or cancelling the task that waits in it, closes the upstream connection at once.

        Raises:
            BackendError: the server refused, failed, was silent or broke off.
        """
        ...

    async def models(self) -> tuple[str, ...]:
        """The names that the server offers, the best default first; empty where it does not say.

        Raises:
            BackendError: the server cannot be reached.
        """
        ...

    async def aclose(self) -> None:
        """Give up connections, those of a running sample once it is over. The back end may be used again afterwards."""
        ...
