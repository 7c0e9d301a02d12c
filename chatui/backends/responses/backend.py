"""The backend for Responses servers, such as OpenAI, vLLM, llama.cpp and LM Studio.

The conversation history becomes the ``input`` and ``instructions`` of a request, with markers escaped.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from chatui.backends.answer_format import as_chat, as_json, as_responses, function_call, tool_choice
from chatui.backends.base import BackendError, Endpoint, GivenReasoning, SampleEvent, SampleRequest
from chatui.backends.chat.joining import StreamReader, TextBackend
from chatui.backends.http import WHOLE
from chatui.backends.leaks.labels import Asked
from chatui.backends.raw_frames import new_call_id
from chatui.backends.responses.reducer import Reducer
from chatui.backends.responses.speech import ServerTools, TokenLimit
from chatui.backends.speaker import defang
from chatui.backends.sse import ServerSentEvent
from renderer.errors import Code
from renderer.events import RawEvent
from renderer.frame_kinds import is_answer, is_preamble
from renderer.frames import Channel, Frame, Role, Terminator

InputItem = dict[str, object]


@dataclass(frozen=True, slots=True)
class ResponsesPrompt:
    """The conversation as request fields.

    ``items``: the conversation, oldest first. ``instructions``: the text of system and developer frames; empty if there are none.
    """

    items: list[InputItem] = field(repr=False)
    instructions: str = field(repr=False)


def prompt(frames: Iterable[Frame], given_back: Mapping[str, GivenReasoning] | None = None) -> ResponsesPrompt:
    """One item for each question, answer, preamble, call and reply.

    Reasoning goes back only before a call that has its reply and no answer yet; a final message or a new question drops it. Calls without a
    reply and replies without a call are left out. ``given_back``: the reasoning items before a call as the server gave them, which are sent
    back unchanged instead of items made from frames.
    """
    writer = _Writer(frames, given_back or {})
    return writer.write()


class _Writer:
    def __init__(self, frames: Iterable[Frame], given_back: Mapping[str, GivenReasoning]) -> None:
        self._frames = tuple(frames)
        self._given_back = given_back
        self._replies = {frame.header.call_id: frame for frame in self._frames if frame.header.role == Role.TOOL}
        self._instructions: list[str] = []
        self._items: list[InputItem] = []
        # Items since the last question, answer or call: sent back complete if a call follows, else without reasoning.
        self._loose: list[InputItem] = []

    def write(self) -> ResponsesPrompt:
        for frame in self._frames:
            self._take(frame)
        self._settle()
        return ResponsesPrompt(self._items, "\n\n".join(self._instructions))

    def _take(self, frame: Frame) -> None:
        match frame.header.role:
            case Role.SYSTEM | Role.DEVELOPER:
                self._instructions.append(defang(frame.body))
            case Role.USER:
                self._settle()
                self._items.append({"type": "message", "role": "user", "content": defang(frame.body)})
            case Role.ASSISTANT:
                self._take_assistant(frame)

    def _take_assistant(self, frame: Frame) -> None:
        header = frame.header
        if frame.terminator is Terminator.CALL:
            self._take_call(frame)
        elif header.channel == Channel.ANALYSIS:
            self._loose.append(_reasoning(frame, len(self._items) + len(self._loose)))
        elif is_preamble(header):
            self._loose.append(_message_item(frame, "commentary"))
        elif is_answer(header):
            self._loose.append(_message_item(frame, None))
            self._settle()

    def _take_call(self, frame: Frame) -> None:
        header = frame.header
        reply = self._replies.get(header.call_id)
        if reply is None or header.channel != Channel.COMMENTARY:
            return
        name, arguments = function_call(frame)
        call: InputItem = {"type": "function_call", "call_id": header.call_id, "name": name, "arguments": defang(arguments)}
        output: InputItem = {"type": "function_call_output", "call_id": header.call_id, "output": defang(reply.body)}
        if given := self._given_back.get(header.call_id or ""):
            self._loose = [*given.items, *(item for item in self._loose if item["type"] != "reasoning")]
        self._items += [*self._loose, call, output]
        self._loose = []

    def _settle(self) -> None:
        """No call follows: reasoning is dropped, preambles stay."""
        self._items += [item for item in self._loose if item["type"] != "reasoning"]
        self._loose = []


def _message_item(frame: Frame, phase: str | None) -> InputItem:
    content = [{"type": "output_text", "text": defang(frame.body)}]
    item: InputItem = {"type": "message", "role": "assistant", "content": content}
    return {**item, "phase": phase} if phase else item


def _reasoning(frame: Frame, number: int) -> InputItem:
    """Some servers require an id. With ``store: false`` they know none of their own, so it only has to be unique."""
    content = [{"type": "reasoning_text", "text": defang(frame.body)}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "content": content}


_log = logging.getLogger(__name__)
# The last event of a stream repeats the whole answer, escaped, and some servers repeat the instructions as well.
_SNAPSHOT_BYTES_PER_CHAR = 8
_MAX_REMEMBERED = 1 << 16
_READS_CHAT_FIELDS = "llama.cpp"
"""These servers convert a Responses request to Chat Completions and drop ``text``, but enforce that format's own field."""


class ResponsesBackend(TextBackend):
    kind = "responses"

    def __init__(self, endpoint: Endpoint, *, summaries_are_trusted: bool = False) -> None:
        """As ``TextBackend``.

        ``summaries_are_trusted``: this server's reasoning summaries are requested, and marked as such: their headings may choose lines that
        people see. Several servers send the raw chain of thought under that name, so the operator decides; the default is False.
        """
        limits = endpoint.limits
        room = max(limits.max_line_bytes, _SNAPSHOT_BYTES_PER_CHAR * limits.max_output_chars)
        super().__init__(replace(endpoint, limits=replace(limits, max_line_bytes=room)))
        self._summaries_are_trusted = summaries_are_trusted

    async def _sample_once(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        payload = await self._payload(request)
        reducer = Reducer(
            new_call_id,
            max_chars=self._limits.max_output_chars,
            separation=self._separations.of(payload.get("model")),
            summaries_are_trusted=self._summaries_are_trusted,
        )
        reducer.token_limit = TokenLimit(request.max_tokens, (await self._window(request.model)).size)
        reducer.server_tools = ServerTools(request.hosted)
        reducer.asks(Asked(request.answer_format is not None, request.tools))
        async with aclosing(self._read("/v1/responses", payload, _Reader(reducer), request)) as events:
            async for event in events:
                yield event

    async def _payload(self, request: SampleRequest) -> dict[str, Any]:
        """The server must store nothing, and must report a prompt that is too long instead of truncating it."""
        model = await self._model_for(request.model)
        prompted = prompt(request.frames, request.given_back)
        wants_summary = self._summaries_are_trusted and request.wants_summary
        reasoning = {"effort": request.effort, **({"summary": "auto"} if wants_summary else {})}
        payload: dict[str, object] = {
            "input": prompted.items,
            "stream": True,
            "store": False,
            "truncation": "disabled",
            "reasoning": reasoning,
        }
        hosted = request.hosted.definitions if request.hosted else ()
        if request.tools or hosted:
            payload["tools"] = [*hosted, *({"type": "function", **as_json(tool), "strict": False} for tool in request.tools)]
        if request.tools:
            # A server that withholds its reasoning sends it encrypted, so that it can be sent back with the reply.
            payload["include"] = ["reasoning.encrypted_content"]
        if request.answer_format and request.asks_for_format and request.cut_answer is None:
            payload["text"] = {"format": as_responses(request.answer_format)}
            if await self._product() == _READS_CHAT_FIELDS:
                payload["response_format"] = as_chat(request.answer_format)
        if prompted.instructions:
            payload["instructions"] = prompted.instructions
        if model:
            payload["model"] = model
        if request.max_tokens:
            payload["max_output_tokens"] = request.max_tokens
        return payload | tool_choice(request) | dict(request.sampling)


class _Reader(StreamReader):
    parser: Reducer
    own_names = ("response.",)

    def __init__(self, reducer: Reducer) -> None:
        super().__init__(reducer, text_of_event)
        self._seen_events: set[int] = set()

    def _object(self, event: ServerSentEvent, data: dict[str, Any]) -> list[RawEvent]:
        kind = data["type"] if isinstance(data.get("type"), str) else event.name
        if kind == "error" or event.name == "error" or ("type" not in data and data.get("error")):
            raise self.error(data.get("error") or data)
        if self._is_repeated(data, event.data):
            return []
        if event.name == WHOLE or ("type" not in data and data.get("object") == "response"):
            return self._whole(data, is_last=event.name == WHOLE)
        raws = self.parser.feed(kind, data)
        self.is_done = bool(self.parser.status) or self.parser.is_full
        return raws

    def _check_end(self) -> None:
        if self._bad or self.parser.oddities:
            odd = ", ".join(f"{count} × {name}" for name, count in sorted(self.parser.oddities.items()))
            _log.info("a model server sent %d events that are no JSON objects; other oddities: %s", self._bad, odd or "none")
        if self.parser.is_full or (self.parser.status in ("completed", "incomplete") and not self.parser.has_failed):
            return
        if self.parser.status == "failed" or self.parser.error:
            raise self.error(self.parser.error or "the response failed")
        details = f"the last status was {self.parser.status[:40]!r}; {self._bad} events could not be read"
        raise BackendError(Code.STREAM_TRUNCATED, f"the stream ended without an end: {details}")

    def _whole(self, response: Mapping[str, Any], *, is_last: bool) -> list[RawEvent]:
        """A bare response object: the whole answer, or what a gateway sends instead of an event."""
        status = response.get("status")
        if not is_last and status not in ("completed", "incomplete", "failed", "cancelled"):
            return []
        self.is_done = True
        return self.parser.end(response)

    def _is_repeated(self, data: Mapping[str, Any], raw: str) -> bool:
        """Only an identical event with the same number is a repetition: some servers restart their numbering."""
        sequence = data.get("sequence_number")
        if not isinstance(sequence, int):
            return False
        mark = hash((sequence, raw))
        if mark in self._seen_events:
            return True
        if len(self._seen_events) < _MAX_REMEMBERED:
            self._seen_events.add(mark)
        return False


def text_of_event(data: Any) -> tuple[dict[str, Any], str] | None:
    """The event that holds text of an answer, and the name of the field."""
    if not isinstance(data, dict) or data.get("type") != "response.output_text.delta" or not isinstance(data.get("delta"), str):
        return None
    return (data, "delta") if data["delta"] else None
