"""Asks a token-id server for its product, its models and its context length."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chatui.backends.base import BackendError
from chatui.backends.discovery import Discovered, ask
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.http import Upstream
from chatui.codes import ProductCode


@dataclass(frozen=True, slots=True)
class TokenServer:
    """``dialect``: a key of ``DIALECTS``. ``contexts``: tokens by model; None is the key for any model. Empty if unknown."""

    dialect: str
    models: tuple[str, ...] = ()
    contexts: tuple[tuple[str | None, int], ...] = ()

    def context(self, model: str | None) -> int | None:
        """How many tokens a prompt and its answer may have together; None if unknown."""
        known = dict(self.contexts)
        return known.get(model) or known.get(None) or next(iter(known.values()), None)


async def ask_token_server(upstream: Upstream, dialect: str | None) -> TokenServer:
    """Ask, within ``discover`` seconds for each of two questions. A ``dialect`` from the operator is used as given.

    Raises:
        BackendError: the server cannot be reached, or supports no known dialect.
    """
    try:
        found = await ask(upstream)
    except BackendError:
        if dialect is None:
            raise
        found = Discovered(None, ())
    dialect = dialect or found.server
    if dialect not in DIALECTS:
        raise BackendError(
            ProductCode.BACKEND,
            f"The server ({found.server or 'it does not say what it is'}) is none that is known to take and give token ids "
            f"({', '.join(DIALECTS)}). Use kind chat for it, or name its dialect in the kind, as in harmony-vllm.",
        )
    return TokenServer(dialect, found.models, await _contexts(upstream, dialect))


async def _contexts(upstream: Upstream, dialect: str) -> tuple[tuple[str | None, int], ...]:
    """Empty if unknown: then the server itself has to refuse a prompt that is too long."""
    try:
        async with asyncio.timeout(upstream.limits.discover):
            _, body = await upstream.get("/props" if dialect == "llama.cpp" else "/v1/models")
    except (BackendError, TimeoutError):
        return ()
    if not isinstance(body, dict):
        return ()
    if dialect == "llama.cpp":
        settings = body.get("default_generation_settings")
        length = settings.get("n_ctx") if isinstance(settings, dict) else None
        return ((None, length),) if type(length) is int and length > 0 else ()
    return tuple(_lengths(body.get("data")))


def _lengths(entries: object) -> list[tuple[str | None, int]]:
    lengths: list[tuple[str | None, int]] = []
    for entry in entries if isinstance(entries, list) else []:
        name, length = (entry.get("id"), entry.get("max_model_len")) if isinstance(entry, dict) else (None, None)
        if isinstance(name, str) and type(length) is int and length > 0:
            lengths.append((name, length))
    return lengths
