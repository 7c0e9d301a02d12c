"""Asks a model server which product it is and which models it offers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chatui.backends.base import BackendError, Limits
from chatui.backends.http import Upstream
from chatui.codes import ProductCode

_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM", "library": "Ollama", "sglang": "SGLang"}


@dataclass(frozen=True, slots=True)
class Discovered:
    """``server``: its product name, None where it could not be told. ``models``: in its own order."""

    server: str | None
    models: tuple[str, ...]


async def discover(url: str, key: str | None = None, limits: Limits | None = None) -> Discovered:
    """Ask the server at ``url``, within ``limits.discover`` seconds.

    Raises:
        BackendError: it cannot be reached, or refuses the key.
        ValueError: ``url`` is no http address.
    """
    upstream = Upstream(url, key, limits or Limits())
    try:
        return await ask(upstream)
    finally:
        await upstream.aclose()


async def ask(upstream: Upstream) -> Discovered:
    """The same over connections that are there already."""
    try:
        async with asyncio.timeout(upstream.limits.discover):
            headers, body = await upstream.get("/v1/models")
            entries = _entries(body)
            server = _by_header(headers.get("server", "")) or _by_owner(entries) or await _by_version(upstream)
    except TimeoutError as error:
        raise BackendError(ProductCode.TIMEOUT, "the server did not name its models in time", retryable=True) from error
    names = (entry.get("id") for entry in entries)
    return Discovered(server, tuple(name for name in names if isinstance(name, str)))


def _entries(body: object) -> list[dict[str, object]]:
    data = body.get("data") if isinstance(body, dict) else None
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _by_header(server: str) -> str | None:
    return "llama.cpp" if "llama.cpp" in server.lower() else None


def _by_owner(entries: list[dict[str, object]]) -> str | None:
    owners = (entry.get("owned_by") for entry in entries)
    return next((_OWNERS[owner] for owner in owners if isinstance(owner, str) and owner in _OWNERS), None)


async def _by_version(upstream: Upstream) -> str | None:
    """Ollama and vLLM each tell a version under an address of their own; a server that has neither is simply not known."""
    for path, server in (("/api/version", "Ollama"), ("/version", "vLLM")):
        try:
            _, body = await upstream.get(path)
        except BackendError:
            continue
        if isinstance(body, dict) and "version" in body:
            return server
    return None
