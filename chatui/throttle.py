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
    # Where there is no Redis, its client is 7 MB for nothing. Where there is one, this has it loaded before anybody waits for it.
    from redis.exceptions import RedisError

    return (OSError, RedisError)


CACHE_ERRORS = _cache_errors()
"""What a cache raises while it is unavailable."""


class ThrottledError(Exception):
    """Too many requests of one kind."""

    code = ProductCode.RATE


class Throttle:
    """At most ``attempts`` per key in ``seconds``, counted from the first."""

    def __init__(self, name: str, *, attempts: int, seconds: int) -> None:
        self._name = name
        self._attempts = attempts
        self._seconds = seconds

    def exceeded(self, *key: str) -> bool:
        """Count one attempt. Returns whether it was one too many; always False while the cache is away, as these people are signed in."""
        try:
            return self.count(*key) > self._attempts
        except CACHE_ERRORS as error:
            log.warning("requests (%s) cannot be counted (%s)", self._name, type(error).__name__)
            return False

    def take(self, amount: int, *key: str) -> int:
        """Count ``amount`` attempts at once, all of them or none. Returns 0, or after how many seconds more are admitted.

        Raises one of CACHE_ERRORS while the cache is unavailable.
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
        """Count one attempt. Returns the number so far. Raises one of CACHE_ERRORS while the cache is unavailable."""
        place = self._place(key)
        cache.add(place, 0, self._seconds)
        try:
            return cache.incr(place)
        except ValueError:
            return 1  # it expired between the two calls: start again

    def check(self, *key: str) -> None:
        """Count one attempt. Raises ThrottledError where it was one too many."""
        if self.exceeded(*key):
            raise ThrottledError

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self._name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"
