"""The known context length of one model on one server, and how it is divided between prompt and answer.

It is known from the operator, from the server, or from its refusals. Each server product words its "prompt too long" error differently, and
reports the length in use in a different place. How many tokens a text has is estimated.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from chatui.backends.base import BackendError, Usage
from chatui.backends.failures import error_objects
from chatui.backends.http import Upstream
from chatui.backends.sse import decoded, tables
from chatui.codes import ProductCode
from renderer.frames import Frame
from renderer.harmony.prompt import FunctionTool
from renderer.strict_json import object_of

MAX_TOKENS = 100_000_000
_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "model_max_prompt_tokens_exceeded"})
# Limits per minute are worded alike, but have another code.
_OF_A_PROMPT = (ProductCode.BACKEND, ProductCode.BACKEND_REFUSED)
_WRAPPED = re.compile(r"(?:litellm\.)?ContextWindowExceededError\b")
_NUMBER = r"(\d[\d,_]{0,15})"
# What may precede a sentence: names of errors and of providers. A sentence in the middle of a text may be a quotation of a person.
_PREFIX = r"(?:[\w.' ]{1,60}(?::| -)\s*){0,6}"

_SENTENCES = (
    "This (?:model|endpoint)'s maximum context length is",  # OpenAI, vLLM, OpenRouter, llama-cpp-python
    "'max_(?:completion_)?tokens'(?: or 'max_completion_tokens')? is too large",  # vLLM
    r"(?:the )?request (?:\(\d+ tokens\) )?exceeds the available context size",  # llama.cpp
    "Requested token count exceeds the model's maximum context length",  # SGLang
    r"The input \(\d+ tokens\) is longer than the model's context length",  # SGLang
    r"Input length \(\d+ tokens\) exceeds the maximum allowed length",  # SGLang
    r"The (?:decoder |encoder )?prompt \((?:total )?length \d+\) is (?:longer than the maximum model length|too long to fit)",  # vLLM
    r"The engine prompt length \d+ exceeds the max_model_len",  # vLLM, Responses
    "Trying to keep the first",  # LM Studio
    "The number of tokens to keep from the initial prompt is greater than the context length",  # LM Studio
    "Reached context length of",  # LM Studio, in the middle of an answer
    "(?:the )?(?:input|prompt) (?:length )?exceeds (?:the |maximum |the maximum |the model's )?context (?:length|window|size)",  # Ollama
    r"Requested tokens \(\d+\) exceed context window",  # llama-cpp-python
    "(?:The )?prompt is too long",  # Anthropic, Fireworks
    r"The input token count (?:\(\d+\) )?exceeds the maximum number of tokens",  # Gemini
    r"Prompt contains \d+ tokens.{0,60}too large for model",  # Mistral
    "Your input exceeds the context window of this model",  # OpenAI, Responses
    "Please reduce the length of the messages or completion",  # Groq
    "`inputs` (?:must have less than|tokens \\+ `max_new_tokens` must be)",  # TGI
    r"Input length of input_ids is \d+, but `max_length` is set to",  # transformers
)
_IS_REFUSAL = re.compile(f"{_PREFIX}(?:{'|'.join(_SENTENCES)})", re.IGNORECASE)
_LIMITS = tuple(
    re.compile(pattern.replace("#", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"maximum context length(?: is|:| of) (?:only )?#",
        r"context (?:size|length|window) \(?(?:is |of )?(?:only )?#",
        r"n_ctx: #",
        r"max_model_len #",
        r"maximum model length of #",
        r"maximum (?:allowed length|number of tokens allowed) \(#",
        r"too large for model with # maximum",
        r"tokens > # maximum",
        r"less than # tokens",
        r"must be <= #",
        r"`max_length` is set to #",
    )
)
_PROMPTS = tuple(
    re.compile(pattern.replace("#", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"\(# (?:in the (?:messages|prompt)|of text input)",
        r"# tokens from the input",
        r"(?:your request has|your messages resulted in|your prompt contains at least) # (?:input )?tokens",
        r"Given: #",
        r"(?:request|input|length|tokens|token count) \(# ?(?:tokens)?\)",
        r"\((?:total )?length #\)",
        r"prompt length #",
        r"keep the first #",
        r"n_keep: #",
        r"too long: #",
        r"contains # tokens",
        r"input_ids is #",
        r"you requested (?:about )?# tokens",
    )
)


@dataclass(frozen=True, slots=True)
class Overflow:
    """A prompt was too long. None: the server does not say."""

    limit: int | None = None
    """How many tokens the server accepts."""
    prompt: int | None = None
    """How many tokens it counted."""


def overflow_of(error: BackendError) -> Overflow | None:
    """The numbers in a "prompt too long" error; None for any other error, such as a limit per minute."""
    if error.code not in _OF_A_PROMPT:
        return None
    message, fields = _read(re.sub(r"^HTTP \d{3}: ", "", error.detail))
    if not (_CODES & {fields.get("code"), fields.get("type")} or _IS_REFUSAL.match(message) or _WRAPPED.match(message)):
        return None
    limit, prompt = _plain(fields.get("n_ctx")), _plain(fields.get("n_prompt_tokens"))
    return Overflow(limit or _first(_LIMITS, message), prompt or _first(_PROMPTS, message))


def _read(body: str) -> tuple[str, Mapping[str, object]]:
    found = decoded(body)
    if found is None:
        return body.strip(), {}
    for fields in error_objects(found):
        message = next((text for name in ("message", "error", "detail") if isinstance(text := fields.get(name), str)), None)
        if message is not None:
            return message.strip(), {name: value for name, value in fields.items() if isinstance(value, (str, int))}
    return "", {}


def _first(patterns: tuple[re.Pattern[str], ...], message: str) -> int | None:
    found = (match for pattern in patterns if (match := pattern.search(message)))
    return next((_plain(int(match[1].replace(",", "").replace("_", ""))) for match in found), None)


def _plain(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= MAX_TOKENS else None


LEARNED_SECONDS = 3600.0
"""How long a limit from a refusal is trusted: the server may have been restarted with a larger one."""
_MIN_WEIGHT = 300.0
"""Shorter prompts are mostly template, so they are not used to measure the factor."""
_LOWEST, _HIGHEST = 0.3, 3.0
_SMALLER = 0.8
_TOKENS_PER_WEIGHT = 4.0
"""No text has more: a refusal that claims more is ignored."""


@dataclass(slots=True)
class _Learned:
    limit: int
    until: float
    asked: int | None
    is_exact: bool


class ContextWindow:
    """The context window of one model. ``factor``: the server's token counts relative to ``token_budget.weight``."""

    def __init__(self, given: int | None, now: Callable[[], float] = time.monotonic) -> None:
        """``given``: the operator's setting, in tokens of prompt and answer together."""
        self._given = given
        self._now = now
        self._asked: int | None = None
        self._learned: _Learned | None = None
        self.factor = 1.0

    @property
    def limit(self) -> int | None:
        """How many tokens a prompt and its answer may have together; None if unknown."""
        known = [found for found in (self._given or self._asked, self._current()) if found]
        return min(known) if known else None

    @property
    def is_declared(self) -> bool:
        """Whether the limit comes from the operator or the server's description, not just from a refusal."""
        return self.limit is not None and self.limit == (self._given or self._asked)

    @property
    def size(self) -> int | None:
        """The limit, unless it is a guess, which people must not see."""
        return None if self._learned and not self._learned.is_exact else self.limit

    def ask(self, asked: int | None) -> None:
        """Set what the server reports now. If that changed, limits from earlier refusals are dropped."""
        if self._learned and asked != self._learned.asked:
            self._learned = None
        self._asked = asked

    def learn(self, overflow: Overflow, weight: float, max_tokens: int | None, counted: float = 0.0) -> bool:
        """The server refused a prompt of this weight, with ``max_tokens`` for its answer.

        Returns whether that is plausible: the message may quote a person, who must not decide what others can send. ``counted``: see
        ``context_fitting.Fit``.
        """
        most = weight * _TOKENS_PER_WEIGHT
        if overflow.limit is not None and overflow.limit > most + (max_tokens or 0):
            return False
        if overflow.prompt is not None and overflow.prompt <= most:
            self._measure(overflow.prompt, weight, counted)
        limit = overflow.limit or max(int(weight * self.factor * _SMALLER), 1)
        self._learned = _Learned(limit, self._now() + LEARNED_SECONDS, self._asked, overflow.limit is not None)
        return True

    def note(self, usage: Usage | None, weight: float, counted: float = 0.0) -> None:
        """The server accepted a prompt of this weight, and may have counted its tokens."""
        prompt, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
        if prompt:
            self._measure(prompt, weight, counted)
        taken = (prompt or int(weight * _LOWEST)) + (written or 0)
        if self._learned and taken > self._learned.limit:
            self._learned = None

    def _measure(self, tokens: int, weight: float, counted: float) -> None:
        """The factor rises at once and falls slowly: the next conversation may be in another script.

        Prompts that were mostly counted exactly are not used.
        """
        if weight < _MIN_WEIGHT or 2 * counted > weight:
            return
        measured = min(max(tokens / weight, _LOWEST), _HIGHEST)
        self.factor = measured if measured > self.factor else (3 * self.factor + measured) / 4

    def _current(self) -> int | None:
        if self._learned and self._now() >= self._learned.until:
            self._learned = None
        return self._learned.limit if self._learned else None


Contexts = tuple[tuple[str | None, int], ...]
"""Tokens of prompt and answer together, by model; None is the key for any model."""

# vLLM and SGLang; LM Studio; OpenRouter and other gateways; Groq.
_FIELDS = ("max_model_len", "loaded_context_length", "context_length", "context_window")


async def asked_contexts(upstream: Upstream, server: str | None, listed: object) -> Contexts:
    """``listed``: the server's reply from ``/v1/models``. Empty if the server does not say: then the limit is learned from its refusals."""
    match server:
        case "llama.cpp":
            return _props(await upstream.try_get("/props")) or tuple(_lengths(listed, "data"))
        case "Ollama":
            return tuple(_lengths(await upstream.try_get("/api/ps"), "models"))
        case None:
            return tuple(_lengths(listed, "data")) or tuple(_lengths(await upstream.try_get("/api/v0/models"), "data"))
    return tuple(_lengths(listed, "data"))


def _props(body: object) -> Contexts:
    length = _plain(object_of(object_of(body).get("default_generation_settings")).get("n_ctx"))
    return ((None, length),) if length else ()


def _lengths(body: object, field: str) -> Iterator[tuple[str | None, int]]:
    for entry in tables(object_of(body).get(field)):
        known = next((name for key in ("id", "name", "model") if isinstance(name := entry.get(key), str)), None)
        length = next((tokens for key in _FIELDS if (tokens := _plain(entry.get(key)))), None)
        length = length or _plain(object_of(entry.get("meta")).get("n_ctx"))
        if known is not None and length:
            yield known, length


SEEN_CHARS = 1_000_000
"""How much of a branch is read, from its end: more than fits into the context of a gpt-oss model (131,072 tokens)."""

ANSWER_TOKENS = 4096
"""The default for the longest answer, and the tokens reserved for it; never more than a quarter of the context."""
FRAME_TOKENS = 8.0
"""The tokens around the text of a message."""
TEMPLATE_TOKENS = 100.0
"""The tokens that a server's template adds to every prompt."""
MARGIN = 0.95
"""The part of the space for a prompt that is used, because its tokens are only estimated."""
_ASCII_PER_TOKEN = 3.6
_OTHERS_PER_TOKEN = 1.3


def reserved_tokens(max_tokens: int | None, context: int) -> int:
    """How many tokens of a context are reserved for the answer."""
    return min(max_tokens or ANSWER_TOKENS, context // 4)


def weight(text: str) -> float:
    """The estimated tokens of a text, rather too many than too few. Corrected by what servers count (``ContextWindow.factor``)."""
    plain = len(text.encode("ascii", "ignore"))
    return plain / _ASCII_PER_TOKEN + (len(text) - plain) / _OTHERS_PER_TOKEN


def weight_of(frames: Iterable[Frame]) -> float:
    return sum(FRAME_TOKENS + weight(frame.body) for frame in frames)


def weight_of_tools(tools: Iterable[FunctionTool]) -> float:
    return sum(FRAME_TOKENS + weight(tool.name + tool.description + json.dumps(tool.parameters or {})) for tool in tools)
