"""Asks a model server for its product name, its models, and their context lengths."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

from chatui.backends.base import BackendError, Limits
from chatui.backends.context.server_limits import asked_contexts
from chatui.backends.http import Upstream
from chatui.backends.http1.route import DIRECT, Route
from chatui.codes import ProductCode

_VERSION = re.compile(r"[-_.:@\d]*")
_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM", "library": "Ollama", "sglang": "SGLang"}


@dataclass(frozen=True, slots=True)
class Discovered:
    """The discovered facts about a server. ``server``: the product name, None if unknown. ``models``: in the server's order.

    ``contexts``: how many tokens a prompt and its answer may have together, by model; None is the key for any model.
    """

    server: str | None
    models: tuple[str, ...]
    contexts: tuple[tuple[str | None, int], ...] = ()

    def context(self, model: str | None) -> int | None:
        """The context length of this model; without a name, or if there is only one model, that of the first. None if unknown."""
        known = dict(self.contexts)
        first = next(iter(known.values()), None)
        return known.get(model) or known.get(None) or (first if model is None or len(known) == 1 else None)


async def discover(url: str, key: str | None = None, limits: Limits | None = None, route: Route = DIRECT) -> Discovered:
    """Ask the server at ``url``, within ``limits.discover`` seconds.

    Raises:
        BackendError: it cannot be reached, or refuses the key.
        ValueError: ``url`` is not an http address.
    """
    upstream = Upstream(url, key, limits or Limits(), route)
    try:
        return await ask(upstream)
    finally:
        await upstream.aclose()


async def ask(upstream: Upstream) -> Discovered:
    """As ``discover``, over existing connections."""
    try:
        async with asyncio.timeout(upstream.limits.discover):
            headers, body = await upstream.get("/v1/models")
            entries = _entries(body)
            server = _by_header(headers.get("server", "")) or _by_owner(entries) or await _by_version(upstream)
    except TimeoutError as error:
        raise BackendError(ProductCode.TIMEOUT, "the server did not name its models in time", retryable=True) from error
    names = (entry.get("id") for entry in entries)
    return Discovered(server, tuple(name for name in names if isinstance(name, str)), await asked_contexts(upstream, server, body))


def own_name(reported: str | None, asked: str | None, offered: Iterable[str]) -> str | None:
    """The model's name in an answer: the requested name, one that the server offers, or such a name with a version.

    People see it. Any other text there could be reasoning, so it is replaced by the requested name.
    """
    known = [name for name in (asked, *offered) if name]
    is_name = reported is not None and any(reported.startswith(name) and _VERSION.fullmatch(reported[len(name) :]) for name in known)
    return reported if is_name else asked


def _entries(body: object) -> list[dict[str, object]]:
    data = body.get("data") if isinstance(body, dict) else None
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _by_header(server: str) -> str | None:
    return "llama.cpp" if "llama.cpp" in server.lower() else None


def _by_owner(entries: list[dict[str, object]]) -> str | None:
    owners = (entry.get("owned_by") for entry in entries)
    return next((_OWNERS[owner] for owner in owners if isinstance(owner, str) and owner in _OWNERS), None)


async def _by_version(upstream: Upstream) -> str | None:
    """Ollama and vLLM each have their own version endpoint; a server that has neither is unknown."""
    for path, server in (("/api/version", "Ollama"), ("/version", "vLLM")):
        try:
            _, body = await upstream.get(path)
        except BackendError:
            continue
        if isinstance(body, dict) and "version" in body:
            return server
    return None
