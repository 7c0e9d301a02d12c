"""The models that a back end offers: the operator's list, or the list that its server last reported. Never waits for the server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import threading

from django.core.cache import cache

from chatui.backends.base import BackendError
from chatui.backends.discovery import discover
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec.definition import BackendSpec, is_model_name
from chatui.model_servers import connected
from chatui.throttle import CACHE_ERRORS

log = logging.getLogger(__name__)

QUERY_SECONDS = 60
"""The shortest interval between queries to a server, of all processes together."""
CACHE_SECONDS = 24 * 60 * 60
"""How long a result is cached, so that the models of a server that is down for a while remain known."""
MAX_MODELS = 5000
"""The most models of one server, far more than any gateway has. A warning is logged if a server reports more."""

_read_last: dict[str, tuple[str, ...]] = {}
"""The last result for each spec in this process, used while the cache is down."""


def models_of(spec: BackendSpec) -> tuple[str, ...]:
    """The models to choose from, the default first; empty if none are known yet. Queries the server in the background."""
    if spec.models or spec.is_demo:
        return spec.models
    key = _cache_key(spec)
    try:
        if cache.add(f"{key}:asked", True, QUERY_SECONDS):
            threading.Thread(target=_query, args=(spec, key), name=f"models of {spec.name}", daemon=True).start()
        _read_last[key] = cache.get(key, ())
    except CACHE_ERRORS as error:
        # Pages and questions must not depend on the cache.
        log.warning("the models of back end %s could not be looked up (%s)", spec.name, type(error).__name__)
    return _read_last.get(key, ())


def _cache_key(spec: BackendSpec) -> str:
    return "models:" + hashlib.sha256(spec.model_dump_json().encode()).hexdigest()


def _query(spec: BackendSpec, cache_key: str) -> None:
    try:
        found = asyncio.run(_listed_models(spec))
    except (BackendError, KeyUnusableError) as error:
        log.info("back end %s did not list its models (%s)", spec.name, type(error).__name__)
        return
    names = tuple(dict.fromkeys(name for name in found if is_model_name(name)))
    if len(names) > MAX_MODELS:
        log.warning(
            "back end %s lists %d models: only the first %d are offered; configure the ones you want", spec.name, len(names), MAX_MODELS
        )
        names = names[:MAX_MODELS]
    if names:
        with contextlib.suppress(*CACHE_ERRORS):  # it is queried again in a minute
            cache.set(cache_key, names, CACHE_SECONDS)


async def _listed_models(spec: BackendSpec) -> tuple[str, ...]:
    """The models that the first responding address of the back end lists."""
    key = connected.key_of(spec)
    *others, last = (spec.url, *spec.more_urls)
    for url in others:
        with contextlib.suppress(BackendError):
            return (await discover(url, key, spec.limits(), spec.route)).models
    return (await discover(last, key, spec.limits(), spec.route)).models
