"""The SGLang dialect: requests to its generate endpoint, and its chunks, which may repeat earlier token ids."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from chatui.backends.base import BackendError, EndReason, Usage
from chatui.backends.harmony.dialect import Chunks, CompletionRequest
from chatui.backends.harmony.sampled_ids import STOP_IDS, IdReader, count, end_reason, no_ids, refuse, token_ids
from chatui.backends.speaker import label_of_envelope
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.harmony.pieces import Piece
from renderer.harmony.vocabulary import Vocabulary


class SGLang:
    """SGLang's own ``/generate``."""

    path = "/generate"

    def payload(self, asked: CompletionRequest) -> dict[str, object]:
        """See Dialect."""
        sampling: dict[str, object] = {
            **asked.sampling,
            **({} if asked.schema is None else {"json_schema": json.dumps(asked.schema, ensure_ascii=False)}),
            **({"regex": "|".join(map(re.escape, asked.words))} if asked.words else {}),
            "max_new_tokens": asked.max_tokens,
            "stop_token_ids": list(STOP_IDS),
            "skip_special_tokens": False,
            "no_stop_trim": True,
        }
        return {"input_ids": list(asked.ids), "stream": True, "sampling_params": sampling}

    def chunks(self, vocabulary: Vocabulary) -> Chunks:
        """See Dialect."""
        return _SGLangChunks(vocabulary)


class _SGLangChunks:
    """Text comes from ``output_ids``: each chunk has all ids so far, or with a server option only the new ones."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = IdReader(vocabulary)
        self._seen = 0
        self.reason: EndReason | None = None
        self.usage: Usage | None = None
        self.model: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """See Chunks."""
        refuse(label_of_envelope(chunk))
        about = chunk.get("meta_info")
        about = about if isinstance(about, dict) else {}
        self.usage = Usage(count(about.get("prompt_tokens")), count(about.get("completion_tokens")))
        if chunk.get("output_ids") is None and chunk.get("text"):
            raise no_ids()
        pieces = self._ids.feed(self._new(token_ids(chunk.get("output_ids") or []), self.usage.completion_tokens))
        if finished := about.get("finish_reason"):
            finished = finished if isinstance(finished, dict) else {"type": finished}
            self.reason = end_reason(finished.get("type"))
            pieces += self._ids.end(self.reason, finished.get("matched"))
        return pieces

    def _new(self, ids: list[int], sampled: int | None) -> list[int]:
        """The ids that were not read yet. ``sampled``: the server's count so far."""
        if not ids:
            return []
        if sampled is None:
            raise BackendError(ProductCode.BACKEND, "the server does not say how many tokens there are by now")
        if len(ids) >= max(sampled, self._seen):
            new = ids[self._seen :]
        elif self._seen + len(ids) == sampled:
            new = ids
        else:
            raise BackendError(Code.STREAM_TRUNCATED, "the server left out token ids")
        self._seen += len(new)
        return new
