"""The backend for Responses servers, such as OpenAI, vLLM, llama.cpp and LM Studio.

The conversation history becomes the ``input`` and ``instructions`` of a request, with markers escaped.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chatui.backends.answer_format import as_chat, as_json, as_responses, tool_choice
from chatui.backends.base import BackendError, Endpoint, GivenReasoning, SampleRequest
from chatui.backends.chat.messages import AnsweredCall, conversation_parts, orders
from chatui.backends.http import WHOLE
from chatui.backends.raw_frames import new_call_id
from chatui.backends.responses.reducer import Reducer
from chatui.backends.responses.speech import ServerTools, TokenLimit
from chatui.backends.sse import ServerSentEvent
from chatui.backends.text_backend import StreamReader, TextBackend, asked_of
from renderer.errors import Code
from renderer.events import RawEvent
from renderer.frames import Frame

_log = logging.getLogger(__name__)

InputItem = dict[str, object]


def prompt(frames: Sequence[Frame], given_back: Mapping[str, GivenReasoning] | None = None) -> tuple[list[InputItem], str]:
    """One item for each question, answer, preamble, call and reply, the oldest first; and the instructions, which may be empty.

    Reasoning goes back only before a call that has its reply and no answer yet; a final message or a new question drops it.
    ``given_back``: the reasoning items before a call as the server gave them, which are sent back unchanged instead of items made from
    frames.
    """
    items: list[InputItem] = []
    # Items since the last question, answer or call: sent back complete if a call follows, else without reasoning.
    loose: list[InputItem] = []
    for each in conversation_parts(frames, given_back or {}):
        match each:
            case "reasoning", text:
                loose.append(_reasoning(text, len(items) + len(loose)))
                continue
            case "preamble", text:
                loose.append({**_message(text), "phase": "commentary"})
                continue
            case "question", text:
                items += [*_without_reasoning(loose), {"type": "message", "role": "user", "content": text}]
            case "answer", text:
                items += [*_without_reasoning(loose), _message(text)]
            case AnsweredCall() as call:
                items += loose if call.given is None else [*call.given.items, *_without_reasoning(loose)]
                items.append({"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments})
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": call.reply})
        loose = []
    return [*items, *_without_reasoning(loose)], "\n\n".join(orders(frames))


def _without_reasoning(items: Iterable[InputItem]) -> list[InputItem]:
    return [item for item in items if item["type"] != "reasoning"]


def _message(text: str) -> InputItem:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _reasoning(text: str, number: int) -> InputItem:
    """Earlier reasoning as an item of the input. Some servers require an id; with ``store: false`` they know none of their own, so any
    unique one will do."""
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}


# The last event of a stream repeats the whole answer, escaped, and some servers repeat the instructions as well.
_SNAPSHOT_BYTES_PER_CHAR = 8
MAX_REMEMBERED = 1 << 16
"""How many events of an answer are recognized when they come again."""
_READS_CHAT_FIELDS = "llama.cpp"
"""These servers convert a Responses request to Chat Completions and drop ``text``, but enforce that format's own field."""


class ResponsesBackend(TextBackend):
    kind, path = "responses", "/v1/responses"

    def __init__(self, endpoint: Endpoint) -> None:
        limits = endpoint.limits
        room = max(limits.max_line_bytes, _SNAPSHOT_BYTES_PER_CHAR * limits.max_output_chars)
        super().__init__(replace(endpoint, limits=replace(limits, max_line_bytes=room)))

    async def _prepared(self, request: SampleRequest) -> tuple[dict[str, Any], StreamReader]:
        payload = await self._payload(request)
        model = payload.get("model")
        reducer = Reducer(
            new_call_id,
            max_chars=self._limits.max_output_chars,
            separation=self._separations.of(model),
            summaries_are_trusted=self._endpoint.trusts_summaries,
            asked=asked_of(request),
        )
        reducer.of_upstream = lambda upstream: self._separations.of(model, upstream)
        reducer.token_limit = TokenLimit(request.max_tokens, (await self._window(request.model)).size)
        reducer.server_tools = ServerTools(request.hosted)
        return payload, _Reader(reducer)

    async def _payload(self, request: SampleRequest) -> dict[str, Any]:
        """The server must store nothing, and must report a prompt that is too long instead of truncating it."""
        model = await self._model_for(request.model)
        items, instructions = prompt(request.frames, request.given_back)
        wants_summary = self._endpoint.trusts_summaries and request.wants_summary
        reasoning = {"effort": request.effort, **({"summary": "auto"} if wants_summary else {})}
        payload: dict[str, object] = {
            "input": items,
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
        if instructions:
            payload["instructions"] = instructions
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
        if self.unreadable or self.parser.oddities:
            odd = ", ".join(f"{count} × {name}" for name, count in sorted(self.parser.oddities.items()))
            _log.info("a model server sent %d events that could not be read; other oddities: %s", self.unreadable, odd or "none")
        if self.parser.is_full or self.parser.has_ended:
            return
        if self.parser.status == "failed" or self.parser.error:
            raise self.error(self.parser.error or "the response failed")
        details = f"the last status was {self.parser.status[:40]!r}; {self.unreadable} events could not be read"
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
        if len(self._seen_events) < MAX_REMEMBERED:
            self._seen_events.add(mark)
        return False


def text_of_event(data: Any) -> tuple[dict[str, Any], str] | None:
    """The event that holds text of an answer, and the name of the field."""
    if not isinstance(data, dict) or data.get("type") != "response.output_text.delta" or not isinstance(data.get("delta"), str):
        return None
    return (data, "delta") if data["delta"] else None
