"""Limits how often people may do something: rates of signed-in people's requests, counted in Django's cache for all processes."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache

from chatui.codes import ProductCode
from chatui.env import environment

log = logging.getLogger(__name__)


def _cache_errors() -> tuple[type[Exception], ...]:
    if not environment().redis_url:
        return (OSError,)
    # Without Redis, its client would waste 7 MB. With Redis, importing it here loads it before the first request needs it.
    from redis.exceptions import RedisError

    return (OSError, RedisError)


CACHE_ERRORS = _cache_errors()
"""The errors that a cache raises while it is unavailable."""


class OwnCache(LocMemCache):
    """Django's cache of one process, whose entries last as long as they should also if the clock of the machine is set meanwhile: back, and
    people would wait for hours; ahead, and guesses would be free."""

    def get_backend_timeout(self, timeout: float | None = DEFAULT_TIMEOUT) -> float | None:
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return None if seconds is None else time.monotonic() + (seconds or -1)

    def _has_expired(self, key: str) -> bool:
        ends: float | None = self._expire_info.get(key, -1)  # type: ignore[attr-defined]
        return ends is not None and ends <= time.monotonic()


class ThrottledError(Exception):
    """Too many requests of one kind. ``seconds``: until the next one is allowed; 0 if unknown."""

    code = ProductCode.RATE

    def __init__(self, seconds: int = 0) -> None:
        super().__init__()
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Throttle:
    """Allows at most ``attempts`` per key within ``seconds`` of the first one."""

    name: str
    attempts: int
    seconds: int

    def check(self, *key: str) -> None:
        """Count one attempt.

        Raises:
            ThrottledError: it exceeds the limit.
        """
        if seconds := self.exceeded(*key):
            raise ThrottledError(seconds)

    def exceeded(self, *key: str) -> int:
        """Count one attempt. Returns 0 if it is within the limit, otherwise the seconds until it resets; always 0 while the cache is down,
        because only signed-in people are counted here."""
        try:
            number, seconds = self.count(*key)
        except CACHE_ERRORS as error:
            log.warning("requests (%s) cannot be counted (%s)", self.name, type(error).__name__)
            return 0
        return seconds if number > self.attempts else 0

    def take(self, amount: int, *key: str) -> int:
        """As ``exceeded``, for ``amount`` attempts at once, of which all count or none.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        place, seconds = self._window(key)
        if counted(cache, place, 2 * self.seconds, amount) <= self.attempts:
            return 0
        uncounted(cache, place, amount)
        return seconds

    def count(self, *key: str, amount: int = 1) -> tuple[int, int]:
        """Count one attempt, or ``amount``. Returns the number of attempts so far, and the seconds until they are counted anew.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        place, seconds = self._window(key)
        return counted(cache, place, 2 * self.seconds, amount), seconds

    def _window(self, key: tuple[str, ...]) -> tuple[str, int]:
        """Where attempts of this key are counted now, and for how many seconds more.

        Each window has an entry of its own, which lasts longer: Redis would bring one back that expires while it is counted, for ever.
        """
        place, now = self._place(key), int(time.time())
        if (ends := cache.get(place)) is None:
            cache.add(f"{place}:{now + self.seconds}", 0, 2 * self.seconds)
            ends = now + self.seconds if cache.add(place, now + self.seconds, self.seconds) else cache.get(place, now + self.seconds)
        return f"{place}:{ends}", max(1, min(ends - now, self.seconds))  # another machine's clock may have set it

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:rate:{self.name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"


def counted(counts: Any, place: str, seconds: int, amount: int = 1) -> int:
    """The count at this place of a cache, after adding ``amount``. ``seconds``: how long one that begins is kept."""
    try:
        return int(counts.incr(place, amount))
    except ValueError:  # it expired, or the cache needed its room: it begins again
        return amount if counts.add(place, amount, seconds) else int(counts.incr(place, amount))


def uncounted(counts: Any, place: str, amount: int = 1) -> None:
    with contextlib.suppress(ValueError):  # it expired meanwhile
        counts.decr(place, amount)
