"""The three dialects of token ids in, token ids out: what llama.cpp, vLLM and SGLang are asked, and their chunks read as Harmony pieces.

A marker counts only where its id came. A server that does not say which ids it sampled is refused, for then a quoted marker could not
be told from a real one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chatui.backends.base import BackendError, EndReason, Usage
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.harmony.pieces import Marker, Piece, TokenPieces, text_of_pieces
from renderer.harmony.reader import END_OF_TEXT
from renderer.harmony.vocabulary import MARKER_IDS, SPECIAL_IDS, Vocabulary, marker_name
from renderer.tokens import TERMINATORS, Token

STOP_IDS = (MARKER_IDS[Token.RETURN], MARKER_IDS[Token.CALL])
_UNKNOWN_STOP = Marker(Token.END)
"""Stands for the token that ended the output where the server does not say which one it was."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: the ids of the prompt, how many more may be sampled, and the model's name for servers that have several."""

    ids: Sequence[int]
    max_tokens: int
    model: str | None = None


class Chunks(Protocol):
    """Reads the decoded chunks of one answer, in order. ``reason`` is None until the server has said why the model stopped."""

    reason: EndReason | None
    usage: Usage | None
    model: str | None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """What this chunk adds.

        Raises:
            BackendError: it does not say what was sampled, or the server gave up.
        """
        ...


class Dialect(Protocol):
    """How one kind of server is spoken to."""

    @property
    def path(self) -> str:
        """Where requests go."""
        ...

    def payload(self, asked: Asked) -> dict[str, object]:
        """The body of the request."""
        ...

    def chunks(self, vocabulary: Vocabulary) -> Chunks:
        """A reader for one answer."""
        ...


class LlamaCpp:
    """llama.cpp's own ``/completion``."""

    path = "/completion"
    # The last chunk would bring the prompt back as text, which can be longer than a line may be.
    _FIELDS = ("content", "tokens", "stop", "stop_type", "truncated", "model", "tokens_predicted", "tokens_evaluated")

    def payload(self, asked: Asked) -> dict[str, object]:
        """See Dialect. It ends at ``<|return|>`` and ``<|call|>`` by itself."""
        return {
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


class Vllm:
    """vLLM's ``/v1/completions``."""

    path = "/v1/completions"

    def payload(self, asked: Asked) -> dict[str, object]:
        """See Dialect. Without these options it strips markers and keeps the ids to itself."""
        return {
            **({"model": asked.model} if asked.model else {}),
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


class SGLang:
    """SGLang's own ``/generate``."""

    path = "/generate"

    def payload(self, asked: Asked) -> dict[str, object]:
        """See Dialect."""
        sampling = {
            "max_new_tokens": asked.max_tokens,
            "stop_token_ids": list(STOP_IDS),
            "skip_special_tokens": False,
            "no_stop_trim": True,
        }
        return {"input_ids": list(asked.ids), "stream": True, "sampling_params": sampling}

    def chunks(self, vocabulary: Vocabulary) -> Chunks:
        """See Dialect."""
        return _SGLangChunks(vocabulary)


DIALECTS: dict[str, Dialect] = {"llama.cpp": LlamaCpp(), "vLLM": Vllm(), "SGLang": SGLang()}
"""By the name that ``discovery`` gives the server."""


class _LlamaCppChunks:
    """Text comes from ``content``; ``tokens`` only tells which markers are real.

    Where the bytes of a character are spread over several tokens, a streamed chunk has the id of the last one only, so the ids are no
    source of text. A marker ends in a whole character, and is therefore always the last id of its chunk.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._was_stopped = False
        self.reason: EndReason | None = None
        self.usage: Usage | None = None
        self.model: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """See Chunks."""
        content = chunk.get("content")
        pieces = self._pieces(content if isinstance(content, str) else "", _ids(chunk.get("tokens") or []))
        self._was_stopped = self._was_stopped or any(map(_is_stop, pieces))
        if chunk.get("stop") is True:
            self.model = _name(chunk.get("model"))
            self.usage = Usage(_count(chunk.get("tokens_evaluated")), _count(chunk.get("tokens_predicted")))
            self.reason = EndReason.STOP if chunk.get("stop_type") in ("eos", "word") else EndReason.LENGTH
            if self.reason is EndReason.STOP and not self._was_stopped:
                pieces = [*pieces, _UNKNOWN_STOP]
        return pieces

    def _pieces(self, content: str, ids: list[int]) -> list[Piece]:
        if content and not ids:
            raise _no_ids()
        if not any(number in SPECIAL_IDS for number in ids):
            return [content] if content else []
        if len(ids) > 1:
            return self._from_ids(content, ids)
        name = str(marker_name(ids[0]))
        text = content.removesuffix(name)
        return [text, Marker(name)] if text else [Marker(name)]

    def _from_ids(self, content: str, ids: list[int]) -> list[Piece]:
        """An answer that came whole. The ids are believed only if they say the same as the text, but for the token that ended it."""
        reader = TokenPieces(self._vocabulary)
        pieces = [*reader.feed(ids), *reader.finish()]
        if content not in (text_of_pieces(pieces), text_of_pieces(pieces[:-1] if _is_stop(pieces[-1]) else pieces)):
            raise BackendError(ProductCode.BACKEND, "the token ids of an event and its text do not belong together")
        return pieces


class _VllmChunks:
    """Text comes from ``token_ids``, which are complete, and from nothing else."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = _IdReader(vocabulary)
        self.reason: EndReason | None = None
        self.usage: Usage | None = None
        self.model: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """See Chunks."""
        self.model = _name(chunk.get("model")) or self.model
        usage, choices = chunk.get("usage"), chunk.get("choices")
        if isinstance(usage, dict):
            self.usage = Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return []
        ids = choice.get("token_ids")
        if ids is None and choice.get("text"):
            raise _no_ids()
        pieces = self._ids.feed(_ids(ids or []))
        if choice.get("finish_reason"):
            self.reason = _reason(choice["finish_reason"])
            pieces += self._ids.end(self.reason, choice.get("stop_reason"))
        return pieces


class _SGLangChunks:
    """Text comes from ``output_ids``: all of them so far in each chunk, or with a server option only the new ones."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = _IdReader(vocabulary)
        self._seen = 0
        self.reason: EndReason | None = None
        self.usage: Usage | None = None
        self.model: str | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """See Chunks."""
        about = chunk.get("meta_info")
        about = about if isinstance(about, dict) else {}
        self.usage = Usage(_count(about.get("prompt_tokens")), _count(about.get("completion_tokens")))
        if chunk.get("output_ids") is None and chunk.get("text"):
            raise _no_ids()
        pieces = self._ids.feed(self._new(_ids(chunk.get("output_ids") or []), self.usage.completion_tokens))
        if finished := about.get("finish_reason"):
            finished = finished if isinstance(finished, dict) else {"type": finished}
            self.reason = _reason(finished.get("type"))
            pieces += self._ids.end(self.reason, finished.get("matched"))
        return pieces

    def _new(self, ids: list[int], sampled: int | None) -> list[int]:
        """Those of ``ids`` that were not read yet; ``sampled`` is how many the server says that there are by now."""
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


class _IdReader:
    """Complete ids to pieces, and the token that ended them, which some servers leave out and only name."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._reader = TokenPieces(vocabulary)
        self._was_stopped = False

    def feed(self, ids: list[int]) -> list[Piece]:
        pieces = self._reader.feed(ids)
        self._was_stopped = self._was_stopped or any(map(_is_stop, pieces))
        return pieces

    def end(self, reason: EndReason, named: object) -> list[Piece]:
        """``named``: the id at which the server says that it stopped."""
        rest = self._reader.finish()
        if reason is not EndReason.STOP or self._was_stopped:
            return rest
        name = marker_name(named) if isinstance(named, int) else None
        return [*rest, Marker(name) if name else _UNKNOWN_STOP]


def _is_stop(piece: Piece) -> bool:
    return isinstance(piece, Marker) and (piece.token in TERMINATORS - {Token.END} or piece.token == END_OF_TEXT)


def _reason(said: object) -> EndReason:
    match said:
        case "stop":
            return EndReason.STOP
        case "length":
            return EndReason.LENGTH
    raise BackendError(Code.STREAM_TRUNCATED, f"the server ended the answer for a reason of its own: {said!r:.200}")


def _ids(value: object) -> list[int]:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise BackendError(ProductCode.BACKEND, "the token ids of an event are no list of whole numbers")
    return value


def _no_ids() -> BackendError:
    return BackendError(
        ProductCode.BACKEND,
        "The server sends text without token ids, so hidden text could not be told from the answer. Use kind chat for it.",
    )


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
