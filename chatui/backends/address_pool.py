"""A backend with several addresses: requests go to the least busy one, and to another if it fails before its first event."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from chatui.backends.base import Backend, BackendError, SampleEnded, SampleRequest, Taker, Watcher
from chatui.backends.separation import Known, Separation
from chatui.codes import ProductCode
from renderer.frames import Role

_log = logging.getLogger(__name__)

COOLDOWN_SECONDS = 30.0
"""After a failure, an address is used only as a last resort for this long."""
_RETRIED_ELSEWHERE = (ProductCode.BACKEND_UNREACHABLE, ProductCode.BACKEND_BUSY, ProductCode.BACKEND_SETUP, ProductCode.BACKEND)
"""Failures that may not happen at another address, if they are retryable. A timeout is not retried: the person has waited long enough."""


@dataclass(slots=True, eq=False)
class _Member:
    backend: Backend
    number: int
    running: int = 0
    unavailable_until: float = float("-inf")


class PooledBackend(Backend):
    """Its members serve the same models in the same way. Like them, it belongs to one event loop."""

    def __init__(self, members: Sequence[Backend]) -> None:
        """``members``: at least one; all are equal."""
        self._members = [_Member(backend, number) for number, backend in enumerate(members)]

    @property
    def kind(self) -> str:
        return self._members[0].backend.kind

    @property
    def name(self) -> str:
        """The first member's name, and the number of others."""
        return f"{self._members[0].backend.name} and {len(self._members) - 1} more"

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        waiting = list(self._members)
        while True:
            member = self._best(waiting, request)
            waiting.remove(member)
            member.running += 1
            try:
                ended = await member.backend.sample(request, take)
                if member.unavailable_until != float("-inf"):
                    _log.info("%s answers again", member.backend.name)
                    member.unavailable_until = float("-inf")
                return ended
            except BackendError as error:
                may_help = error.retryable and not take.has_begun and error.code in _RETRIED_ELSEWHERE
                if may_help:
                    self._mark_failed(member, error)
                if not may_help or not waiting:
                    raise
            finally:
                member.running -= 1

    async def models(self) -> tuple[str, ...]:
        """The models of the first member that answers. Raises BackendError if none does."""
        *others, last = sorted(self._members, key=lambda member: member.unavailable_until)
        for member in others:
            try:
                return await member.backend.models()
            except BackendError as error:
                self._mark_failed(member, error)
        return await last.backend.models()

    def known_context(self, model: str | None) -> int | None:
        """The smallest known, because any member may get the request."""
        return min(filter(None, (member.backend.known_context(model) for member in self._members)), default=None)

    def known_separations(self) -> dict[str, Known]:
        """What is known of the member that has proved the least."""
        found: dict[str, Known] = {}
        for member in self._members:
            for model, known in member.backend.known_separations().items():
                if model not in found or known.separation is Separation.UNPROVEN:
                    found[model] = known
        return found

    def watch(self, watcher: Watcher) -> None:
        for member in self._members:
            member.backend.watch(watcher)

    async def aclose(self) -> None:
        for member in self._members:
            await member.backend.aclose()

    def _best(self, members: Sequence[_Member], request: SampleRequest) -> _Member:
        """The least busy available member.

        Among equals, a conversation returns to the same member where possible: the server may still have the beginning of its prompt
        cached.
        """
        first = next((frame.body for frame in request.frames if frame.header.role == Role.USER), "")
        key = first[:2000].encode("utf-8", "replace")
        now = asyncio.get_running_loop().time()
        candidates = [member for member in members if member.unavailable_until <= now]
        if not candidates:
            return min(members, key=lambda member: member.unavailable_until)
        return min(candidates, key=lambda member: (member.running, hashlib.sha256(b"%d %b" % (member.number, key)).digest()))

    def _mark_failed(self, member: _Member, error: BackendError) -> None:
        seconds = min(error.retry_after or COOLDOWN_SECONDS, COOLDOWN_SECONDS)
        if member.unavailable_until == float("-inf"):
            _log.warning("%s rests for %.0f seconds (%s): another address is asked", member.backend.name, seconds, error.code.value)
        member.unavailable_until = asyncio.get_running_loop().time() + seconds
