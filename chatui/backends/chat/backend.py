"""The backend for Chat Completions servers, such as llama.cpp, vLLM and Ollama."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import uuid4

import httpx

from chatui.backends.answer_format import as_chat, as_json, in_words, sample_in_format, tool_choice
from chatui.backends.base import BackendError, Endpoint, SampleEvent, SampleRequest
from chatui.backends.chat.deltas import Deltas
from chatui.backends.chat.joining import StreamReader, TextBackend, text_of_chunk
from chatui.backends.chat.messages import messages
from chatui.backends.context_fitting import sample_within, without_last_reasoning
from chatui.backends.continuation import Sample, continue_in_words, has_text
from chatui.backends.http import WHOLE
from chatui.backends.leaks.labels import Asked
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import RawEvent
from renderer.frames import Frame

_log = logging.getLogger(__name__)
_OPEN_ROUTER = "openrouter.ai"
_PREFILLING = ("llama.cpp", "Ollama")
"""Servers, as ``discovery`` names them, that let a gpt-oss model continue the last message of a request if that is an answer."""


class ChatCompletionsBackend(TextBackend):
    """A Backend for Chat Completions."""

    kind = "chat"

    def __init__(self, endpoint: Endpoint, *, summaries_are_trusted: bool = False) -> None:
        super().__init__(endpoint)
        self._summaries_are_trusted = summaries_are_trusted
        self._wants_reasoning = endpoint.wants_reasoning
        self._is_open_router = httpx.URL(endpoint.url).host.endswith(_OPEN_ROUTER)

    def sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        request = in_words(request)
        return self._continue(request) if request.cut_answer else self._within(request, self._sample)

    async def _continue(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        """Let the model continue inside its answer. If the server does not support that, or refuses, ask the model to continue."""
        if _prefills(await self._product(), request.cut_answer):
            has_begun = False
            try:
                async with aclosing(self._within(request, self._sample)) as events:
                    async for event in events:
                        has_begun = True
                        yield event
                return
            except BackendError as error:
                if has_begun or error.retryable or error.code is not ProductCode.BACKEND_REFUSED:
                    raise
        in_words = partial(continue_in_words, sample=self._sample)
        async with aclosing(self._within(without_last_reasoning(request), in_words)) as events:
            async for event in events:
                yield event

    async def _within(self, request: SampleRequest, sample: Sample) -> AsyncGenerator[SampleEvent, None]:
        window = await self._window(request.model)
        async with aclosing(sample_within(window, request, sample)) as events:
            async for event in events:
                yield event

    def _sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        return sample_in_format(request, self._sample_once)

    async def _sample_once(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        payload = await self._payload(request)
        deltas = Deltas(
            _new_call_id,
            max_chars=self._limits.max_output_chars,
            separation=self._separations.of(payload.get("model")),
            has_tools=bool(request.tools),
            asked=Asked(request.answer_format is not None, request.tools),
            summaries_are_trusted=self._summaries_are_trusted,
        )
        async with aclosing(self._read("/v1/chat/completions", payload, _Reader(deltas), request)) as events:
            async for event in events:
                yield event

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
        if not self._wants_reasoning:
            # A server ignores a field that it does not know, or rejects it: then it is no longer sent.
            payload |= {"reasoning": {"exclude": True}} if self._is_open_router else {"include_reasoning": False}
        return payload | tool_choice(request) | dict(request.sampling)


class _Reader(StreamReader):
    parser: Deltas

    def __init__(self, deltas: Deltas) -> None:
        super().__init__(deltas, text_of_chunk)
        self._failure: object = None

    def _object(self, event: ServerSentEvent, chunk: dict[str, Any]) -> list[RawEvent]:
        if event.name == "error" or chunk.get("object") == "error":
            raise self.error(chunk.get("error") or chunk)
        # What came with an error is kept.
        raws = self.parser.feed(chunk)
        self._failure = chunk.get("error") or _error_of_choice(chunk)
        self.is_done = event.name == WHOLE or self.parser.is_full or bool(self._failure)
        return raws

    def _check_end(self) -> None:
        self.parser.is_stated = self.parser.has_finished
        if self._bad:
            _log.warning("a model server sent %d events that are no JSON objects", self._bad)
        if self._failure:
            raise self.error(self._failure)
        if self.parser.failure and not self.parser.is_full:
            raise BackendError(Code.STREAM_TRUNCATED, f"the server ended the answer for a reason of its own: {self.parser.failure!r:.200}")
        if not self.is_done and not self.parser.has_finished:
            raise BackendError(Code.STREAM_TRUNCATED, f"the stream ended without an end; {self._bad} events could not be read")


def _error_of_choice(chunk: dict[str, Any]) -> object:
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice.get("error") if isinstance(choice, dict) else None


def _prefills(server: str | None, cut_answer: Frame | None) -> bool:
    """Whether the prompt may open this answer. Never without text: servers would then continue the reasoning as the answer."""
    return server in _PREFILLING and cut_answer is not None and has_text(cut_answer)


def _new_call_id() -> str:
    return f"call_{uuid4().hex}"
