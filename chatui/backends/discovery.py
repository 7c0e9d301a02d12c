"""Says what a model server is: its product, its models with their context lengths, and whether its tokenizer is that of gpt-oss.

Here is also the base of the backends that have to know it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from chatui.backends.base import Backend, BackendError, Endpoint, SampleLimits, Watcher
from chatui.backends.context_window import ContextWindow, asked_contexts
from chatui.backends.http import Upstream
from chatui.backends.model_tasks import left_out
from chatui.backends.route import DIRECT, Route
from chatui.backends.separation import Known, Read, Separations
from chatui.backends.sse import tables
from chatui.codes import ProductCode
from chatui.observability import measures
from renderer.harmony.vocabulary import MARKER_IDS
from renderer.strict_json import object_of
from renderer.tokens import Token

_LITELLM = "x-litellm-version"
_VERSION = re.compile(r"[-_.:@\d]*")
_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM", "library": "Ollama", "sglang": "SGLang"}


@dataclass(frozen=True, slots=True)
class Discovered:
    """The discovered facts about a server."""

    server: str | None
    """The name of the product; None if unknown."""
    models: tuple[str, ...]
    """In the server's order, without those that, as it says, write no answers."""
    contexts: tuple[tuple[str | None, int], ...] = ()
    """How many tokens a prompt and its answer may have together, by model; None is the key for any model."""
    is_gpt_oss: bool | None = None
    """What the tokenizer of its model says; None if it was not asked, or did not tell."""
    version: str | None = None
    """None if only another address tells it."""
    left_out: tuple[str, ...] = ()
    """The models that, as the server says, write no answers."""

    def context(self, model: str | None) -> int | None:
        """The context length of this model; without a name, or if there is only one model, that of the first. None if unknown."""
        known = dict(self.contexts)
        first = next(iter(known.values()), None)
        return known.get(model) or known.get(None) or (first if model is None or len(known) == 1 else None)

    def without(self, others: Collection[str]) -> Discovered:
        """These facts, with ``others`` among the models that are left out."""
        gone = tuple(name for name in self.models if name in others)
        kept = tuple(name for name in self.models if name not in others)
        return replace(self, models=kept, left_out=self.left_out + gone) if gone else self


async def discover(url: str, key: str | None = None, limits: SampleLimits | None = None, route: Route = DIRECT) -> Discovered:
    """Ask the server at ``url``, within ``limits.discover`` seconds, and half as long again for what its models do, if another address
    tells that.

    Raises:
        BackendError: it cannot be reached, or refuses the key.
        ValueError: ``url`` is not an http address.
    """
    upstream = Upstream(url, key, limits or SampleLimits(), route)
    try:
        found = await ask(upstream)
        return found.without(await _left_out(upstream, found))
    finally:
        await upstream.aclose()


async def _left_out(upstream: Upstream, found: Discovered) -> frozenset[str]:
    """Which models the server says elsewhere to do something else, as far as it says that in time."""
    described: list[object] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(upstream.limits.discover / 2):
            if found.server == "Ollama":
                at_once = asyncio.Semaphore(SHOWN_AT_ONCE)
                await asyncio.gather(*(_describe(upstream, model, described, at_once) for model in found.models[:_MAX_DESCRIBED]))
            elif path := _DESCRIPTIONS.get(found.server):
                described.append(await upstream.try_get(path))
    return left_out(*described)


_DESCRIPTIONS = {None: "/api/v0/models", "LiteLLM": "/model/info"}
"""Where a server describes its models, if not in their list. LM Studio does not name itself."""
_MAX_DESCRIBED = 100
SHOWN_AT_ONCE = 8
"""How many models Ollama is asked about at a time."""


async def _describe(upstream: Upstream, model: str, described: list[object], at_once: asyncio.Semaphore) -> None:
    """Add what Ollama says of one model."""
    with contextlib.suppress(BackendError):
        async with at_once:
            found = await upstream.post("/api/show", {"model": model})
        described.append({"models": [{"id": model, "capabilities": found.get("capabilities")}]})


async def ask(upstream: Upstream, product: str | None = None) -> Discovered:
    """As ``discover``, over existing connections. ``product``: what the operator says that the server is."""
    try:
        async with asyncio.timeout(upstream.limits.discover):
            headers, body = await upstream.get("/v1/models")
            entries = tables(object_of(body).get("data"))
            server = _by_header(headers) or _by_owner(entries) or await _by_version(upstream)
    except TimeoutError as error:
        raise BackendError(ProductCode.TIMEOUT, "the server did not name its models in time", retryable=True) from error
    names = tuple(name for entry in entries if isinstance(name := entry.get("id"), str))
    contexts = await asked_contexts(upstream, server, body)
    if product not in (None, server) and not contexts:
        contexts = await asked_contexts(upstream, product, None)
    return Discovered(product or server, names, contexts, version=headers.get(_LITELLM)).without(left_out(body))


def own_name(reported: str | None, asked: str | None, offered: Iterable[str]) -> str | None:
    """The model's name in an answer: the requested name, one that the server offers, or such a name with a version.

    People see it. Any other text there could be reasoning, so it is replaced by the requested name.
    """
    known = [name for name in (asked, *offered) if name]
    is_name = reported is not None and any(reported.startswith(name) and _VERSION.fullmatch(reported[len(name) :]) for name in known)
    return reported if is_name else asked


def _by_header(headers: Mapping[str, str]) -> str | None:
    return "llama.cpp" if "llama.cpp" in headers.get("server", "").lower() else "LiteLLM" if _LITELLM in headers else None


def _by_owner(entries: list[dict[str, object]]) -> str | None:
    owners = (entry.get("owned_by") for entry in entries)
    return next((_OWNERS[owner] for owner in owners if isinstance(owner, str) and owner in _OWNERS), None)


async def _by_version(upstream: Upstream) -> str | None:
    """Ollama and vLLM each have their own version endpoint; a server that has neither is unknown."""
    for path, server in (("/api/version", "Ollama"), ("/version", "vLLM")):
        if "version" in object_of(await upstream.try_get(path)):
            return server
    return None


_MARKERS = (Token.CHANNEL, Token.MESSAGE)


async def knows_markers(upstream: Upstream, product: str | None, model: str | None) -> bool | None:
    """Whether the tokenizer gives the markers the ids of gpt-oss; None if the server does not say, or not in time."""
    text = "".join(map(str, _MARKERS))
    payload: dict[str, object] = {"content": text, "parse_special": True, "add_special": False}
    if product != "llama.cpp":
        payload = {"prompt": text, "add_special_tokens": False, **({"model": model} if model else {})}
    try:
        async with asyncio.timeout(upstream.limits.discover):
            ids = (await upstream.post("/tokenize", payload)).get("tokens")
    except (BackendError, TimeoutError):
        return None
    if not isinstance(ids, list) or not all(type(number) is int for number in ids):
        return None
    return ids[-len(_MARKERS) :] == [MARKER_IDS[token] for token in _MARKERS]


KEEP_SECONDS = 60.0
"""How long the models that a server listed are not asked for again."""
_KEEP_CONTEXT_SECONDS = 300.0


class DetectedServer(Backend):
    """A connection pool shared by all samples, and what was detected about its server. It belongs to the event loop of its first use."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises ValueError if the endpoint's ``url`` is not an http address."""
        self._endpoint, self._limits = endpoint, endpoint.limits
        self._upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits, endpoint.route)
        self._model = endpoint.model
        self._found = Discovered(None, ())
        self._ask_at = float("-inf")
        self._windows = defaultdict[str | None, ContextWindow](partial(ContextWindow, endpoint.context))
        self._separations = Separations(endpoint.separates, endpoint.proofs)
        self._asking = asyncio.Lock()
        self._ask_context_at = float("-inf")

    @property
    def name(self) -> str:
        return f"{self._found.server or 'Model server'} at {self._upstream.host}"

    async def models(self) -> tuple[str, ...]:
        """See ``base.Backend``. The server is asked at most once a minute."""
        now = asyncio.get_running_loop().time()
        if now > self._ask_at:
            self._found = await self._discover()
            self._ask_at = now + KEEP_SECONDS
        return self._found.models

    async def _discover(self) -> Discovered:
        return await ask(self._upstream)

    def use_discovery(self, found: Discovered) -> None:
        """Use this as if the server had just reported it."""
        now = asyncio.get_running_loop().time()
        self._found, self._ask_at, self._ask_context_at = found, now + KEEP_SECONDS, now + _KEEP_CONTEXT_SECONDS
        if found.is_gpt_oss:
            self._separations.is_gpt_oss()

    def watch(self, watcher: Watcher) -> None:
        self._upstream.watcher = watcher

    async def aclose(self) -> None:
        await self._upstream.aclose()

    def known_context(self, model: str | None) -> int | None:
        named = self._named(model)
        return self._windows[named].size or self._found.context(named)

    def known_separations(self) -> dict[str, Known]:
        return self._separations.known()

    def _learn(self, model: str | None, read: Read) -> None:
        self._separations.learn(model, read)
        if read.has_text:
            measures.labelled(measures.ANSWERS_READ, self.name, read.separation.value, "yes" if read.is_withheld else "no").inc()

    async def _product(self) -> str | None:
        try:
            await self.models()
        except BackendError:
            return None
        return self._found.server

    async def _model_for(self, asked: str | None) -> str | None:
        """The model to request. None if none is named: many servers have just one and need no name."""
        if asked or self._model:
            return asked or self._model
        try:
            return next(iter(await self.models()), None)
        except BackendError:
            return None

    async def _window(self, model: str | None) -> ContextWindow:
        """The window of this model. Its server is asked at most once in five minutes."""
        if self._endpoint.context is None:
            await self._ask_context()
        named = self._named(model)
        window = self._windows[named]
        window.ask(self._found.context(named))
        return window

    def _named(self, model: str | None) -> str | None:
        return model or self._model or next(iter(self._found.models), None)

    async def _ask_context(self) -> None:
        now = asyncio.get_running_loop().time
        async with self._asking:
            if now() < self._ask_context_at:
                return
            # A server that does not answer is not asked again sooner: no request should wait for that.
            with contextlib.suppress(BackendError):
                await self.models()
            self._ask_context_at = now() + _KEEP_CONTEXT_SECONDS

    def _own_name(self, reported: str | None, asked: str | None) -> str | None:
        return own_name(reported, asked, self._found.models)
