"""Recognizes a server's "prompt too long" error and reads its numbers; each server product words it differently."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from chatui.backends.base import BackendError
from chatui.backends.failures.bodies import error_objects
from chatui.codes import ProductCode

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
    """A prompt was too long. ``limit``: how many tokens the server accepts; ``prompt``: how many it counted; None if it does not say."""

    limit: int | None = None
    prompt: int | None = None


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
    """The message, and the fields beside it."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
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
