"""The base of the back ends that detect their server's product, models and context lengths."""

from __future__ import annotations

import asyncio
import contextlib

from chatui.backends.base import BackendError, Endpoint
from chatui.backends.context.window import Window, Windows
from chatui.backends.discovery import Discovered, ask, own_name
from chatui.backends.http import Upstream, Watcher

_KEEP_SECONDS = 60.0
_KEEP_CONTEXT_SECONDS = 300.0


class DetectedServer:
    """A connection pool shared by all samples, and what was detected about its server. It belongs to the event loop of its first use."""

    is_demo = False

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises ValueError if the endpoint's ``url`` is not an http address."""
        self._limits = endpoint.limits
        self._upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits, endpoint.route)
        self._model = endpoint.model
        self._discovered: tuple[float, Discovered] | None = None
        self._windows = Windows(endpoint.context)
        self._is_context_given = endpoint.context is not None
        self._asking = asyncio.Lock()
        self._ask_context_at = float("-inf")

    @property
    def name(self) -> str:
        """The product, if known, and the address."""
        server = self._discovered[1].server if self._discovered else None
        return f"{server or 'Model server'} at {self._upstream.place}"

    async def models(self) -> tuple[str, ...]:
        """See ``base.Backend``. The server is asked at most once a minute."""
        now = asyncio.get_running_loop().time()
        if self._discovered is None or now > self._discovered[0]:
            self._discovered = (now + _KEEP_SECONDS, await ask(self._upstream))
        return self._discovered[1].models

    def use_discovery(self, found: Discovered) -> None:
        """Use another's discovery, see ``auto.backend.AcceptsDiscovery``."""
        self._discovered = (asyncio.get_running_loop().time() + _KEEP_SECONDS, found)
        self._ask_context_at = asyncio.get_running_loop().time() + _KEEP_CONTEXT_SECONDS

    def watch(self, watcher: Watcher) -> None:
        """See ``http.Watchable``."""
        self._upstream.watcher = watcher

    async def aclose(self) -> None:
        """See ``base.Backend``."""
        await self._upstream.aclose()

    def known_context(self, model: str | None) -> int | None:
        """See ``context.window.HasContextWindow``."""
        found = self._discovered[1] if self._discovered else None
        named = model or self._model or (next(iter(found.models), None) if found else None)
        return self._windows.window_of(named).size or (found.context(named) if found else None)

    async def _product(self) -> str | None:
        """The server's product name; None if unknown."""
        try:
            await self.models()
        except BackendError:
            return None
        return self._discovered[1].server if self._discovered else None

    async def _model_for(self, asked: str | None) -> str | None:
        """The model to request. None if none is named: many servers have just one and need no name."""
        if asked or self._model:
            return asked or self._model
        try:
            return next(iter(await self.models()), None)
        except BackendError:
            return None

    async def _window(self, model: str | None) -> Window:
        """The window of this model. Its server is asked at most once in five minutes."""
        if not self._is_context_given:
            await self._ask_context()
        named = model or self._model or (next(iter(self._discovered[1].models), None) if self._discovered else None)
        window = self._windows.window_of(named)
        window.ask(self._discovered[1].context(named) if self._discovered else None)
        return window

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
        return own_name(reported, asked, self._discovered[1].models if self._discovered else ())
