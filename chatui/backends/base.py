"""The interface of all model servers: a Backend that samples raw events.

No Django in this package: a back end can be tried from a plain script.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal, Protocol

from chatui.backends.hosted.tools import HostedTools
from chatui.backends.http1.route import DIRECT, Route
from chatui.json_schemas.answer_format import AnswerFormat
from renderer.errors import Code, ErrorCode
from renderer.events import RawEvent
from renderer.frames import Frame
from renderer.harmony.system_messages import FunctionTool

Effort = Literal["low", "medium", "high"]


class EndReason(StrEnum):
    """Why a sample ended. ``LENGTH`` means that the answer was cut."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class GivenReasoning:
    """Reasoning as a server gave it, in its own fields: ``fields`` of a message (Chat Completions), or whole ``items`` (Responses).

    Hidden like reasoning. The server gets it back unchanged before the first of the calls that it led to, and nobody else gets it.
    """

    fields: dict[str, Any] = field(default_factory=dict, repr=False)
    items: tuple[dict[str, Any], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """One request to a model. ``frames`` is the history the model may see again, system and developer frames included.

    ``cut_answer`` is an answer that was cut: the sample continues its text, and the first answer that it opens holds only what is new.
    A back end that cannot continue it in the prompt asks for the rest in words, and drops what the model repeats. Its body is empty if
    there is no text yet: then the answer is always asked for in words. If the reasoning was cut, the prompt must never open the answer:
    the model would go on reasoning there, for everybody to read.
    ``tools``: the functions that the model may call, always in the same order, so that a server can reuse the beginning of the prompt.
    ``must_call``: the sample is of no use without a call. The frames say so to the model, and servers that take a choice of tools are told
    to hold it to that; one that refuses is asked without. Over token ids what the model opens instead is dropped, and a call begun for it.
    Nothing here checks that one came.
    ``sampling``: ``temperature``, ``top_p`` and the like, where they are not left to the server. ``must_fit``: nothing may be left out of a
    conversation that is too long; it fails as a question that is too long does.
    ``given_back``: by the id of a call, the reasoning before it as the same server gave it; without it, it is written anew from the frames.
    ``answer_format``: what the answer has to be, and nothing before it. It is told to the model, and to the server where that can hold the
    model to it; a server that refuses it is asked without. Nothing here checks it.
    ``today``: the date that the model is told where the prompt is written here; None for that of the server's clock (UTC).
    ``counted``: how many tokens documents among the frames have, where that is known.
    ``hosted``: the tools that the server is to run by itself, where it can; it gathers what the server says of them.
    ``wants_summary``: False, and no server is asked to sum up its reasoning, whatever it is trusted with.
    ``on_sent`` is called before the first event with what is sent: the path and the exact JSON body. It contains hidden text.
    """

    frames: tuple[Frame, ...]
    model: str | None = None
    effort: Effort = "medium"
    max_tokens: int | None = None
    cut_answer: Frame | None = None
    tools: tuple[FunctionTool, ...] = ()
    sampling: Mapping[str, float] = field(default_factory=dict)
    must_fit: bool = False
    must_call: bool = False
    answer_format: AnswerFormat | None = None
    today: date | None = None
    given_back: Mapping[str, GivenReasoning] = field(default_factory=dict, compare=False, repr=False)
    counted: Mapping[Frame, int] = field(default_factory=dict, compare=False, repr=False)
    hosted: HostedTools | None = field(default=None, compare=False, repr=False)
    wants_summary: bool = True
    on_sent: Callable[[str, bytes], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts from the server; None if it gave none. ``cached_tokens`` are those of the prompt that it had already."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How many tokens a model can read at once (``size``), and how many of them are used.

    After an answer, ``used`` is about what the next question finds there: the conversation without reasoning. With an error that says
    that a question is too long, ``used`` is the question alone, and ``size`` what would have fitted.
    """

    size: int
    used: int


@dataclass(frozen=True, slots=True)
class SampleEnded:
    """Always the last event of a sample that did not raise. ``model`` is what the server calls it, see ``FoundServer``.

    ``turns_left_out``: how many of the oldest turns the model was not shown, because they did not fit. ``context``: None if the size is
    not known. ``is_context_full``: the answer was cut because there was no more room in it. ``reasoning``: as the server gave it, if it
    called tools.
    """

    reason: EndReason
    usage: Usage | None = None
    model: str | None = None
    turns_left_out: int = 0
    context: ContextUse | None = None
    is_context_full: bool = False
    reasoning: GivenReasoning | None = field(default=None, repr=False)


SampleEvent = RawEvent | SampleEnded


@dataclass(frozen=True, slots=True)
class Limits:
    """How long (seconds) and how much a sample may take. ``idle`` and ``overall`` stop a server that sends one byte at a time."""

    connect: float = 10.0
    first: float = 300.0
    idle: float = 60.0
    overall: float = 1800.0
    discover: float = 3.0
    max_output_chars: int = 1_000_000
    max_line_bytes: int = 1 << 20
    max_error_bytes: int = 8 << 10
    read_interval: float = 0.05


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model server is: ``url`` with or without a trailing ``/v1``, ``key`` (never in a repr) if it needs one.

    ``model``: the model to use if a request names none; None for the first that the server lists. ``context``: how many tokens a prompt and
    its answer may have together; None to ask the server. ``route``: how requests reach it.
    ``wants_reasoning``: False to ask the server to keep raw reasoning to itself, where it can.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    model: str | None = None
    limits: Limits = Limits()
    context: int | None = None
    route: Route = DIRECT
    wants_reasoning: bool = True


class BackendError(Exception):
    """A model server failed. ``code`` carries the sentence for people; ``detail`` may hold model output and is for staff only.

    ``retryable``: nothing had arrived yet, and a retry after ``retry_after`` seconds may help. ``context``: for a question that is too
    long. ``cause``: a few words of the product's own for admins, which quote nothing, such as "HTTP 401, invalid_api_key". ``str()`` of
    this error is the code alone, so that a log or a traceback does not quote what the server sent.
    """

    def __init__(
        self,
        code: ErrorCode,
        detail: str = "",
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        context: ContextUse | None = None,
    ) -> None:
        super().__init__(code.value)
        self.cause = ""
        self.context = context
        self.code = code
        self.detail = detail
        self.retryable = retryable
        self.retry_after = retry_after

    def because(self, cause: str) -> BackendError:
        """This error, with its ``cause``."""
        self.cause = cause
        return self


def broken_off_with(error: BackendError | asyncio.CancelledError) -> ErrorCode:
    """What is wrong with the frames that this left open. A sample that is cancelled is a stream that ended early."""
    return error.code if isinstance(error, BackendError) else Code.STREAM_TRUNCATED


class Backend(Protocol):
    """A model server and how to reach it."""

    @property
    def name(self) -> str:
        """Its name on pages, such as ``Demo`` or ``llama.cpp at 127.0.0.1:8080``."""
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
        """Ask the model once. Every opened frame is closed, even if an error is raised.

        ``aclose()`` of the generator, or cancelling the task that waits in it, closes the upstream connection at once. A task that is
        cancelled still gets the last events before the CancelledError: what was held back may withdraw what was shown. Take them all.

        Raises:
            BackendError: the server refused, failed, timed out or closed the stream early.
        """
        ...

    async def models(self) -> tuple[str, ...]:
        """The model names that the server offers, the best default first; empty if it lists none.

        Raises:
            BackendError: the server cannot be reached.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections; those of a running sample once it is over. The back end may be used again afterwards."""
        ...
