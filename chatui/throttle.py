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
    """Too many requests of one kind. ``seconds``: until the next one is allowed; 0 if unknown."""

    code = ProductCode.RATE

    def __init__(self, seconds: int = 0) -> None:
        super().__init__()
        self.seconds = seconds


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
        place = self._place(key)
        self._begin(place)
        try:
            number = cache.incr(place, amount)
        except ValueError:
            return 0  # it expired between the two calls: start again
        if number <= self._attempts:
            return 0
        with contextlib.suppress(ValueError):
            cache.decr(place, amount)
        return _seconds_left(place)

    def count(self, *key: str) -> int:
        """Count one attempt. Returns the number of attempts so far.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        place = self._place(key)
        self._begin(place)
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
            seconds = 0
            with contextlib.suppress(*CACHE_ERRORS):
                seconds = _seconds_left(self._place(key))
            raise ThrottledError(seconds)

    def _begin(self, place: str) -> None:
        """Begin to count, unless it has begun. The time when the count resets is a second entry, because a cache does not tell it."""
        if cache.add(place, 0, self._seconds):
            cache.set(f"{place}:ends", int(time.time()) + self._seconds, self._seconds)

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self._name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"


def _seconds_left(place: str) -> int:
    """The seconds until the count resets, at least 1."""
    now = int(time.time())
    return max(1, int(cache.get(f"{place}:ends") or now) - now)
