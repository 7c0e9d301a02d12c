"""The chunks of a streamed chat completion, and the whole of one: one text, without any field for reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatui.api.errors import of_code
from chatui.api.writing.response_object import Head
from chatui.codes import ProductCode
from chatui.turns.streams.program import Ended, MoreText, Opened, ProgramEvent, Withdrawn

Chunk = dict[str, Any]

BETWEEN = "\n\n"
"""Between a preamble and what follows it: the format has one text."""


class ChatChunks:
    """``begin`` once, ``feed`` with each event of the turn; ``text`` is all of it at the end."""

    def __init__(self, head: Head, *, wants_usage: bool) -> None:
        self._head = head
        self._wants_usage = wants_usage
        self._texts: list[str] = []
        self._is_new = False
        self.ended: Ended | None = None

    def begin(self) -> Iterator[Chunk]:
        """Whose text it is."""
        yield self._chunk({"role": "assistant", "content": ""})

    def feed(self, event: ProgramEvent) -> Iterator[Chunk]:
        """What comes of one event of the turn."""
        if self.ended is not None:
            return
        match event:
            case Opened():
                self._is_new = bool(self._texts)
            case MoreText(text=text):
                shown = f"{BETWEEN}{text}" if self._is_new else str(text)
                self._is_new = False
                self._texts.append(shown)
                yield self._chunk({"content": shown})
            case Withdrawn():
                yield from self._end(Ended("failed", ProductCode.WITHHELD))
            case Ended():
                yield from self._end(event)

    def whole(self) -> Chunk:
        """The completion, once it has ended."""
        message = {"role": "assistant", "content": "".join(self._texts), "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason()}
        return self._head_of("chat.completion") | {"choices": [choice], "usage": self._usage()}

    def _end(self, ended: Ended) -> Iterator[Chunk]:
        self.ended = ended
        if ended.state in ("failed", "interrupted"):
            yield {"error": of_code(ended.code).body()}
            return
        yield self._chunk({}, self._reason())
        if self._wants_usage:
            yield self._head_of("chat.completion.chunk") | {"choices": [], "usage": self._usage()}

    def _reason(self) -> str:
        ended = self.ended
        if ended is None or ended.state == "completed":
            return "stop"
        return "content_filter" if ended.code is ProductCode.CONTENT_REFUSED else "length"

    def _usage(self) -> Chunk | None:
        ended = self.ended
        if ended is None or ended.input_tokens is None or ended.output_tokens is None:
            return None
        total = ended.input_tokens + ended.output_tokens
        return {"prompt_tokens": ended.input_tokens, "completion_tokens": ended.output_tokens, "total_tokens": total}

    def _chunk(self, delta: Chunk, finish_reason: str | None = None) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._head_of("chat.completion.chunk") | {"choices": [choice]}

    def _head_of(self, kind: str) -> Chunk:
        created = int(self._head.created_at.timestamp())
        return {"id": f"chatcmpl-{self._head.id.hex}", "object": kind, "created": created, "model": self._head.model}
