"""The backend for Chat Completions servers, such as llama.cpp, vLLM and Ollama."""

from __future__ import annotations

import logging
from types import NoneType
from typing import Any

import httpx

from chatui.backends.answer_format import as_chat, as_json, tool_choice
from chatui.backends.base import BackendError, Endpoint, SampleEnded, SampleRequest, Taker
from chatui.backends.chat.deltas import Deltas
from chatui.backends.chat.messages import messages
from chatui.backends.continuation import has_text
from chatui.backends.http import WHOLE
from chatui.backends.joining import text_of_chunk
from chatui.backends.raw_frames import new_call_id
from chatui.backends.sse import ServerSentEvent, choice_of
from chatui.backends.text_backend import StreamReader, TextBackend, asked_of
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import RawEvent

_log = logging.getLogger(__name__)
_OPEN_ROUTER = "openrouter.ai"
_PREFILLING = ("llama.cpp", "Ollama")
"""Servers, as ``discovery`` names them, that let a gpt-oss model continue the last message of a request if that is an answer."""


class ChatCompletionsBackend(TextBackend):
    """A Backend for Chat Completions."""

    kind, path = "chat", "/v1/chat/completions"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._is_open_router = httpx.URL(endpoint.url).host.endswith(_OPEN_ROUTER)

    async def _continued(self, request: SampleRequest, take: Taker) -> SampleEnded:
        """Let the model continue inside its answer. If the server does not support that, or refuses, ask the model to continue."""
        # Never without text: servers would then continue the reasoning as the answer.
        if await self._product() in _PREFILLING and request.cut_answer and has_text(request.cut_answer):
            try:
                return await self._within(request, take, self._sample)
            except BackendError as error:
                if take.has_begun or not _is_refused(error):
                    raise
        return await super()._continued(request, take)

    async def _prepared(self, request: SampleRequest) -> tuple[dict[str, Any], StreamReader]:
        payload = await self._payload(request)
        model = payload.get("model")
        deltas = Deltas(
            new_call_id,
            max_chars=self._limits.max_output_chars,
            separation=self._separations.of(model),
            of_upstream=lambda upstream: self._separations.of(model, upstream),
            asked=asked_of(request),
            summaries_are_trusted=self._endpoint.trusts_summaries,
        )
        return payload, _Reader(deltas)

    async def _payload(self, request: SampleRequest) -> dict[str, Any]:
        model = await self._model_for(request.model)
        payload: dict[str, Any] = {
            "messages": messages(request.frames, request.cut_answer, request.given_back),
            "stream": True,
            "stream_options": {"include_usage": True},
            "reasoning_effort": request.effort,
        }
        if request.cut_answer:
            payload |= {"continue_final_message": True, "add_generation_prompt": False}
        if request.tools:
            payload["tools"] = [{"type": "function", "function": as_json(tool)} for tool in request.tools]
        if request.answer_format and request.asks_for_format and request.cut_answer is None:
            payload["response_format"] = as_chat(request.answer_format)
        if model:
            payload["model"] = model
        if request.max_tokens:
            payload["max_tokens"] = request.max_tokens
        if not self._endpoint.wants_reasoning:
            # A server ignores a field that it does not know, or rejects it: then it is no longer sent.
            payload |= {"reasoning": {"exclude": True}} if self._is_open_router else {"include_reasoning": False}
        return payload | tool_choice(request) | dict(request.sampling)


class _Reader(StreamReader):
    parser: Deltas

    def __init__(self, deltas: Deltas) -> None:
        super().__init__(deltas, text_of_chunk)

    def _object(self, event: ServerSentEvent, chunk: dict[str, Any]) -> list[RawEvent]:
        if event.name == "error" or chunk.get("object") == "error":
            raise self.error(chunk.get("error") or chunk)
        if not _is_chunk(chunk):
            self._skip()
        # What came with an error is kept.
        raws = self.parser.feed(chunk)
        self.is_done = event.name == WHOLE or self.parser.is_full or bool(self.parser.error)
        return raws

    def _check_end(self) -> None:
        self.parser.is_stated = self.parser.has_finished
        if self.unreadable:
            _log.warning("a model server sent %d events that could not be read", self.unreadable)
        if self.parser.error:
            raise self.error(self.parser.error)
        if self.parser.failure and not self.parser.is_full:
            raise BackendError(Code.STREAM_TRUNCATED, f"the server ended the answer for a reason of its own: {self.parser.failure!r:.200}")
        if not self.is_done and not self.parser.has_finished:
            raise BackendError(Code.STREAM_TRUNCATED, f"the stream ended without an end; {self.unreadable} events could not be read")


def _is_chunk(chunk: dict[str, Any]) -> bool:
    """Whether its choices are of the types that the format says. None need be there: chunks about the usage have none."""
    if (choice := choice_of(chunk)) is None:
        choices = chunk.get("choices")
        return choices is None or (isinstance(choices, list) and (not choices or any(isinstance(each, dict) for each in choices)))
    return isinstance(choice.get("delta"), (dict, NoneType)) and isinstance(choice.get("message"), (dict, NoneType))


def _is_refused(error: BackendError) -> bool:
    return error.code is ProductCode.BACKEND_REFUSED and not error.retryable
