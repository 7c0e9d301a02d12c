"""The base of the backends that read text, in either format: asks within the context window, and reads the stream.

A format adds its request, and a reader that makes raw events of the events of its stream.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

from chatui.backends.answer_format import in_words, sample_in_format
from chatui.backends.base import BackendError, EndReason, GivenReasoning, Sample, SampleEnded, SampleRequest, Taker, Usage, broken_off_with
from chatui.backends.context_fitting import Attempt, attempt, sample_attempts, without_last_reasoning
from chatui.backends.continuation import continue_in_words
from chatui.backends.discovery import DetectedServer
from chatui.backends.failures import error_of_body
from chatui.backends.http import Progress
from chatui.backends.joining import Repetitions, joined
from chatui.backends.leaks.labels import Asked
from chatui.backends.separation import Read
from chatui.backends.sse import ServerSentEvent, decoded
from renderer.errors import ErrorCode
from renderer.events import RawEvent
from renderer.frame_kinds import is_reasoning

_log = logging.getLogger(__name__)


class TextBackend(DetectedServer):
    """The base of the backends that read text. ``path``: where they ask."""

    path: ClassVar[str]

    def sample(self, request: SampleRequest, take: Taker) -> Awaitable[SampleEnded]:
        request = in_words(request)
        return self._continued(request, take) if request.cut_answer else self._within(request, take, self._sample)

    def _continued(self, request: SampleRequest, take: Taker) -> Awaitable[SampleEnded]:
        """Ask in words for the rest of a cut answer."""
        return self._within(without_last_reasoning(request), take, partial(continue_in_words, sample=self._sample))

    def _within(self, request: SampleRequest, take: Taker, sample: Sample) -> Awaitable[SampleEnded]:
        async def plan(max_weight: float | None) -> Attempt:
            return await attempt(await self._window(request.model), request, max_weight, sample)

        return sample_attempts(plan, take)

    def _sample(self, request: SampleRequest, take: Taker) -> Awaitable[SampleEnded]:
        return sample_in_format(request, take, self._sample_once)

    @abstractmethod
    async def _prepared(self, request: SampleRequest) -> tuple[dict[str, Any], StreamReader]:
        """The body of one request, as it is, and the reader of its answer."""

    async def _sample_once(self, request: SampleRequest, take: Taker) -> SampleEnded:
        """One request, as it is sent. ``take`` gets each event as it comes; if the request fails or is cancelled, what was held back comes
        before the error is raised."""
        payload, reader = await self._prepared(request)
        parser, model, is_hidden = reader.parser, payload.get("model"), True

        def feed(events: Sequence[ServerSentEvent]) -> bool:
            nonlocal is_hidden
            reader.feed(events, take)
            if is_hidden and (has_read := parser.read).has_text:
                is_hidden = False
                if has_read.is_held:
                    request.on_held()
            return reader.is_done

        facts = request.facts
        try:
            noted = feed if facts is None else facts.noting(feed, parser)
            progress = Progress(lambda: is_hidden, lambda: parser.has_ended, lambda: reader.unreadable)
            await self._upstream.stream(self.path, payload, noted, request, progress)
            rest, reason = reader.finish()
        except (BackendError, asyncio.CancelledError) as error:
            rest = reader.break_off(broken_off_with(error))
            self._learn(model, parser.read)
            for raw in rest:
                take(raw)
            raise
        finally:
            if facts is not None:
                facts.chars, facts.reported_end, facts.repeats = parser.chars, parser.reported_end, reader.repeats
        for raw in rest:
            take(raw)
        self._learn(model, parser.read)
        return SampleEnded(reason, parser.usage, self._own_name(parser.model, model), reasoning=parser.reasoning)


class StreamReader(ABC):
    """Stream events in, raw events out. Detects the end of the answer, and errors inside the stream."""

    own_names: tuple[str, ...] = ()
    """How the names of events begin that the format fixes. Any other name may be a label."""

    def __init__(self, parser: Parser, text_of: Callable[[Any], tuple[dict[str, Any], str] | None]) -> None:
        """``text_of``: as for ``Repetitions``."""
        self.parser = parser
        self.is_done = False
        self.unreadable = 0
        """How many events were no JSON objects, or none of the format."""
        self._repetitions = Repetitions(text_of)
        self._rest: list[RawEvent] = []

    def feed(self, events: Sequence[ServerSentEvent], take: Callable[[RawEvent], None]) -> None:
        """Pass on the raw events of what was read together, up to the end of the answer."""
        read = [(each, self._labelled(each) if each.name else decoded(each.data)) for each in events]
        for event, data in joined(self._repetitions.feed(read)):
            for raw in self._take(event, data):
                take(raw)
            if self.is_done:
                return

    @property
    def repeats(self) -> bool:
        """Whether each text of the answer holds those before it."""
        return self._repetitions.are_certain

    def finish(self) -> tuple[list[RawEvent], EndReason]:
        """The last raw events, and why the model stopped. Raises a BackendError unless the server reported a good end, or the model was
        stopped here for writing too much.
        """
        self._take_waiting()
        self._check_end()
        rest, reason = self.parser.finish()
        return [*self._rest, *rest], reason

    def break_off(self, error: ErrorCode) -> list[RawEvent]:
        self._take_waiting()
        return [*self._rest, *self.parser.break_off(error)]

    def error(self, body: object) -> BackendError:
        """An error inside a response with status 200, which ends it. Its message may quote the model, so it is for staff only."""
        self.is_done = True
        return error_of_body(body, is_empty=self.parser.is_empty)

    @abstractmethod
    def _object(self, event: ServerSentEvent, data: dict[str, Any]) -> list[RawEvent]:
        """The raw events of an event that is a JSON object."""

    @abstractmethod
    def _check_end(self) -> None:
        """Raise a BackendError unless the stream has ended well."""

    def _labelled(self, event: ServerSentEvent) -> Any:
        """The JSON of an event with a name, which is a label as well."""
        data = decoded(event.data)
        if isinstance(data, dict) and not event.name.startswith(self.own_names):
            data["sse_event"] = event.name
        return data

    def _take_waiting(self) -> None:
        # What still waits is the last event that was read. Behind the end, or an error, it is no part of the answer.
        if not self.is_done:
            self._rest += [raw for event, data in self._repetitions.finish() for raw in self._take(event, data)]

    def _take(self, event: ServerSentEvent, data: Any) -> list[RawEvent]:
        if isinstance(data, dict):
            return self._object(event, data)
        if event.data.strip() == "[DONE]":
            self.is_done = True
            return []
        if event.name == "error":
            raise self.error(event.data)
        self._skip()
        return []

    def _skip(self) -> None:
        """Skip an event that cannot be read. The first one is logged at once: an answer may take an hour to end."""
        if not self.unreadable:
            _log.warning("a model server sends events that cannot be read; they are skipped")
        self.unreadable += 1


class Parser(Protocol):
    """Makes the raw events of one sample. ``finish`` or ``break_off`` closes everything."""

    usage: Usage | None
    model: str | None

    @property
    def chars(self) -> int:
        """How much text has arrived, before anything of it is held or hidden."""

    @property
    def reported_end(self) -> str:
        """The server's word for how the answer ended; empty if it said none."""

    @property
    def has_ended(self) -> bool:
        """Whether the server has said that the answer ended well."""

    @property
    def is_empty(self) -> bool:
        """Whether no model output has arrived yet, so that a retry would repeat nothing."""

    @property
    def read(self) -> Read:
        """How it was read so far."""

    @property
    def reasoning(self) -> GivenReasoning | None:
        """As the server gave it."""

    def finish(self) -> tuple[list[RawEvent], EndReason]:
        """The stream ended normally: returns buffered text, closes the open frame, then adds the calls."""

    def break_off(self, error: ErrorCode) -> list[RawEvent]:
        """The stream broke: the open frame is closed as incomplete, and no call is complete."""


def asked_of(request: SampleRequest) -> Asked:
    """What a request asks for, as the leak guard reads its answer."""
    thoughts = tuple(frame.body for frame in request.frames if is_reasoning(frame.header))
    return Asked(request.answer_format is not None, request.tools, (*thoughts, *request.thoughts))
