"""Asks a model server for the context length of its models, in the place where each product reports the length in use."""

from __future__ import annotations

from collections.abc import Iterator

from chatui.backends.context.refusals import MAX_TOKENS
from chatui.backends.http import Upstream

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
    settings = body.get("default_generation_settings") if isinstance(body, dict) else None
    length = _tokens(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return ((None, length),) if length else ()


def _lengths(body: object, field: str) -> Iterator[tuple[str | None, int]]:
    entries = body.get(field) if isinstance(body, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        known = next((name for key in ("id", "name", "model") if isinstance(name := entry.get(key), str)), None)
        meta = entry.get("meta")
        length = next((tokens for key in _FIELDS if (tokens := _tokens(entry.get(key)))), None)
        length = length or (_tokens(meta.get("n_ctx")) if isinstance(meta, dict) else None)
        if known is not None and length:
            yield known, length


def _tokens(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= MAX_TOKENS else None
