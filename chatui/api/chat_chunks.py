"""Writes a chat completion, streamed in chunks or whole: text and calls, and ``reasoning`` for a program that may read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chatui.api.errors import of_end
from chatui.api.response_object import ResponseHead
from chatui.codes import ProductCode
from chatui.turns.streams.program import Called, Ended, MoreProgramText, Opened, ProgramEvent, Thinking, Thought, Withdrawn

Chunk = dict[str, Any]

BETWEEN = "\n\n"
"""Separates a preamble from the text after it, and one piece of reasoning from the next: the format has only one text of each."""


class ChatChunks:
    """Writes the chunks of one answer. ``begin`` once, ``feed`` with each event of the turn; ``text`` is the whole text at the end."""

    messages_field = "messages"

    def __init__(self, head: ResponseHead, *, wants_usage: bool, is_formatted: bool = False, index: int = 0) -> None:
        """``index``: of this answer among several. ``is_formatted``: preambles are left out, which would break the answer's format."""
        self._head = head
        self._index = index
        self._is_formatted = is_formatted
        self._is_left_out = False
        self._wants_usage = wants_usage
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Chunk] = []
        self._is_new = self._is_new_thought = False
        self.ended: Ended | None = None

    def begin(self) -> Iterator[Chunk]:
        yield self._chunk({"role": "assistant", "content": ""})

    def feed(self, event: ProgramEvent) -> Iterator[Chunk]:
        """The chunks that the next event of the answer becomes. Nothing follows its end."""
        if self.ended is not None:
            return
        match event:
            case Opened(is_preamble=is_preamble):
                self._is_left_out = is_preamble and self._is_formatted
                self._is_new = bool(self._texts)
            case MoreProgramText(text=text) if not self._is_left_out:
                shown = f"{BETWEEN}{text}" if self._is_new else str(text)
                self._is_new = False
                self._texts.append(shown)
                yield self._chunk({"content": shown})
            case Thinking() | Thought():
                yield from self._feed_thinking(event)
            case Called():
                place = len(self._calls)
                function = {"name": event.name, "arguments": event.arguments}
                self._calls.append({"id": event.call_id, "type": "function", "function": function})
                yield self._chunk({"tool_calls": [{"index": place, **self._calls[-1]}]})
            case Withdrawn():
                yield from self._end(Ended("failed", ProductCode.WITHHELD))
            case Ended():
                yield from self._end(event)

    def _feed_thinking(self, event: Thinking | Thought) -> Iterator[Chunk]:
        if isinstance(event, Thinking):
            self._is_new_thought = bool(self._thoughts)
            return
        thought = f"{BETWEEN}{event.text}" if self._is_new_thought else str(event.text)
        self._is_new_thought = False
        self._thoughts.append(thought)
        yield self._chunk({"reasoning": thought})

    def whole(self) -> Chunk:
        """The whole completion, after its end."""
        text = "".join(self._texts)
        message: Chunk = {"role": "assistant", "content": text or (None if self._calls else ""), "refusal": None, "annotations": []}
        if self._thoughts:
            message["reasoning"] = "".join(self._thoughts)
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": self._index, "message": message, "logprobs": None, "finish_reason": self._reason()}
        counted = self.usage()
        return self.head("chat.completion") | {"choices": [choice]} | ({"usage": counted} if counted else {})

    @property
    def has_failed(self) -> bool:
        """Whether the answer has ended with an error."""
        return self.ended is not None and self.ended.state in ("failed", "interrupted")

    def head(self, kind: str) -> Chunk:
        """The fields that all chunks, and the whole completion, have in common."""
        created = int(self._head.created_at.timestamp())
        return {"id": f"chatcmpl-{self._head.id.hex}", "object": kind, "created": created, "model": self._head.model}

    def _end(self, ended: Ended) -> Iterator[Chunk]:
        self.ended = ended
        if self.has_failed:
            yield {"error": of_end(ended, self.messages_field).body()}
            return
        yield self._chunk({}, self._reason())
        if self._wants_usage:
            yield self.head("chat.completion.chunk") | {"choices": [], "usage": self.usage()}

    def _reason(self) -> str:
        ended = self.ended
        if ended is None or ended.state == "completed":
            return "tool_calls" if self._calls else "stop"
        return "content_filter" if ended.code is ProductCode.CONTENT_REFUSED else "length"

    def usage(self) -> Chunk | None:
        """The token counts, after its end."""
        ended = self.ended
        if ended is None or ended.input_tokens is None or ended.output_tokens is None:
            return None
        total = ended.input_tokens + ended.output_tokens
        return {"prompt_tokens": ended.input_tokens, "completion_tokens": ended.output_tokens, "total_tokens": total}

    def _chunk(self, delta: Chunk, finish_reason: str | None = None) -> Chunk:
        choice = {"index": self._index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self.head("chat.completion.chunk") | {"choices": [choice]}


def several(writers: Iterable[ChatChunks]) -> Chunk:
    """The whole completion with the choices of several answers, each of which has ended."""
    wholes = [writer.whole() for writer in writers]
    counted = _added(whole.get("usage") for whole in wholes)
    return wholes[0] | {"choices": [choice for whole in wholes for choice in whole["choices"]]} | ({"usage": counted} if counted else {})


def usage_of(writers: Iterable[ChatChunks]) -> Chunk:
    """The chunk with the token counts of several answers together."""
    first, *others = writers
    return first.head("chat.completion.chunk") | {"choices": [], "usage": _added(writer.usage() for writer in (first, *others))}


def _added(counts: Iterable[Chunk | None]) -> Chunk | None:
    known = list(counts)
    if any(count is None for count in known):
        return None
    return {name: sum(count[name] for count in known if count) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
