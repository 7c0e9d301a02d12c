"""The vLLM dialect: requests to its completions endpoint, and its chunks, which hold all token ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatui.backends.base import EndReason, Usage
from chatui.backends.harmony.dialect import Chunks, CompletionRequest
from chatui.backends.harmony.sampled_ids import STOP_IDS, IdReader, count, end_reason, model_name, no_ids, refuse, token_ids
from chatui.backends.speaker import label_of_envelope, other_label
from renderer.harmony.pieces import Piece
from renderer.harmony.vocabulary import Vocabulary


class Vllm:
    """vLLM's ``/v1/completions``."""

    path = "/v1/completions"

    def payload(self, asked: CompletionRequest) -> dict[str, object]:
        """See Dialect. Without these options vLLM strips markers and sends no ids."""
        return {
            **({"model": asked.model} if asked.model else {}),
            **asked.sampling,
            **({} if asked.schema is None else {"structured_outputs": {"json": dict(asked.schema)}}),
            **({"structured_outputs": {"choice": list(asked.words)}} if asked.words else {}),
            "prompt": list(asked.ids),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": asked.max_tokens,
            "return_token_ids": True,
            "skip_special_tokens": False,
            "include_stop_str_in_output": True,
            "stop_token_ids": list(STOP_IDS),
        }

    def chunks(self, vocabulary: Vocabulary) -> Chunks:
        """See Dialect."""
        return _VllmChunks(vocabulary)


class _VllmChunks:
    """Text comes from ``token_ids``, which are complete, and from nothing else."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = IdReader(vocabulary)
        self.reason: EndReason | None = None
        self.usage: Usage | None = None
        self.model: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """See Chunks."""
        self.model = model_name(chunk.get("model")) or self.model
        usage, choices = chunk.get("usage"), chunk.get("choices")
        if isinstance(usage, dict):
            self.usage = Usage(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")))
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return []
        refuse(other_label(choice) or label_of_envelope(chunk))
        ids = choice.get("token_ids")
        if ids is None and choice.get("text"):
            raise no_ids()
        pieces = self._ids.feed(token_ids(ids or []))
        if choice.get("finish_reason"):
            self.reason = end_reason(choice["finish_reason"])
            pieces += self._ids.end(self.reason, choice.get("stop_reason"))
        return pieces
