"""The llama.cpp dialect: requests to its completion endpoint, and its chunks, in which ids mark the real markers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chatui.backends.base import BackendError, EndReason, Usage
from chatui.backends.harmony.dialect import Chunks, CompletionRequest
from chatui.backends.harmony.sampled_ids import UNKNOWN_STOP, count, is_stop, model_name, no_ids, refuse, token_ids
from chatui.backends.speaker import label_of_envelope
from chatui.codes import ProductCode
from renderer.harmony.pieces import Marker, Piece, TokenPieces, text_of_pieces
from renderer.harmony.vocabulary import SPECIAL_IDS, Vocabulary, marker_name

_COMPACT = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}
"""Servers built with llguidance allow any white space in JSON, and small models may then write nothing else. Others ignore this."""


class LlamaCpp:
    """llama.cpp's own ``/completion``."""

    path = "/completion"
    # The last chunk would repeat the prompt as text, which can be longer than our limit for a line.
    _FIELDS = ("content", "tokens", "stop", "stop_type", "truncated", "model", "tokens_predicted", "tokens_evaluated")

    def payload(self, asked: CompletionRequest) -> dict[str, object]:
        """See Dialect. It ends at ``<|return|>`` and ``<|call|>`` by itself."""
        return {
            **asked.sampling,
            **({} if asked.schema is None else {"json_schema": {**asked.schema, **_COMPACT}}),
            **({"grammar": "root ::= " + " | ".join(map(json.dumps, asked.words))} if asked.words else {}),
            "prompt": list(asked.ids),
            "stream": True,
            "return_tokens": True,
            "n_predict": asked.max_tokens,
            "cache_prompt": True,
            "stop": [],
            "response_fields": list(self._FIELDS),
        }

    def chunks(self, vocabulary: Vocabulary) -> Chunks:
        """See Dialect."""
        return _LlamaCppChunks(vocabulary)


class _LlamaCppChunks:
    """Text comes from ``content``; ``tokens`` only tells which markers are real.

    If the bytes of a character are spread over several tokens, a streamed chunk has only the id of the last one, so the text cannot be
    decoded from the ids. A marker ends in a complete character, and is therefore always the last id of its chunk.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._was_stopped = False
        self.reason: EndReason | None = None
        self.usage: Usage | None = None
        self.model: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """See Chunks."""
        refuse(label_of_envelope(chunk))
        content = chunk.get("content")
        pieces = self._pieces(content if isinstance(content, str) else "", token_ids(chunk.get("tokens") or []))
        self._was_stopped = self._was_stopped or any(map(is_stop, pieces))
        if chunk.get("stop") is True:
            self.model = model_name(chunk.get("model"))
            self.usage = Usage(count(chunk.get("tokens_evaluated")), count(chunk.get("tokens_predicted")))
            self.reason = EndReason.STOP if chunk.get("stop_type") in ("eos", "word") else EndReason.LENGTH
            if self.reason is EndReason.STOP and not self._was_stopped:
                pieces = [*pieces, UNKNOWN_STOP]
        return pieces

    def _pieces(self, content: str, ids: list[int]) -> list[Piece]:
        if content and not ids:
            raise no_ids()
        if not any(number in SPECIAL_IDS for number in ids):
            return [content] if content else []
        if len(ids) > 1:
            return self._from_ids(content, ids)
        name = str(marker_name(ids[0]))
        text = content.removesuffix(name)
        return [text, Marker(name)] if text else [Marker(name)]

    def _from_ids(self, content: str, ids: list[int]) -> list[Piece]:
        """An answer that arrived in one piece. The ids are used only if they match the text, except for the token that ended it."""
        reader = TokenPieces(self._vocabulary)
        pieces = [*reader.feed(ids), *reader.finish()]
        if content not in (text_of_pieces(pieces), text_of_pieces(pieces[:-1] if is_stop(pieces[-1]) else pieces)):
            raise BackendError(ProductCode.BACKEND, "the token ids of an event and its text do not belong together")
        return pieces
