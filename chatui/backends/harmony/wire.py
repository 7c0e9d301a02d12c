"""Sends requests to a token-id server: streams the events of an answer, or gets a single word."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from chatui.backends.base import BackendError
from chatui.backends.harmony.answer import Answer, decoded, is_end
from chatui.backends.harmony.dialect import Chunks, CompletionRequest, Dialect
from chatui.backends.http import Upstream
from chatui.backends.structured.format_fallback import refuses_format
from renderer.events import RawEvent
from renderer.harmony.pieces import Marker
from renderer.harmony.vocabulary import Vocabulary

OnSent = Callable[[str, bytes], None]

_WORD_CHARS = 200


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection to a token-id server. ``on_sent``: see ``SampleRequest``."""

    upstream: Upstream
    dialect: Dialect
    vocabulary: Vocabulary
    on_sent: OnSent | None = None

    def chunks(self) -> Chunks:
        """A reader for one response."""
        return self.dialect.chunks(self.vocabulary)

    async def written(self, answer: Answer, asked: CompletionRequest) -> AsyncGenerator[RawEvent, None]:
        """Send one request, and read its answer until reading can stop."""
        async with aclosing(self.upstream.stream(self.dialect.path, self.dialect.payload(asked), self.on_sent)) as read:
            async for events in read:
                for raw in answer.feed_all(events):
                    yield raw
                if answer.is_over or answer.is_paused:
                    return

    async def in_schema(self, answer: Answer, asked: CompletionRequest) -> AsyncGenerator[RawEvent, None]:
        """As ``written``; if the server refuses the schema, for example because its grammar cannot express it, without it."""
        has_begun = False
        try:
            async with aclosing(self.written(answer, asked)) as raws:
                async for raw in raws:
                    has_begun = True
                    yield raw
            return
        except BackendError as error:
            if has_begun or not refuses_format(error):
                raise
        async with aclosing(self.written(answer, replace(asked, schema=None))) as raws:
            async for raw in raws:
                yield raw

    async def word(self, asked: CompletionRequest) -> str:
        """The text sampled before the first marker: a word that decides about the next request. Nobody sees it. Raises as ``written``."""
        chunks, text = self.chunks(), ""
        async with aclosing(self.upstream.stream(self.dialect.path, self.dialect.payload(asked))) as read:
            async for events in read:
                for event in events:
                    if is_end(event) or len(text) > _WORD_CHARS:
                        return text
                    for piece in chunks.feed(decoded(event, is_empty=not text)):
                        if isinstance(piece, Marker):
                            return text
                        text += piece
        return text
