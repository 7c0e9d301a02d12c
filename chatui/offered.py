"""Which models a back end offers: the operator's list, else what its server named when it was last asked. Nobody waits for it here."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading

from django.core.cache import cache

from chatui import conf
from chatui.backends.base import BackendError
from chatui.backends.discovery import discover
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import BackendSpec, is_model_name

log = logging.getLogger(__name__)

ASK_SECONDS = 60
"""How often a server is asked at most, by all processes together."""
KEEP_SECONDS = 24 * 60 * 60
"""How long an answer counts, so that a server which is down for a while keeps its models."""
MOST = 200


def models(spec: BackendSpec) -> tuple[str, ...]:
    """The models that may be chosen, the default first; empty where nobody has named any yet. Asks the server in the background."""
    if spec.models or spec.is_demo:
        return spec.models
    key = _cache_key(spec)
    if cache.add(f"{key}:asked", True, ASK_SECONDS):
        threading.Thread(target=_ask, args=(spec, key), name=f"models of {spec.name}", daemon=True).start()
    known: tuple[str, ...] = cache.get(key, ())
    return known


def _cache_key(spec: BackendSpec) -> str:
    return "models:" + hashlib.sha256(spec.model_dump_json().encode()).hexdigest()


def _ask(spec: BackendSpec, cache_key: str) -> None:
    try:
        found = asyncio.run(discover(spec.url, conf.key_of(spec), spec.limits()))
    except (BackendError, KeyUnusableError) as error:
        log.info("back end %s did not name its models (%s)", spec.name, type(error).__name__)
        return
    names = tuple(name for name in found.models if is_model_name(name))[:MOST]
    if names:
        cache.set(cache_key, names, KEEP_SECONDS)
