"""The ``auto`` back end: detects which wire format fits its server, then acts as a back end of that kind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol, runtime_checkable

from chatui.backends.auto.choosing import AUTO, Choice, Question, choose
from chatui.backends.base import Backend, BackendError, Endpoint, SampleEvent, SampleRequest
from chatui.backends.context.window import HasContextWindow
from chatui.backends.discovery import Discovered
from chatui.backends.http import Upstream, Watchable, Watcher
from chatui.codes import ProductCode

_log = logging.getLogger(__name__)

RECHECK_SECONDS = 60.0
"""How long a provisional choice is used before the server is asked again."""
_RECHECK_AFTER = (ProductCode.BACKEND_UNREACHABLE, ProductCode.BACKEND_SETUP)
"""After these errors, there may be another server at the address, or the same one with other options."""


@runtime_checkable
class AcceptsDiscovery(Protocol):
    """A back end that accepts what was already discovered about its server, so that it need not ask again."""

    def use_discovery(self, found: Discovered) -> None:
        """Use this as if the server had just reported it."""
        ...


class AutoBackend:
    """A Backend that chooses its wire format. It queries the server on first use, and chooses nothing while the server is unreachable."""

    is_demo = False

    def __init__(self, endpoint: Endpoint, question: Question, build: Callable[[str], Backend]) -> None:
        """``build`` makes the back end of a kind. Raises ValueError if the endpoint's ``url`` is not an http address."""
        self._endpoint = endpoint
        self._question = question
        self._build = build
        self._place = Upstream(endpoint.url, None, endpoint.limits).place
        self._choosing = asyncio.Lock()
        self._chosen: tuple[Choice, Backend] | None = None
        self._until = float("-inf")
        self._watcher: Watcher | None = None
        self._is_closed = False

    @property
    def kind(self) -> str:
        """The chosen wire format; ``auto`` before."""
        return self._chosen[1].kind if self._chosen else AUTO

    @property
    def name(self) -> str:
        """See ``base.Backend``."""
        return self._chosen[1].name if self._chosen else f"Model server at {self._place}"

    async def sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        """See ``base.Backend``."""
        _, inner = await self._current()
        try:
            async with aclosing(inner.sample(request)) as events:
                async for event in events:
                    yield event
        except BackendError as error:
            if error.code in _RECHECK_AFTER:
                self._until = float("-inf")
            raise

    async def models(self) -> tuple[str, ...]:
        """See ``base.Backend``."""
        _, inner = await self._current()
        return await inner.models()

    async def choice(self) -> Choice:
        """The current choice, made now if necessary.

        Raises:
            BackendError: the server cannot be reached, is busy, or refuses the key.
        """
        return (await self._current())[0]

    def known_context(self, model: str | None) -> int | None:
        """See ``context.window.HasContextWindow``."""
        inner = self._chosen[1] if self._chosen else None
        return inner.known_context(model) if isinstance(inner, HasContextWindow) else None

    def watch(self, watcher: Watcher) -> None:
        """See ``http.Watchable``. It does not see the requests that make the choice."""
        self._watcher = watcher
        if self._chosen and isinstance(self._chosen[1], Watchable):
            self._chosen[1].watch(watcher)

    async def aclose(self) -> None:
        """See ``base.Backend``."""
        self._is_closed = True
        if self._chosen:
            await self._chosen[1].aclose()

    async def _current(self) -> tuple[Choice, Backend]:
        now = asyncio.get_running_loop().time
        async with self._choosing:
            if self._chosen is not None and now() <= self._until:
                return self._chosen
            choice = await self._detect()
            self._chosen = chosen = (choice, await self._backend_for(choice))
            self._until = float("inf") if choice.lasts else now() + RECHECK_SECONDS
            return chosen

    async def _detect(self) -> Choice:
        endpoint = self._endpoint
        upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits, endpoint.route)
        try:
            return await choose(upstream, self._question)
        finally:
            await upstream.aclose()

    async def _backend_for(self, choice: Choice) -> Backend:
        before = self._chosen
        if before is None or before[0].kind != choice.kind:
            inner = self._build(choice.kind)
            if self._watcher is not None and isinstance(inner, Watchable):
                inner.watch(self._watcher)
            if self._is_closed:
                await inner.aclose()  # it may be used once more: it then closes each connection after its request
            if before is not None:
                await before[1].aclose()  # a running sample keeps its connection to its end
        else:
            inner = before[1]
        if choice.found is not None and isinstance(inner, AcceptsDiscovery):
            inner.use_discovery(choice.found)
        if before is None or (before[0].kind, before[0].why) != (choice.kind, choice.why):
            _log.info("wire format %s chosen for the model server at %s: %s", choice.kind, self._place, choice.why)
        return inner
