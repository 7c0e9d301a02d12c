"""Writes a message in Anthropic's format, streamed in events or whole: text, calls, and blocks about thinking without any reasoning.

Such a block has the lines of the summary, and the reasoning sealed as its signature, so that the program can send it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from chatui.api.errors import of_end
from chatui.api.messages_errors import error_body
from chatui.api.response_object import ResponseHead
from chatui.codes import ProductCode
from chatui.turns.input_tokens import tokens_of
from chatui.turns.streams.program import (
    Called,
    Closed,
    Ended,
    MoreProgramText,
    Opened,
    ProgramEvent,
    Sealed,
    Step,
    ToolRun,
    Withdrawn,
)

Event = dict[str, Any]

_REASONS = {ProductCode.CONTENT_REFUSED: "refusal", ProductCode.CONTEXT_FULL: "model_context_window_exceeded"}
_DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "input": "input_json_delta", "signature": "signature_delta"}
_FIELDS = {"input": "partial_json"}


class MessageEvents:
    """Writes the events of one message. ``begin`` once, ``feed`` with each event of the turn; ``whole`` is the message at the end."""

    messages_field = "messages"

    def __init__(
        self, head: ResponseHead, *, wants_thinking: bool, wants_lines: bool, is_formatted: bool = False, input_tokens: int = 0
    ) -> None:
        """``wants_thinking``: there are blocks about thinking; ``wants_lines``: with the lines of the summary. ``is_formatted``: preambles
        are left out, which would break the answer's format. ``input_tokens``: an estimate, until the model server has counted."""
        self._head = head
        self._wants_thinking = wants_thinking
        self._wants_lines = wants_lines
        self._is_formatted = is_formatted
        self._input_tokens = input_tokens
        self._content: list[Event] = []
        self._open: Event | None = None
        """The block that is being written."""
        self._is_in_message = self._is_left_out = False
        self._waiting: list[Step] = []
        """Lines that came while a text was being written: for the next block about thinking."""
        self._sealed: str | None = None
        self.ended: Ended | None = None

    def begin(self) -> Iterator[Event]:
        yield {"type": "message_start", "message": self._message(None)}

    def feed(self, event: ProgramEvent) -> Iterator[Event]:
        if self.ended is not None:
            return
        match event:
            case Opened() | MoreProgramText() | Closed():
                yield from self._feed_text(event)
            case Step() | Sealed() | ToolRun():
                yield from self._feed_thinking(event)
            case Called():
                yield from self._call(event)
            case Withdrawn():
                # Sent text cannot be withdrawn, so the message fails; at least it is not repeated.
                self._open = None
                yield from self._end(Ended("failed", ProductCode.WITHHELD))
            case Ended():
                yield from self._end(event)

    def _feed_text(self, event: Opened | MoreProgramText | Closed) -> Iterator[Event]:
        match event:
            case Opened(is_preamble=is_preamble):
                self._is_in_message, self._is_left_out = True, is_preamble and self._is_formatted
            case MoreProgramText(text=text) if self._is_in_message and not self._is_left_out:
                if self._open is None or self._open["type"] != "text":
                    yield from self._end_thinking()
                    yield self._begin_block({"type": "text", "text": "", "citations": None})
                yield self._more("text", text)
            case Closed():
                self._is_in_message = False
                yield from self._end_block("text")

    def _feed_thinking(self, event: Step | Sealed | ToolRun) -> Iterator[Event]:
        match event:
            case Step():
                self._waiting.append(event)
                yield from self._written_lines()
            case Sealed(token=token):
                self._sealed = token
            case ToolRun():  # what is sealed is the reasoning since the last call
                yield from self._end_thinking()

    def whole(self) -> Event:
        """The whole message, after its end."""
        return self._message(self.ended)

    def _written_lines(self) -> Iterator[Event]:
        """Write the lines that wait, unless a text is being written: blocks do not overlap."""
        lines, is_free = self._waiting, self._open is None or self._open["type"] == "thinking"
        if not (lines and is_free and self._wants_lines):
            return
        self._waiting = []
        for line in lines:
            if self._open is None:
                yield self._begin_thinking()
            between = "\n" if self._open is not None and self._open["thinking"] else ""
            yield self._more("thinking", f"{between}{line.text}")

    def _begin_thinking(self) -> Event:
        return self._begin_block({"type": "thinking", "thinking": "", "signature": ""})

    def _end_thinking(self) -> Iterator[Event]:
        """End the block about the thinking so far. There is none if there is nothing to say."""
        token, self._sealed = self._sealed, None
        if not self._wants_thinking:
            return
        yield from self._written_lines()
        if self._open is None and token is not None:
            yield self._begin_thinking()
        if self._open is not None and self._open["type"] == "thinking":
            if token is not None:
                yield self._more("signature", token)
            yield from self._end_block("thinking")

    def _call(self, call: Called) -> Iterator[Event]:
        yield from self._end_block("text")
        yield from self._end_thinking()
        caller = {"type": "direct"}
        yield self._begin_block({"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}, "caller": caller})
        yield self._delta("input", call.arguments)
        if self._open is not None:
            self._open["input"] = json.loads(call.arguments)
        yield from self._end_block("tool_use")

    def _begin_block(self, block: Event) -> Event:
        self._open = block
        return {"type": "content_block_start", "index": len(self._content), "content_block": dict(block)}

    def _more(self, field: str, text: str) -> Event:
        if self._open is not None:
            self._open[field] += text
        return self._delta(field, text)

    def _delta(self, field: str, text: str) -> Event:
        delta = {"type": _DELTAS[field], _FIELDS.get(field, field): text}
        return {"type": "content_block_delta", "index": len(self._content), "delta": delta}

    def _end_block(self, kind: str) -> Iterator[Event]:
        if self._open is not None and self._open["type"] == kind:
            yield {"type": "content_block_stop", "index": len(self._content)}
            self._content.append(self._open)
            self._open = None

    def _end(self, ended: Ended) -> Iterator[Event]:
        self.ended = ended
        yield from self._end_block("text")
        if ended.state in ("failed", "interrupted"):
            yield error_body(of_end(ended, self.messages_field))
            return
        self._waiting = []  # an answer does not end with what was thought before it
        yield from self._end_thinking()
        whole = self.whole()
        yield {
            "type": "message_delta",
            "delta": {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details", "container")},
            "usage": whole["usage"],
        }
        yield {"type": "message_stop"}

    def _message(self, ended: Ended | None) -> Event:
        return {
            "id": f"msg_{self._head.id.hex}",
            "type": "message",
            "role": "assistant",
            "model": self._head.model,
            "content": list(self._content),
            "stop_reason": self._reason(ended) if ended else None,
            "stop_sequence": ended.stopped_at or None if ended else None,
            "stop_details": None,
            "container": None,
            "usage": self._usage(ended),
        }

    def _reason(self, ended: Ended) -> str:
        if ended.state != "completed":
            return (_REASONS.get(ended.code) if isinstance(ended.code, ProductCode) else None) or "max_tokens"
        if any(block["type"] == "tool_use" for block in self._content):
            return "tool_use"
        return "stop_sequence" if ended.stopped_at else "end_turn"

    def _usage(self, ended: Ended | None) -> Event:
        """The server's counts, hidden tokens included; estimates of what is visible where it has none, as the format requires numbers."""
        counted, written = (ended.input_tokens, ended.output_tokens) if ended else (None, 0)
        if written is None:
            shown = (block.get("text") or json.dumps(block.get("input", "")) for block in self._content)
            written = tokens_of((), shown)
        return {
            "input_tokens": self._input_tokens if counted is None else counted,
            "output_tokens": written,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": None,
            "output_tokens_details": None,
            "server_tool_use": None,
            "service_tier": "standard",
            "inference_geo": None,
        }
