"""The interface of all model servers: a Backend that samples raw events.

No Django in this package: a backend can be tried from a plain script.
"""

from __future__ import annotations

import asyncio
import operator
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal, Protocol

from chatui.answer_formats import AnswerFormat
from chatui.backends.hosted_tools import HostedTools
from chatui.backends.route import DIRECT, Route
from chatui.backends.sample_facts import SampleFacts
from chatui.backends.separation import Known, Proofs, Separates
from chatui.backends.sse import number
from chatui.codes import Cause
from renderer.errors import Code, ErrorCode
from renderer.events import RawEvent
from renderer.frames import Frame
from renderer.harmony.prompt import FunctionTool
from renderer.strict_json import object_of

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
    """Reasoning as a server gave it, in its own fields or items.

    Hidden like reasoning. It is sent back unchanged, to this server only, before the first of the calls that it led to.
    """

    fields: dict[str, Any] = field(default_factory=dict, repr=False)
    """The fields of a message (Chat Completions)."""
    items: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """Whole output items (Responses)."""


def _ignored(*arguments: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """One request to a model."""

    frames: tuple[Frame, ...]
    """The history to send, system and developer frames included, as ``frames_for_prompt`` selects it: a backend leaves out only what its
    wire format cannot express."""
    model: str | None = None
    effort: Effort = "medium"
    max_tokens: int | None = None
    cut_answer: Frame | None = None
    """An answer that was cut: the sample continues its text, and the first answer that it opens holds only what is new. A backend that
    cannot continue it in the prompt asks for the rest in words, and drops what the model repeats. Its body is empty if there is no text
    yet: then the answer is always asked for in words. If the reasoning was cut, the prompt must never open the answer: the model would
    continue its reasoning there, visibly."""
    tools: tuple[FunctionTool, ...] = ()
    """The functions that the model may call, always in the same order, so that a server can reuse the beginning of the prompt."""
    sampling: Mapping[str, float] = field(default_factory=dict)
    """``temperature``, ``top_p`` and the like; what is missing is left to the server."""
    must_fit: bool = False
    """Nothing may be left out of a conversation that is too long; it fails."""
    must_call: bool = False
    """The sample is useless without a call. The frames tell the model so, and ``tool_choice`` tells servers that support it; if one
    refuses, the request is repeated without. Over token ids, any other message that the model opens is dropped, and a call is begun for it.
    Nothing here checks that there is a call."""
    answer_format: AnswerFormat | None = None
    """The required format of the answer, not of the text before it. The prompt states it, and the request too if the server can enforce it.
    Nothing here checks it."""
    asks_for_format: bool = True
    """Whether the request may state the format: if the server refuses, it is repeated without."""
    today: date | None = None
    """The date in the prompt, if the prompt is built here; None for the date of this machine's clock (UTC)."""
    given_back: Mapping[str, GivenReasoning] = field(default_factory=dict, compare=False, repr=False)
    """By call id, the reasoning before the call as the same server gave it; otherwise the reasoning is rebuilt from the frames."""
    counted: Mapping[Frame, int] = field(default_factory=dict, compare=False, repr=False)
    """The token counts of documents among the frames, where known."""
    hosted: HostedTools | None = field(default=None, compare=False, repr=False)
    """The tools that the server should run by itself, if it can; collects what the server reports about them."""
    thoughts: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Reasoning that the frames leave out, because it was cut, and that the model may still repeat."""
    wants_summary: bool = True
    """If False, no server is asked to summarize its reasoning, even if its summaries are trusted."""
    asked_at: float | None = None
    """When it was asked for the first time (monotonic), if it may be asked again: the limit for the first event is one for all."""
    on_sent: Callable[[str, bytes], None] = field(default=_ignored, compare=False, repr=False)
    """Called before the first event with the path and the exact JSON body of the request, which contains hidden text."""
    on_taken: Callable[[bool], None] = field(default=_ignored, compare=False, repr=False)
    """Called with True when the server has taken the request, and with False when its answer has ended or failed."""
    take_together: Callable[[Callable[[], bool]], bool] = field(default=operator.call, compare=False, repr=False)
    """Called with what passes on everything that was read together, and returns whether the answer ends with that; returns the same."""
    on_held: Callable[[], None] = field(default=_ignored, compare=False, repr=False)
    """Called when text of the answer comes that is shown only once all of it was checked."""
    facts: SampleFacts | None = field(default=None, compare=False, repr=False)
    """What is noted while the answer is read; None if nobody asks."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts from the server; None if it gave none."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """How many tokens of the prompt came from the server's cache."""
    reasoning_tokens: int | None = None
    """How many tokens of the completion are reasoning."""

    @classmethod
    def reported(cls, counts: Mapping[str, Any], prompt: str, written: str) -> Usage:
        """What a server reports under these names, with the details of each under the same name."""
        of_prompt, of_written = object_of(counts.get(f"{prompt}_details")), object_of(counts.get(f"{written}_details"))
        return cls(
            number(counts.get(prompt)),
            number(counts.get(written)),
            number(of_prompt.get("cached_tokens")),
            number(of_written.get("reasoning_tokens")),
        )


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How full a model's context is, in tokens."""

    size: int
    """How many the model can read at once. In the error for a question that is too long: how many would have fitted."""
    used: int
    """After an answer, an estimate of what the next request will use: the conversation without reasoning. In the error for a question that
    is too long, the question alone; in that for a conversation, 0, since nothing was counted."""


@dataclass(frozen=True, slots=True)
class SampleEnded:
    """How a sample ended that did not raise."""

    reason: EndReason
    usage: Usage | None = None
    model: str | None = None
    """The server's name for it, see ``discovery.own_name``."""
    turns_left_out: int = 0
    """How many of the oldest turns were not sent, because they did not fit."""
    context: ContextUse | None = None
    """None if the size is not known."""
    is_context_full: bool = False
    """Whether the answer was cut because the context was full."""
    reasoning: GivenReasoning | None = field(default=None, repr=False)
    """As the server gave it, if it called tools."""


class Taker:
    """Gets the raw events of a sample, in order. ``has_begun``: whether there were any, so that nothing may be asked for again."""

    def __init__(self, take: Callable[[RawEvent], None]) -> None:
        self.take = take
        self.has_begun = False

    def __call__(self, event: RawEvent) -> None:
        self.has_begun = True
        self.take(event)


Sample = Callable[[SampleRequest, Taker], Awaitable[SampleEnded]]
"""See ``Backend.sample``."""


@dataclass(frozen=True, slots=True)
class SampleLimits:
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
    """The address and settings of a model server."""

    url: str
    """With or without a trailing ``/v1``."""
    key: str | None = field(default=None, repr=False)
    """If it needs one; never in a repr."""
    model: str | None = None
    """The model to use if a request names none; None for the first that the server lists."""
    limits: SampleLimits = SampleLimits()
    context: int | None = None
    """How many tokens a prompt and its answer may have together; None to ask the server."""
    route: Route = DIRECT
    """How requests reach it."""
    wants_reasoning: bool = True
    """False to ask the server to withhold raw reasoning, if it can."""
    separates: Separates = "proved"
    """See ``separation``, also for ``proofs``."""
    trusts_summaries: bool = False
    """The server's reasoning summaries are requested, and marked as such: their headings may choose lines that people see. Several servers
    send the raw chain of thought under that name, so the operator decides."""
    proofs: Proofs | None = field(default=None, compare=False, repr=False)


class BackendError(Exception):
    """A model server failed. ``str()`` of this error is the code alone: neither a log nor a traceback quotes what the server sent."""

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
        self.code = code
        """Has the sentence for people."""
        self.detail = detail
        """For staff alone, since it may hold model output."""
        self.cause = Cause.of(code)
        """For admins."""
        self.evidence = ""
        """How the cause was recognised: a few words that quote nothing, such as "HTTP 401, invalid_api_key"."""
        self.status = ""
        """The status of HTTP; empty if there was no response."""
        self.context = context
        """For a question that is too long."""
        self.retryable = retryable
        """Nothing had arrived yet, and a retry may help."""
        self.retry_after = retry_after
        """In seconds."""

    def with_cause(self, cause: Cause, evidence: str = "") -> BackendError:
        """This error, with its cause and the evidence."""
        self.cause, self.evidence = cause, evidence
        return self

    @property
    def log_text(self) -> str:
        """The cause and its evidence, for logs and rows."""
        return self.cause.log_text(self.evidence)


def broken_off_with(error: BackendError | asyncio.CancelledError) -> ErrorCode:
    """The error to record on the frames that this failure left open. A cancelled sample counts as a stream that ended early."""
    return error.code if isinstance(error, BackendError) else Code.STREAM_TRUNCATED


class WatchedExchange(Protocol):
    """Gets the response to a request."""

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the response has arrived. ``headers``: by their names in small letters."""

    def read(self, piece: bytes) -> None:
        """More of its body was read; nothing at its end."""


Watcher = Callable[[str, str, bytes], WatchedExchange | None]
"""Observes requests on the wire, for recordings: called with the method, the path and the body of each, which contains
hidden text. Returns what gets the response, if anybody wants that."""


class Backend(ABC):
    """A model server and how to reach it.

    ``name``: its name on pages, such as ``Demo`` or ``llama.cpp at 127.0.0.1:8080``. ``kind``: its wire format, a key of
    ``registry.KINDS``. ``is_demo``: its answers are scripted; pages say so.
    """

    is_demo = False

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def kind(self) -> str: ...

    @abstractmethod
    def sample(self, request: SampleRequest, take: Taker) -> Awaitable[SampleEnded]:
        """Sample the model once; ``take`` gets each event. Every opened frame is closed, even if an error is raised.

        Cancelling the task, or an exception of ``take``, closes the upstream connection at once. Of a cancelled sample ``take`` still gets
        the last events: text that was buffered may withdraw text that was shown.

        Raises:
            BackendError: the server refused, failed, timed out or closed the stream early.
        """

    @abstractmethod
    async def models(self) -> tuple[str, ...]:
        """The model names that the server offers, the best default first; empty if it lists none.

        Raises:
            BackendError: the server cannot be reached.
        """

    async def can_continue(self) -> bool:
        """Whether its wire format can continue the text of an answer within the prompt (``SampleRequest.cut_answer``). Raises as
        ``models``."""
        return False

    async def aclose(self) -> None:  # noqa: B027 - the demo has nothing to close
        """Close the connections; those of a running sample once it is over. The backend may be used again afterwards."""

    def known_context(self, model: str | None) -> int | None:
        """How many tokens of prompt and answer together the model can read, if that is known. In any thread; never blocks."""
        return None

    def known_separations(self) -> dict[str, Known]:
        """How answers are read, as far as this process knows, by model; empty for a model without a name."""
        return {}

    def watch(self, watcher: Watcher) -> None:
        """Let ``watcher`` see each exchange from now on. Raises ValueError if this backend makes no requests."""
        raise ValueError("this backend makes no requests")
