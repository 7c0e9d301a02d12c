"""The back end that samples a gpt-oss model by token ids, so that a quoted marker is never taken for a real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from chatui.backends.base import BackendError, Endpoint, EndReason, SampleEnded, SampleEvent, SampleRequest, Usage, broken_off_with
from chatui.backends.context.fitting import Fit, hidden_weight
from chatui.backends.context.sampling import Attempt, too_long, within
from chatui.backends.context.window import Windows
from chatui.backends.continuation import continue_in_words, has_text
from chatui.backends.discovery import Discovered, own_name
from chatui.backends.failures.kinds import failed
from chatui.backends.harmony.behind import behind
from chatui.backends.harmony.dialect import Asked, Chunks, Dialect
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.harmony.prompt import Wanted, answer_tokens, fitted, opened
from chatui.backends.harmony.server import TokenServer, ask_token_server
from chatui.backends.http import WHOLE, Upstream, Watcher
from chatui.backends.sse import Event
from chatui.backends.structured.refused import refuses_format
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import FrameClosed, FrameOpened, RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Frame, Terminator
from renderer.harmony.hip1 import pieces_of_frame
from renderer.harmony.pieces import Piece
from renderer.harmony.reader import Reader
from renderer.harmony.vocabulary import Vocabulary, VocabularyError

OnSent = Callable[[str, bytes], None]

_KEEP_FOUND = 60.0
_EVENTS_AFTER_THE_END = 8
"""How many events may follow the end of the turn: one says why it stopped, one counts the tokens."""


def _today() -> date:
    return datetime.now(UTC).date()


class HarmonyCompletionsBackend:
    """A Backend. One connection pool, shared by all samples; belongs to the event loop that it was first used on."""

    kind = "harmony"
    is_demo = False

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        vocabulary: Callable[[], Vocabulary],
        dialect: str | None = None,
        today: Callable[[], date] = _today,
    ) -> None:
        """``vocabulary`` loads the vocabulary on first use, which takes half a second. ``dialect``: a key of ``DIALECTS``; None to ask.

        Raises:
            ValueError: the endpoint's ``url`` is no http address.
        """
        self._limits = endpoint.limits
        self._upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits, endpoint.route)
        self._load_vocabulary = vocabulary
        self._vocabulary: Vocabulary | None = None
        self._model = endpoint.model
        self._dialect = dialect
        self._today = today
        self._found: tuple[float, TokenServer] | None = None
        self._windows = Windows(endpoint.context)

    @property
    def name(self) -> str:
        """The product, as far as it is known, and the address."""
        dialect = self._found[1].dialect if self._found else self._dialect
        return f"{dialect or 'Model server'} at {self._upstream.place}"

    def known_context(self, model: str | None) -> int | None:
        """See ``context.window.Sized``."""
        found = self._found[1] if self._found else None
        named = model or self._model or (next(iter(found.models), None) if found else None)
        return self._windows.of(named).size or (found.context(named) if found else None)

    async def sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        """See ``base.Backend``."""
        in_words = request.cut_answer is not None and not has_text(request.cut_answer)
        # The request to finish the answer is a turn of its own: the question before it has to stay, too.
        sample = partial(self._sample, least=2 if in_words else 1)
        async with aclosing(continue_in_words(request, sample) if in_words else sample(request)) as events:
            async for event in events:
                yield event

    async def _sample(self, request: SampleRequest, *, least: int) -> AsyncGenerator[SampleEvent, None]:
        vocabulary = await self._loaded()
        server = await self._server()
        model = request.model or self._model or next(iter(server.models), None)
        window = self._windows.of(model)
        window.ask(server.context(model))

        async def plan(most: float | None) -> Attempt:
            wanted = Wanted(request, window.limit, None if most is None else int(most), least)
            prompt = await asyncio.to_thread(fitted, wanted, vocabulary, request.today or self._today())
            schema = request.answer_format.checked_schema if request.answer_format and not request.cut_answer else None
            asked = Asked(prompt.ids, answer_tokens(request, len(prompt.ids), wanted.context), model, request.sampling, schema)
            held = Fit(request, len(prompt.ids), hidden_weight(request), prompt.turns_left_out, prompt.is_least)
            if wanted.context is not None and len(prompt.ids) >= wanted.context:
                raise too_long(window, held, f"{len(prompt.ids)} tokens, and the server takes {wanted.context}")
            return _Asking(held, partial(self.complete, asked, cut_answer=opened(request.cut_answer), on_sent=request.on_sent))

        async with aclosing(within(window, plan)) as events:
            async for event in events:
                yield event

    async def complete(
        self,
        asked: Asked,
        *,
        cut_answer: Frame | None = None,
        on_sent: OnSent | None = None,
    ) -> AsyncGenerator[SampleEvent, None]:
        """As ``sample``, for a finished prompt, which ends in ``<|start|>assistant``, or in ``cut_answer``. Raises as ``sample``.

        With a schema, it is sampled up to the answer first, and then from there on under the schema: no grammar binds what stands before.
        """
        vocabulary = await self._loaded()
        dialect = DIALECTS[(await self._server()).dialect]
        answer = _Answer(dialect.chunks(vocabulary), self._limits.max_output_chars, pauses=asked.schema is not None)
        if cut_answer:
            answer.continue_with(cut_answer)
        try:
            async with aclosing(self._written(answer, dialect, replace(asked, schema=None), on_sent)) as raws:
                async for raw in raws:
                    yield raw
            if answer.is_paused:
                following = await asyncio.to_thread(behind, asked, answer.pieces, vocabulary)
                answer.resume(dialect.chunks(vocabulary), len(following.ids) - len(asked.ids))
                async with aclosing(self._in_schema(answer, dialect, following, on_sent)) as raws:
                    async for raw in raws:
                        yield raw
            answer.check_end()
        except (BackendError, asyncio.CancelledError) as error:
            for raw in answer.break_off(broken_off_with(error)):
                yield raw
            raise
        rest, reason = answer.finish()
        for raw in rest:
            yield raw
        model = own_name(answer.chunks.model, asked.model, (await self._server()).models)
        yield SampleEnded(reason, answer.usage, model)

    async def _written(self, answer: _Answer, dialect: Dialect, asked: Asked, on_sent: OnSent | None) -> AsyncGenerator[RawEvent, None]:
        """Send one request, and read its answer until reading can stop."""
        async with aclosing(self._upstream.stream(dialect.path, dialect.payload(asked), on_sent)) as read:
            async for events in read:
                for raw in answer.feed_all(events):
                    yield raw
                if answer.is_over or answer.is_paused:
                    return

    async def _in_schema(self, answer: _Answer, dialect: Dialect, asked: Asked, on_sent: OnSent | None) -> AsyncGenerator[RawEvent, None]:
        """As ``_written``; without the schema where the server refuses it, such as one that its grammar cannot express."""
        has_begun = False
        try:
            async with aclosing(self._written(answer, dialect, asked, on_sent)) as raws:
                async for raw in raws:
                    has_begun = True
                    yield raw
            return
        except BackendError as error:
            if has_begun or not refuses_format(error):
                raise
        async with aclosing(self._written(answer, dialect, replace(asked, schema=None), on_sent)) as raws:
            async for raw in raws:
                yield raw

    async def models(self) -> tuple[str, ...]:
        """See ``base.Backend``. The server is asked at most once a minute."""
        return (await self._server()).models

    def know(self, found: Discovered) -> None:
        """Take what another asked just now, see ``chosen.backend.Knowing``."""
        if self._dialect is not None:
            self._found = (asyncio.get_running_loop().time() + _KEEP_FOUND, TokenServer(self._dialect, found))

    def watch(self, watcher: Watcher) -> None:
        """See ``http.Watchable``."""
        self._upstream.watcher = watcher

    async def aclose(self) -> None:
        """See ``base.Backend``."""
        await self._upstream.aclose()

    async def _server(self) -> TokenServer:
        now = asyncio.get_running_loop().time()
        if self._found is None or now > self._found[0]:
            self._found = (now + _KEEP_FOUND, await ask_token_server(self._upstream, self._dialect))
        return self._found[1]

    async def _loaded(self) -> Vocabulary:
        """A missing vocabulary is not remembered, so that it is found as soon as it has been fetched."""
        if self._vocabulary is None:
            try:
                self._vocabulary = await asyncio.to_thread(self._load_vocabulary)
            except VocabularyError as error:
                raise BackendError(ProductCode.BACKEND, str(error)) from error
        return self._vocabulary


@dataclass(frozen=True, slots=True)
class _Asking:
    fit: Fit
    events: Callable[[], AsyncGenerator[SampleEvent, None]]


class _Answer:
    """Stream events in, raw events out. An unreadable event ends the answer: with ids missing, hidden text could become visible."""

    def __init__(self, chunks: Chunks, max_chars: int, *, pauses: bool = False) -> None:
        """``pauses``: reading stops where the answer begins, until ``resume``."""
        self.chunks = chunks
        self.is_paused = False
        self.pieces: list[Piece] = []
        """What was sampled up to there, where it pauses."""
        self._pauses = pauses
        self._ids_before = 0
        self._reader = Reader(_new_call_id)
        self._chars_left = max_chars
        self._is_done = False
        self._is_empty = True
        self._has_called = False
        self._events_left = _EVENTS_AFTER_THE_END
        self._opening: list[RawEvent] = []

    @property
    def is_over(self) -> bool:
        """Whether reading can stop: the server is done, the model wrote too much, or it continues after the end of its turn."""
        return self._is_done or self._chars_left < 0 or self._events_left <= 0

    def continue_with(self, cut_answer: Frame) -> None:
        """The prompt ends inside this frame: new text continues its body. The frame is opened with the first text."""
        # As the model would have written it behind <|start|>assistant; without the body, and without the marker that ends a frame.
        for piece in pieces_of_frame(replace(cut_answer, body=""))[2:-1]:
            self._opening += self._reader.feed_text(piece) if isinstance(piece, str) else self._reader.feed_marker(piece.token)

    def resume(self, chunks: Chunks, ids_before: int) -> None:
        """Go on with another response, whose prompt holds what was read. ``ids_before``: how many ids that is."""
        self.chunks, self._ids_before = chunks, ids_before
        self.is_paused = self._pauses = self._is_done = False

    @property
    def usage(self) -> Usage | None:
        """What the server counted, over both responses."""
        usage = self.chunks.usage
        if not self._ids_before or usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return usage
        return Usage(max(usage.prompt_tokens - self._ids_before, 0), usage.completion_tokens + self._ids_before)

    def feed_all(self, events: Iterable[Event]) -> Iterator[RawEvent]:
        """The raw events of what was read together, until reading can stop."""
        for event in events:
            yield from self.feed(event)
            if self.is_over or self.is_paused:
                return

    def feed(self, event: Event) -> list[RawEvent]:
        if event.data.strip() == "[DONE]":
            self._is_done = True
            return []
        chunk = self._decoded(event)
        pieces = self.chunks.feed(chunk)
        raws = self._read(pieces)
        if self._reader.ended:
            self._events_left -= 1
        # llama.cpp closes the stream without a word after its last chunk.
        self._is_done = event.name == WHOLE or chunk.get("stop") is True
        return raws

    def check_end(self) -> None:
        if not self.is_over and self.chunks.reason is None and not self._reader.ended:
            raise BackendError(Code.STREAM_TRUNCATED, "the stream ended without an end")

    def finish(self) -> tuple[list[RawEvent], EndReason]:
        """The stream ended normally: closes the open frame, and returns why it ended."""
        is_cut = self._chars_left < 0 or (self.chunks.reason is EndReason.LENGTH and not self._reader.ended)
        rest = self._noted(self._closed(ProductCode.LENGTH if is_cut else Code.STREAM_TRUNCATED))
        if is_cut:
            return rest, EndReason.LENGTH
        return rest, EndReason.TOOL_CALLS if self._has_called else EndReason.STOP

    def break_off(self, error: ErrorCode) -> list[RawEvent]:
        """The stream broke: the open frame is closed as incomplete."""
        return self._closed(error)

    def _closed(self, error: ErrorCode) -> list[RawEvent]:
        rest = self._reader.finish(error)
        return [] if self._opening else rest

    def _decoded(self, event: Event) -> dict[str, Any]:
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError):
            chunk = None
        if event.name == "error" or (isinstance(chunk, dict) and (chunk.get("error") or chunk.get("object") == "error")):
            raise self._error(chunk, event.data)
        if not isinstance(chunk, dict):
            raise BackendError(Code.STREAM_TRUNCATED, "an event of the stream could not be read")
        return chunk

    def _error(self, chunk: object, said: str) -> BackendError:
        """An error inside a response with status 200. Its message may quote the model, so it is for staff only."""
        return failed(chunk if isinstance(chunk, dict) else said, is_empty=self._is_empty)

    def _read(self, pieces: Sequence[Piece]) -> list[RawEvent]:
        events: list[RawEvent] = []
        for piece in pieces:
            self._is_empty = False
            text = piece if isinstance(piece, str) else piece.token
            # Counted here, so that what the reader holds back is bounded too.
            room, self._chars_left = max(self._chars_left, 0), self._chars_left - len(text)
            if isinstance(piece, str):
                events += self._reader.feed_text(text[:room])
            elif room:
                events += self._reader.feed_marker(text)
            if self._pauses:
                self.pieces.append(piece)
                self.is_paused = any(isinstance(event, FrameOpened) and is_answer(event.header) for event in events)
                if self.is_paused:
                    break
        if events:
            events, self._opening = [*self._opening, *events], []
        return self._noted(events)

    def _noted(self, events: list[RawEvent]) -> list[RawEvent]:
        self._has_called = self._has_called or any(isinstance(raw, FrameClosed) and raw.terminator is Terminator.CALL for raw in events)
        return events


def _new_call_id() -> str:
    return f"call_{uuid4().hex}"
