"""The token-id dialects (llama.cpp, vLLM, SGLang): how each server product is requested, and how its chunks are read.

A marker counts only if its id was sent. A server that does not say which ids it sampled is refused, because a quoted marker could not be
distinguished from a real one. Unreadable ids are an error.

llama.cpp marks the real markers with ids. SGLang may repeat earlier token ids in a chunk. vLLM's chunks hold all token ids.
"""

from __future__ import annotations

import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chatui.backends.base import BackendError, EndReason, Usage
from chatui.backends.context_window import asked_contexts
from chatui.backends.discovery import Discovered, ask
from chatui.backends.http import Upstream
from chatui.backends.speaker import SpeakerLabel, label_of_envelope, other_label
from chatui.backends.sse import choice_of
from chatui.codes import Cause, ProductCode
from renderer.errors import Code
from renderer.harmony.pieces import Marker, Piece, TokenPieces, text_of_pieces
from renderer.harmony.reader import END_OF_TEXT
from renderer.harmony.vocabulary import MARKER_IDS, SPECIAL_IDS, Vocabulary, marker_name
from renderer.strict_json import object_of, text_of
from renderer.tokens import TERMINATORS, Token

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request."""

    ids: Sequence[int]
    """The ids of the prompt."""
    max_tokens: int
    """How many more may be sampled."""
    model: str | None = None
    """Its name, for servers that have several."""
    sampling: Mapping[str, float] = field(default_factory=dict)
    """As for a SampleRequest."""
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    """The whole output must be JSON that fits it."""
    words: Sequence[str] = ()
    """The output must be one of these words, none of which begins with another; not together with a schema."""


STOP_IDS = (MARKER_IDS[Token.RETURN], MARKER_IDS[Token.CALL])
UNKNOWN_STOP = Marker(Token.END)
"""Represents the stop token that ended the output if the server does not say which one it was."""
_UNSAID = 0
"""The id of an ordinary token, for a server that does not even say that the model stopped by itself: vLLM says null then."""


def is_stop(piece: Piece) -> bool:
    """Whether a piece is a marker at which the model stops by itself."""
    return isinstance(piece, Marker) and (piece.token in TERMINATORS - {Token.END} or piece.token == END_OF_TEXT)


def token_ids(value: object) -> list[int]:
    """The ids of an event. Raises BackendError if they are not valid ids."""
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise BackendError(ProductCode.BACKEND, "the token ids of an event are no list of whole numbers").with_cause(Cause.UNREADABLE)
    return value


def refuse(label: SpeakerLabel | None) -> None:
    """The error for a chunk with an unknown label: it may apply to any of its ids, so none of them is read."""
    if label:
        raise BackendError(
            ProductCode.BACKEND, f"The server calls what it sends something else than the answer: {label.name!r:.60}"
        ).with_cause(Cause.UNREADABLE)


NO_IDS = "text came, and no token ids"


def no_ids() -> BackendError:
    return BackendError(
        ProductCode.BACKEND_SETUP,
        "The server sends text without token ids, so hidden text could not be told from the answer. Use kind chat for it.",
    ).with_cause(Cause.KIND_NOT_SPOKEN, NO_IDS)


class Chunks(ABC):
    """A dialect: how a server is requested, and its reader of the decoded chunks of one answer, in order."""

    path: ClassVar[str]

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids = TokenPieces(vocabulary)
        self._was_stopped = False
        self._has_unknown = False
        self.reason: EndReason | None = None
        """None until the server reports why the model stopped."""
        self.failure = ""
        """The server's word for an end that is no good one; empty for a good one."""
        self.reported_end = ""
        """Its word for any end."""
        self.ids = 0
        """How many token ids it sent."""
        self.usage: Usage | None = None
        self.model: str | None = None

    @staticmethod
    @abstractmethod
    def payload(asked: CompletionRequest) -> dict[str, object]:
        """The body of the request."""

    @abstractmethod
    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """The pieces that this chunk adds.

        Raises:
            BackendError: the chunk has no readable token ids, or the server failed.
        """

    def _token_ids(self, value: object) -> list[int]:
        """As ``token_ids``. An id of no token becomes U+FFFD, which is no error of the frame: it is logged, once for an answer."""
        ids = token_ids(value)
        self.ids += len(ids)
        if not self._has_unknown and ids and (min(ids) < 0 or max(ids) >= SPECIAL_IDS.stop):
            self._has_unknown = True
            _log.warning("a model server (%s) sent ids of no token of gpt-oss: does it run another model?", type(self).__name__)
        return ids

    def _noted(self, pieces: list[Piece]) -> list[Piece]:
        self._was_stopped = self._was_stopped or any(map(is_stop, pieces))
        return pieces

    def _end(self, reported: object, named: object) -> list[Piece]:
        """The output ended: the final token, which some servers only name. ``named``: its id, as the server reports it, None for the
        model's own. An ordinary token, or a text, ends no message (specification section 9)."""
        self.reason = {"stop": EndReason.STOP, "length": EndReason.LENGTH}.get(str(reported))
        self.failure, self.reported_end = "" if self.reason else repr(reported), text_of(reported)
        rest = self._ids.finish()
        if self.reason is not EndReason.STOP or self._was_stopped:
            return rest
        if named is None or (isinstance(named, str) and named in MARKER_IDS):
            return [*rest, UNKNOWN_STOP]
        name = marker_name(named) if isinstance(named, int) else None
        return [*rest, Marker(name)] if name else rest


_COMPACT = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}
"""Servers built with llguidance allow any white space in JSON, and small models may then write nothing else. Others ignore this."""


class LlamaCpp(Chunks):
    """llama.cpp's own ``/completion``. Text comes from ``content``; ``tokens`` only tells which markers are real.

    If the bytes of a character are spread over several tokens, a streamed chunk has only the id of the last one, so the text cannot be
    decoded from the ids. A marker ends in a complete character, and is therefore always the last id of its chunk.
    """

    path = "/completion"
    # The last chunk would repeat the prompt as text, which can be longer than our limit for a line.
    _FIELDS = ("content", "tokens", "stop", "stop_type", "truncated", "model", "tokens_predicted", "tokens_evaluated")

    @staticmethod
    def payload(asked: CompletionRequest) -> dict[str, object]:
        """The body of the request. It names no tokens at which to stop: llama.cpp ends at ``<|return|>`` and ``<|call|>`` by itself."""
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
            "response_fields": list(LlamaCpp._FIELDS),
        }

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        refuse(label_of_envelope(chunk))
        pieces = self._noted(self._pieces(text_of(chunk.get("content")), self._token_ids(chunk.get("tokens") or [])))
        if chunk.get("stop") is True:
            self.model = text_of(chunk.get("model")) or None
            self.usage = Usage.reported(chunk, "tokens_evaluated", "tokens_predicted")
            self.reported_end = text_of(chunk.get("stop_type"))
            self.reason = EndReason.STOP if self.reported_end in ("eos", "word") else EndReason.LENGTH
            if self.reported_end == "eos" and not self._was_stopped:
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
            raise BackendError(ProductCode.BACKEND, "the token ids of an event and its text do not belong together").with_cause(
                Cause.UNREADABLE
            )
        return pieces


class SGLang(Chunks):
    """SGLang's own ``/generate``. Text comes from ``output_ids``: each chunk has all ids so far, or with a server option only new ones."""

    path = "/generate"
    _seen = 0

    @staticmethod
    def payload(asked: CompletionRequest) -> dict[str, object]:
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

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        refuse(label_of_envelope(chunk))
        about = object_of(chunk.get("meta_info"))
        self.usage = Usage.reported(about, "prompt_tokens", "completion_tokens")
        if chunk.get("output_ids") is None and chunk.get("text"):
            raise no_ids()
        pieces = self._noted(self._ids.feed(self._new(self._token_ids(chunk.get("output_ids") or []), self.usage.completion_tokens)))
        if finished := about.get("finish_reason"):
            finished = finished if isinstance(finished, dict) else {"type": finished}
            pieces += self._end(finished.get("type"), finished.get("matched", _UNSAID))
        return pieces

    def _new(self, ids: list[int], sampled: int | None) -> list[int]:
        """The ids that were not read yet. ``sampled``: the server's count so far."""
        if not ids:
            return []
        if sampled is None:
            raise BackendError(ProductCode.BACKEND, "the server does not say how many tokens there are by now").with_cause(Cause.UNREADABLE)
        if len(ids) >= max(sampled, self._seen):
            new = ids[self._seen :]
        elif self._seen + len(ids) == sampled:
            new = ids
        else:
            raise BackendError(Code.STREAM_TRUNCATED, "the server left out token ids")
        self._seen += len(new)
        return new


class Vllm(Chunks):
    """vLLM's ``/v1/completions``. Text comes from ``token_ids``, which are complete, and from nothing else."""

    path = "/v1/completions"

    @staticmethod
    def payload(asked: CompletionRequest) -> dict[str, object]:
        """Without these options vLLM strips markers and sends no ids."""
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

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        self.model = text_of(chunk.get("model")) or self.model
        usage, choice = chunk.get("usage"), choice_of(chunk)
        if isinstance(usage, dict):
            self.usage = Usage.reported(usage, "prompt_tokens", "completion_tokens")
        if choice is None:
            return []
        refuse(other_label(choice) or label_of_envelope(chunk))
        ids = choice.get("token_ids")
        if ids is None and choice.get("text"):
            raise no_ids()
        pieces = self._noted(self._ids.feed(self._token_ids(ids or [])))
        if choice.get("finish_reason"):
            pieces += self._end(choice["finish_reason"], choice.get("stop_reason", _UNSAID))
        return pieces


DIALECTS: dict[str, type[Chunks]] = {"llama.cpp": LlamaCpp, "vLLM": Vllm, "SGLang": SGLang}
"""By the name that ``discovery`` gives the server."""


async def ask_token_server(upstream: Upstream, dialect: str | None) -> Discovered:
    """Query the server, within ``discover`` seconds for each of two requests; its ``server`` is a key of ``DIALECTS``. A ``dialect`` from
    the operator is used as given.

    Raises:
        BackendError: the server cannot be reached, or supports no known dialect.
    """
    try:
        found = await ask(upstream, dialect)
    except BackendError:
        if dialect is None:
            raise
        return Discovered(dialect, (), await asked_contexts(upstream, dialect, None))
    if found.server not in DIALECTS:
        raise BackendError(
            ProductCode.BACKEND_SETUP,
            f"The server ({found.server or 'it does not say what it is'}) is none that is known to take and give token ids "
            f"({', '.join(DIALECTS)}). Use kind chat for it, or name its dialect in the kind, as in harmony-vllm.",
        ).with_cause(Cause.KIND_NOT_SPOKEN)
    return found
