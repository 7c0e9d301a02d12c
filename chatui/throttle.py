"""Rate limits for signed-in people's requests, counted in Django's cache. For guesses at secrets see ``guess_limits``."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time

from django.core.cache import cache

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


class ThrottledError(Exception):
    """Too many requests of one kind."""

    code = ProductCode.RATE


class Throttle:
    """Allows at most ``attempts`` per key within ``seconds`` of the first one."""

    def __init__(self, name: str, *, attempts: int, seconds: int) -> None:
        self._name = name
        self._attempts = attempts
        self._seconds = seconds

    def exceeded(self, *key: str) -> bool:
        """Count one attempt. Returns whether it exceeds the limit; always False while the cache is down, because only signed-in people are
        counted here."""
        try:
            return self.count(*key) > self._attempts
        except CACHE_ERRORS as error:
            log.warning("requests (%s) cannot be counted (%s)", self._name, type(error).__name__)
            return False

    def take(self, amount: int, *key: str) -> int:
        """Count ``amount`` attempts at once, all or none. Returns 0 if they are within the limit, otherwise the seconds until it resets.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        place, now = self._place(key), int(time.time())
        cache.add(f"{place}:ends", now + self._seconds, self._seconds)
        cache.add(place, 0, self._seconds)
        try:
            number = cache.incr(place, amount)
        except ValueError:
            return 0  # it expired between the two calls: start again
        if number <= self._attempts:
            return 0
        with contextlib.suppress(ValueError):
            cache.decr(place, amount)
        return max(1, int(cache.get(f"{place}:ends") or now) - now)

    def count(self, *key: str) -> int:
        """Count one attempt. Returns the number of attempts so far.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        place = self._place(key)
        cache.add(place, 0, self._seconds)
        try:
            return cache.incr(place)
        except ValueError:
            return 1  # it expired between the two calls: start again

    def check(self, *key: str) -> None:
        """Count one attempt.

        Raises:
            ThrottledError: it exceeds the limit.
        """
        if self.exceeded(*key):
            raise ThrottledError

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self._name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"
