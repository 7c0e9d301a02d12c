"""Requests one answer of a token-id server and reads it: stream events in, raw events out.

Reading can pause where a message begins. A request can also be for a single word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatui.backends import sse
from chatui.backends.answer_format import refuses_format
from chatui.backends.base import BackendError, EndReason, SampleRequest, Taker, Usage
from chatui.backends.failures import error_of_body
from chatui.backends.harmony.dialects import Chunks, CompletionRequest
from chatui.backends.http import WHOLE, Progress, Upstream
from chatui.backends.raw_frames import new_call_id
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.events import Assembler, FrameClosed, FrameOpened, RawEvent
from renderer.frame_kinds import is_preamble, is_reasoning
from renderer.frames import Frame, Header, Terminator
from renderer.gate import why_hidden
from renderer.harmony.hip1 import pieces_of_frame
from renderer.harmony.pieces import Marker, Piece
from renderer.harmony.reader import HarmonyReader
from renderer.harmony.vocabulary import Vocabulary

_EVENTS_AFTER_THE_END = 8
"""How many events may follow the end of the turn: one says why it stopped, one counts the tokens."""


@dataclass(frozen=True, slots=True)
class ReadingPause:
    """Pauses reading when a message opens whose header meets ``at``. ``drops``: that message is dropped."""

    at: Callable[[Header], bool]
    drops: bool = False


class HarmonyAnswer:
    """Stream events in, raw events out. An unreadable event ends the answer: with ids missing, hidden text could become visible."""

    def __init__(self, chunks: Chunks, max_chars: int, pause: ReadingPause | None = None) -> None:
        """``pause``: where reading stops, until ``resume`` or ``begin_call``."""
        self.chunks = chunks
        self.is_paused = False
        self.pieces: list[Piece] = []
        """The pieces sampled up to the pause."""
        self.before: list[Frame] = []
        """The reasoning and the preambles up to the pause, if the message that opens is dropped."""
        self._pause = pause
        self._assembler = Assembler()
        self._ids_before = 0
        self._reader = HarmonyReader(new_call_id)
        self._max_chars = self._chars_left = max_chars
        self._is_done = False
        self._is_empty = True
        self._has_called = False
        self._events_left = _EVENTS_AFTER_THE_END
        self._opening: list[RawEvent] = []

    @property
    def is_over(self) -> bool:
        """Whether reading can stop: the server is done, the model wrote too much, or it continues after the end of its turn."""
        return self._is_done or self._chars_left < 0 or self._events_left <= 0

    @property
    def chars(self) -> int:
        """How much was read."""
        return self._max_chars - self._chars_left

    @property
    def is_hidden(self) -> bool:
        """Whether people may not see what is being written."""
        header = self._reader.open_header
        return header is None or why_hidden(header) is not None

    def continue_with(self, cut_answer: Frame) -> None:
        """The prompt ends inside this frame: new text continues its body. The frame is opened with the first text."""
        # As the model would have written it after <|start|>assistant; without the body, and without the marker that ends a frame.
        for piece in pieces_of_frame(replace(cut_answer, body=""))[2:-1]:
            self._opening += self._reader.feed_text(piece) if isinstance(piece, str) else self._reader.feed_marker(piece.token)

    def resume(self, chunks: Chunks, ids_before: int) -> None:
        """Continue with another response, whose prompt contains what was read. ``ids_before``: the number of those ids."""
        self.chunks, self._ids_before = chunks, ids_before
        self._pause, self.is_paused, self._is_done = None, False, False

    def begin_call(self, header: Header, chunks: Chunks, ids_before: int) -> None:
        """Continue with another response, the body of a call that we opened; it pauses as before."""
        pause, self._reader = self._pause, HarmonyReader(new_call_id)
        self.resume(chunks, ids_before)
        self._pause, self._events_left, self._opening = pause, _EVENTS_AFTER_THE_END, []
        self.continue_with(Frame(header, ""))

    @property
    def lacks_call(self) -> bool:
        """Whether the model made no call, and either ended its turn or opened a message that is dropped. False if its answer was cut."""
        has_ended = self.chunks.reason is not EndReason.LENGTH and self._chars_left >= 0 and self._reader.open_header is None
        return not self._has_called and (self.is_paused or has_ended)

    @property
    def needs_second_request(self) -> bool:
        """Whether the answer opened, and has to be sampled by a second request. Never after a call."""
        return self.is_paused and not self._has_called

    @property
    def usage(self) -> Usage | None:
        """The server's token counts, over both responses."""
        usage = self.chunks.usage
        if not self._ids_before or usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return usage
        return Usage(max(usage.prompt_tokens - self._ids_before, 0), usage.completion_tokens + self._ids_before)

    def feed_all(self, events: Iterable[ServerSentEvent], take: Callable[[RawEvent], None]) -> bool:
        """Pass on the raw events of a batch; returns whether reading can stop."""
        for event in events:
            for raw in self.feed(event):
                take(raw)
            check_failure(self.chunks)
            if self.is_over or self.is_paused:
                return True
        return False

    def feed(self, event: ServerSentEvent) -> list[RawEvent]:
        if is_end(event):
            self._is_done = True
            return []
        chunk = decoded(event, is_empty=self._is_empty)
        pieces = self.chunks.feed(chunk)
        raws = self._read(pieces)
        if self._reader.ended:
            self._events_left -= 1
        # llama.cpp sends no end marker after its last chunk.
        self._is_done = event.name == WHOLE or chunk.get("stop") is True
        return raws

    def check_end(self) -> None:
        """Raises a BackendError if neither a stop token nor the token limit ended the answer (specification section 9)."""
        is_open = self.chunks.reason is None or (self.chunks.reason is EndReason.STOP and self._reader.open_header is not None)
        if is_open and not (self.is_paused or self._chars_left < 0 or self._reader.ended):
            raise BackendError(Code.STREAM_TRUNCATED, "the stream ended without an end")

    def finish(self) -> tuple[list[RawEvent], EndReason]:
        is_at_limit = self.chunks.reason is EndReason.LENGTH and not (self._reader.ended or self.is_paused)
        is_cut = self._chars_left < 0 or is_at_limit
        rest = self._tracked(self._closed(ProductCode.LENGTH if is_cut else Code.STREAM_TRUNCATED))
        if is_cut:
            return rest, EndReason.LENGTH
        return rest, EndReason.TOOL_CALLS if self._has_called else EndReason.STOP

    def break_off(self, error: ErrorCode) -> list[RawEvent]:
        return self._closed(error)

    def _closed(self, error: ErrorCode) -> list[RawEvent]:
        rest = self._reader.finish(error)
        return [] if self._opening else rest

    def _read(self, pieces: Sequence[Piece]) -> list[RawEvent]:
        events: list[RawEvent] = []
        for piece in pieces:
            self._is_empty = False
            text = piece if isinstance(piece, str) else piece.token
            # Counted here, so that text that the reader buffers is limited too.
            room, self._chars_left = max(self._chars_left, 0), self._chars_left - len(text)
            if isinstance(piece, str):
                read = self._reader.feed_text(text[:room])
            else:
                read = self._reader.feed_marker(text) if room else []
            self._has_called = self._has_called or any(map(_is_call, read))
            events += self._before_pause(piece, read) if self._pause else read
            if self.is_paused:
                break
        if events:
            events, self._opening = [*self._opening, *events], []
        return self._tracked(events)

    def _before_pause(self, piece: Piece, read: list[RawEvent]) -> list[RawEvent]:
        """The events of a piece, without those of a message that is dropped."""
        if self._pause and not self._pause.drops:
            self.pieces.append(piece)
        opened = [place for place, event in enumerate(read) if isinstance(event, FrameOpened) and self._stops(event.header)]
        # A preamble is buffered until its text begins, but its header is known.
        self.is_paused = bool(opened) or self._stops(self._reader.open_header)
        # After a call it is the tool's turn: a message that opens here is no answer, and no second request is made.
        if not (self.is_paused and self._pause and (self._pause.drops or self._has_called)):
            return read
        self._reader = HarmonyReader(new_call_id)
        return read[: opened[0]] if opened else _without_open_frame(read)

    def _stops(self, header: Header | None) -> bool:
        return header is not None and self._pause is not None and self._pause.at(header)

    def _tracked(self, events: list[RawEvent]) -> list[RawEvent]:
        """The same events, noting whether one is a call, and the reasoning and preambles before a message that is dropped."""
        self._has_called = self._has_called or any(map(_is_call, events))
        if self._pause is not None and self._pause.drops:
            finished = [done for event in events if (done := self._assembler.feed(event))]
            self.before += [done.frame for done in finished if is_reasoning(done.frame.header) or is_preamble(done.frame.header)]
        return events


def check_failure(chunks: Chunks) -> None:
    """Raises a BackendError if the server says that neither the model nor the token limit ended the answer."""
    if chunks.failure:
        raise BackendError(Code.STREAM_TRUNCATED, f"the server ended the answer for a reason of its own: {chunks.failure:.200}")


def _is_call(event: RawEvent) -> bool:
    return isinstance(event, FrameClosed) and event.terminator is Terminator.CALL


def _without_open_frame(read: list[RawEvent]) -> list[RawEvent]:
    """Without the frame that stays open at the end: after a call, the reader opens the dropped message under a header that hides it."""
    last = max((place for place, event in enumerate(read) if isinstance(event, FrameOpened)), default=len(read))
    return read if any(isinstance(event, FrameClosed) for event in read[last:]) else read[:last]


def is_end(event: ServerSentEvent) -> bool:
    return event.data.strip() == "[DONE]"


def decoded(event: ServerSentEvent, *, is_empty: bool) -> dict[str, Any]:
    """The JSON of an event. ``is_empty``: nothing has been sampled yet.

    Raises:
        BackendError: it is an error inside a response with status 200, whose message may quote the model, or is not valid JSON.
    """
    chunk = sse.decoded(event.data)
    if event.name == "error" or (isinstance(chunk, dict) and (chunk.get("error") or chunk.get("object") == "error")):
        raise error_of_body(chunk if isinstance(chunk, dict) else event.data, is_empty=is_empty)
    if not isinstance(chunk, dict):
        raise BackendError(Code.STREAM_TRUNCATED, "an event of the stream could not be read")
    return chunk


_WORD_CHARS = 200


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection to a token-id server, for ``request``."""

    upstream: Upstream
    dialect: type[Chunks]
    vocabulary: Vocabulary
    request: SampleRequest

    def chunks(self) -> Chunks:
        return self.dialect(self.vocabulary)

    async def write(self, answer: HarmonyAnswer, asked: CompletionRequest, take: Callable[[RawEvent], None]) -> None:
        """Pass on what the server writes."""
        payload = self.dialect.payload(asked)

        def feed(events: list[ServerSentEvent]) -> bool:
            return answer.feed_all(events, take)

        progress = Progress(lambda: answer.is_hidden, lambda: answer.chunks.reason is not None)
        facts = self.request.facts
        try:
            noted = feed if facts is None else facts.noting(feed, answer)
            await self.upstream.stream(self.dialect.path, payload, noted, self.request, progress)
        finally:
            if facts is not None:
                facts.reported_end, facts.ids = answer.chunks.reported_end, answer.chunks.ids

    async def write_in_schema(self, answer: HarmonyAnswer, asked: CompletionRequest, take: Callable[[RawEvent], None]) -> None:
        """As ``write``; if the server refuses the schema, for example because its grammar cannot express it, without it."""
        taken = Taker(take)
        try:
            await self.write(answer, asked, taken)
        except BackendError as error:
            if taken.has_begun or not refuses_format(error):
                raise
            await self.write(answer, replace(asked, schema=None), take)

    async def word(self, asked: CompletionRequest) -> str:
        """The text sampled before the first marker: a word that decides about the next request. Nobody sees it. Raises as ``write``."""
        chunks, text = self.chunks(), ""

        def feed(events: list[ServerSentEvent]) -> bool:
            nonlocal text
            for event in events:
                if is_end(event) or len(text) > _WORD_CHARS:
                    return True
                for piece in chunks.feed(decoded(event, is_empty=not text)):
                    if isinstance(piece, Marker):
                        return True
                    text += piece
            return False

        if not await self.upstream.stream(self.dialect.path, self.dialect.payload(asked), feed):
            check_failure(chunks)
        return text
