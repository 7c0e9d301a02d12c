"""Reads the stream of a server with text, in either format: requests it, and joins and removes what its events repeat.

A chunk of Chat Completions holds one token. Those that were read together and differ only in their text are merged, so that they pass
through every later step at once.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

from chatui.backends.answer_format import in_words, sample_in_format
from chatui.backends.base import BackendError, EndReason, GivenReasoning, Sample, SampleEnded, SampleRequest, Taker, Usage, broken_off_with
from chatui.backends.context_fitting import Attempt, attempt, sample_attempts, without_last_reasoning
from chatui.backends.continuation import continue_in_words
from chatui.backends.discovery import DetectedServer
from chatui.backends.failures import error_of_body
from chatui.backends.leaks.labels import Asked
from chatui.backends.separation import Read
from chatui.backends.speaker import REASONING_TEXTS
from chatui.backends.sse import ServerSentEvent, choice_of, decoded
from renderer.errors import ErrorCode
from renderer.events import RawEvent
from renderer.frame_kinds import is_reasoning
from renderer.strict_json import object_of, text_of

_TEXTS = ("content", *REASONING_TEXTS)
Decoded = tuple[ServerSentEvent, Any]
"""An event, and its decoded JSON; None if it is not JSON."""


@dataclass(slots=True)
class _Piece:
    """A chunk with text in one field of its delta, and nothing else. The text was removed from it."""

    event: ServerSentEvent
    chunk: dict[str, Any]
    delta: dict[str, Any]
    name: str
    texts: list[str] = field(repr=False)

    def matches(self, other: _Piece) -> bool:
        return self.name == other.name and self.chunk == other.chunk

    def joined(self) -> Decoded:
        self.delta[self.name] = "".join(self.texts)
        return self.event, self.chunk


def asked_of(request: SampleRequest) -> Asked:
    """What a request asks for, as the leak guard reads its answer."""
    thoughts = tuple(frame.body for frame in request.frames if is_reasoning(frame.header))
    return Asked(request.answer_format is not None, request.tools, (*thoughts, *request.thoughts))


class Repetitions:
    """Removes repetitions from a stream each of whose texts begins with all of the text before it, where that is sure.

    The second text waits if it begins with the whole first one, and adds to it. If the third begins with the whole second one, and adds to
    it, and there is a letter in both, each text repeats those before it: a model that writes this would have repeated itself twice.
    """

    def __init__(self, text_of: Callable[[Any], tuple[dict[str, Any], str] | None]) -> None:
        """``text_of``: the object that holds the text of a decoded event, and the name of its field; None if there is no such text."""
        self._text_of = text_of
        self._whole = ""
        self._waiting: tuple[Decoded, dict[str, Any], str, str] | None = None
        self._is_decided = False
        self.are_certain = False
        """Whether the server repeats its text."""

    def feed(self, event: Decoded) -> list[Decoded]:
        if self._is_decided and not self.are_certain:
            return [event]
        place = self._text_of(event[1])
        return [*self.finish(), event] if place is None else self._fed(event, *place)

    def finish(self) -> list[Decoded]:
        """The event that still waits: it repeats nothing for certain."""
        waiting, self._waiting = self._waiting, None
        self._is_decided = self._is_decided or waiting is not None
        return [waiting[0]] if waiting else []

    def _fed(self, event: Decoded, holder: dict[str, Any], name: str) -> list[Decoded]:
        before, text = self._whole, holder[name]
        if self.are_certain:
            self._whole, holder[name] = (text, text[len(before) :]) if text.startswith(before) else (before + text, text)
            return [event]
        self._whole = text
        if not before:
            return [event]
        if not text.startswith(before) or text == before or not any(map(str.isalpha, before)):
            self._is_decided = True
            return [*self.finish(), event]
        if self._waiting is None:
            self._waiting = (event, holder, name, text[len(before) :])
            return []
        held, its_holder, its_name, its_rest = self._waiting
        self._waiting, self._is_decided, self.are_certain = None, True, True
        its_holder[its_name], holder[name] = its_rest, text[len(before) :]
        return [held, event]


def joined(events: Sequence[Decoded]) -> Sequence[Decoded]:
    """The same events, with fewer and longer texts. White space at the beginning is not merged: by itself it can mean something else."""
    if len(events) < 2:
        return events
    found: list[_Piece | Decoded] = []
    pending: _Piece | None = None
    for event, chunk in events:
        piece = _piece_of(event, chunk)
        if pending and piece and pending.matches(piece):
            pending.texts += piece.texts
            continue
        found.append(piece or (event, chunk))
        pending = piece if piece and not piece.texts[0].isspace() else None
    return [each.joined() if isinstance(each, _Piece) else each for each in found]


def text_of_chunk(chunk: Any) -> tuple[dict[str, Any], str] | None:
    """The delta that holds text of the answer, and the name of the field."""
    delta = object_of((choice_of(chunk) or {}).get("delta"))
    return (delta, "content") if text_of(delta.get("content")) else None


def _piece_of(event: ServerSentEvent, chunk: Any) -> _Piece | None:
    """Removes the text from the chunk if it can be merged."""
    choice = choice_of(chunk)
    if event.name or not choice or choice.get("finish_reason") or len(chunk["choices"]) > 1:
        return None
    delta = object_of(choice.get("delta"))
    fields = [name for name, value in delta.items() if value is not None and value != "" and name != "role"]
    if len(fields) != 1 or fields[0] not in _TEXTS or not isinstance(text := delta[fields[0]], str):
        return None
    delta[fields[0]] = ""
    return _Piece(event, chunk, delta, fields[0], [text])


class Parser(Protocol):
    """Makes the raw events of one sample. ``finish`` or ``break_off`` closes everything."""

    usage: Usage | None
    model: str | None

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


class StreamReader(ABC):
    """Stream events in, raw events out. Detects the end of the answer, and errors inside the stream."""

    own_names: tuple[str, ...] = ()
    """How the names of events begin that the format fixes. Any other name may be a label."""

    def __init__(self, parser: Parser, text_of: Callable[[Any], tuple[dict[str, Any], str] | None]) -> None:
        """``text_of``: as for ``Repetitions``."""
        self.parser = parser
        self.is_done = False
        self._bad = 0
        self._repetitions = Repetitions(text_of)
        self._rest: list[RawEvent] = []

    def feed(self, events: Sequence[ServerSentEvent], take: Callable[[RawEvent], None]) -> None:
        """Pass on the raw events of what was read together, up to the end of the answer."""
        repeated = self._repetitions.feed
        for event, data in joined([found for each in events for found in repeated((each, _decoded(each, self.own_names)))]):
            for raw in self._take(event, data):
                take(raw)
            if self.is_done:
                return

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
        self._bad += 1
        return []


def _decoded(event: ServerSentEvent, own_names: tuple[str, ...]) -> Any:
    data = decoded(event.data)
    if event.name and isinstance(data, dict) and not event.name.startswith(own_names):
        # The name of an event is a label as well.
        data["sse_event"] = event.name
    return data


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

        try:
            await self._upstream.stream(self.path, payload, feed, request, lambda: is_hidden)
            rest, reason = reader.finish()
        except (BackendError, asyncio.CancelledError) as error:
            rest = reader.break_off(broken_off_with(error))
            self._learn(model, parser.read)
            for raw in rest:
                take(raw)
            raise
        for raw in rest:
            take(raw)
        self._learn(model, parser.read)
        return SampleEnded(reason, parser.usage, self._own_name(parser.model, model), reasoning=parser.reasoning)
