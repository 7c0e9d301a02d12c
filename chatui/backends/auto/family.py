"""Detects gpt-oss by its tokenizer: asks a server for the ids of Harmony's markers."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

from chatui.backends.base import BackendError
from chatui.backends.http import WHOLE, Upstream
from renderer.harmony.vocabulary import MARKER_IDS
from renderer.tokens import Token

_MARKERS = (Token.CHANNEL, Token.MESSAGE)


async def knows_markers(upstream: Upstream, product: str | None, model: str | None) -> bool | None:
    """Whether the tokenizer gives the markers the ids of gpt-oss; None if the server does not say, or not in time."""
    ids = await _ids_of_markers(upstream, product, model)
    return None if ids is None else ids[-len(_MARKERS) :] == [MARKER_IDS[token] for token in _MARKERS]


async def _ids_of_markers(upstream: Upstream, product: str | None, model: str | None) -> list[int] | None:
    text = "".join(map(str, _MARKERS))
    payload: dict[str, object] = {"content": text, "parse_special": True, "add_special": False}
    if product != "llama.cpp":
        payload = {"prompt": text, "add_special_tokens": False, **({"model": model} if model else {})}
    try:
        async with asyncio.timeout(upstream.limits.discover), aclosing(upstream.stream("/tokenize", payload)) as read:
            async for event, *_ in read:
                body = json.loads(event.data)
                ids = body.get("tokens") if event.name == WHOLE and isinstance(body, dict) else None
                return ids if isinstance(ids, list) and all(type(number) is int for number in ids) else None
    except (BackendError, TimeoutError, ValueError, RecursionError):
        return None
    return None
