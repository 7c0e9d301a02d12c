"""The same moments of an answer in each wire format: thinking, half an answer, and every kind of end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_backend import LLAMA, VLLM, ids_of, llama, sse, vllm
from tests.chatui.backends.responses.test_backend import BEGUN, ended, message_event
from tests.chatui.backends.responses.test_backend import THOUGHT as RESPONSES_THOUGHT
from tests.support.stub import DONE, SSE_HEAD, chunk

SECRET = "SECRET-OF-THE-SERVER"
WORDS = "Half an answer"


@dataclass(frozen=True)
class Format:
    """Each part is sent after the head of a stream. ``thought`` holds the secret; ``words`` begin an answer."""

    kind: str
    thought: bytes
    words: bytes
    stops: bytes
    cut: bytes
    """The answer ends at its length limit."""
    filtered: bytes
    """The server's content filter ends the answer; empty for formats without one."""
    error: Callable[[Mapping[str, object]], bytes]
    of_its_own: bytes = b""
    """The server ends the answer for a reason that nobody knows; empty for the formats of ids."""
    closes: bytes = b""
    """The thinking ends."""
    server: dict[str, Any] = field(default_factory=dict)

    @property
    def half(self) -> bytes:
        return self.thought + self.words


def _in_band(error: Mapping[str, object]) -> bytes:
    return b"data: " + json.dumps({"error": error}).encode() + b"\n\n"


def _chat() -> Format:
    thought, words = chunk(reasoning_content=SECRET), chunk(content=WORDS)
    stops, cut, filtered, of_its_own = (chunk(reason) + DONE for reason in ("stop", "length", "content_filter", "error"))
    return Format("chat", thought, words, stops, cut, filtered, _in_band, of_its_own)


def _responses() -> Format:
    thought = RESPONSES_THOUGHT.replace(b"SECRET", SECRET.encode()).removeprefix(SSE_HEAD)
    words = BEGUN.removeprefix(SSE_HEAD) + message_event(WORDS)
    cut, filtered = (ended("incomplete", incomplete_details={"reason": reason}) for reason in ("max_output_tokens", "content_filter"))

    def error(fields: Mapping[str, object]) -> bytes:
        return ended("failed", error=fields)

    return Format("responses", thought, words, ended(), cut, filtered, error, ended("exploded"))


def _texts(vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    hidden = ids_of(vocabulary, f"<|channel|>analysis<|message|>{SECRET}")
    return hidden, ids_of(vocabulary, f"<|end|><|start|>assistant<|channel|>final<|message|>{WORDS}")


def _llama(vocabulary: Vocabulary) -> Format:
    names = {"<|channel|>", "<|message|>", "<|end|>", "<|start|>"}

    def token_stream(*pieces: str) -> bytes:
        found = [(piece, ids_of(vocabulary, piece)) for piece in pieces]
        assert all(len(ids) == 1 for piece, ids in found if piece in names)
        return sse(*(llama(piece, *ids[-1:]) for piece, ids in found))

    thought = token_stream("<|channel|>", "analysis", "<|message|>", SECRET)
    words = token_stream("<|end|>", "<|start|>", "assistant", "<|channel|>", "final", "<|message|>", WORDS)
    [last] = ids_of(vocabulary, "<|return|>")
    stops = sse(llama("", last), llama("", stop_type="eos") | {"stop": True})
    cut = sse(llama("", stop_type="limit") | {"stop": True})
    return Format("harmony-llamacpp", thought, words, stops, cut, b"", _in_band, closes=token_stream("<|end|>"), server=LLAMA)


def _vllm(vocabulary: Vocabulary) -> Format:
    hidden, shown = _texts(vocabulary)
    [last] = ids_of(vocabulary, "<|return|>")
    stops = sse(vllm(last, finish="stop", stop=last)) + DONE
    cut = sse(vllm(finish="length")) + DONE
    closes = sse(vllm(*ids_of(vocabulary, "<|end|>")))
    return Format("harmony-vllm", sse(vllm(*hidden)), sse(vllm(*shown)), stops, cut, b"", _in_band, closes=closes, server=VLLM)


def every_format(vocabulary: Vocabulary) -> list[Format]:
    return [_chat(), _responses(), _llama(vocabulary), _vllm(vocabulary)]
