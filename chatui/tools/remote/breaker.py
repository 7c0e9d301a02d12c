"""A circuit breaker for tool servers: after several consecutive failures, a server gets no calls for a while."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chatui.tools.remote.offer import ServerError

MAX_FAILURES = 3
FIRST_SECONDS = 30.0
MAX_SECONDS = 600.0
_JITTER = 0.2


class Breaker:
    """The circuit breaker of one server. Use it on one event loop. After the pause, one trial call decides whether it closes again."""

    def __init__(self) -> None:
        self._failures = 0
        self._open_until = 0.0
        self._is_probing = False

    @asynccontextmanager
    async def watching(self, seconds: float) -> AsyncIterator[None]:
        """A context manager around a call that may take ``seconds``. A ServerError or a timeout counts as a failure; a call that the person
        stopped does not.

        Raises:
            ServerError: the breaker is open.
        """
        self._enter()
        began = time.monotonic()
        try:
            yield
        except ServerError:
            self._failed()
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and time.monotonic() - began >= seconds * 0.9:
                self._failed()
            elif isinstance(error, Exception):
                self._failures = 0
            raise
        else:
            self._failures = 0
        finally:
            self._is_probing = False

    def _enter(self) -> None:
        if time.monotonic() < self._open_until or (self._failures >= MAX_FAILURES and self._is_probing):
            raise ServerError("the server failed several times, and is not called for a while")
        self._is_probing = self._failures >= MAX_FAILURES

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            pause = min(MAX_SECONDS, FIRST_SECONDS * 2 ** min(self._failures - MAX_FAILURES, 10))
            self._open_until = time.monotonic() + pause * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret
