"""Shared by the back ends that detect, by asking, which server they talk to and which models it has."""

from __future__ import annotations

import asyncio

from chatui.backends.base import BackendError, Endpoint
from chatui.backends.discovery import Discovered, ask
from chatui.backends.http import Upstream, Watcher

_KEEP_SECONDS = 60.0


class FoundServer:
    """One connection pool, shared by all samples, and what its server said of itself; belongs to the event loop of its first use."""

    is_demo = False

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises ValueError where the endpoint's ``url`` is no http address."""
        self._limits = endpoint.limits
        self._upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits)
        self._model = endpoint.model
        self._discovered: tuple[float, Discovered] | None = None

    @property
    def name(self) -> str:
        """What kind of server it is, as far as is known yet, and where."""
        server = self._discovered[1].server if self._discovered else None
        return f"{server or 'Model server'} at {self._upstream.place}"

    async def models(self) -> tuple[str, ...]:
        """See ``base.Backend``. The server is asked at most once a minute."""
        now = asyncio.get_running_loop().time()
        if self._discovered is None or now > self._discovered[0]:
            self._discovered = (now + _KEEP_SECONDS, await ask(self._upstream))
        return self._discovered[1].models

    def watch(self, watcher: Watcher) -> None:
        """See ``http.Watchable``."""
        self._upstream.watcher = watcher

    async def aclose(self) -> None:
        """See ``base.Backend``."""
        await self._upstream.aclose()

    async def _product(self) -> str | None:
        """Which server it is; None where it could not be told."""
        try:
            await self.models()
        except BackendError:
            return None
        return self._discovered[1].server if self._discovered else None

    async def _model_for(self, asked: str | None) -> str | None:
        """None where nobody names a model: many servers have just one, and want no name."""
        if asked or self._model:
            return asked or self._model
        try:
            return next(iter(await self.models()), None)
        except BackendError:
            return None
