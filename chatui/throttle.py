"""Counts requests per key in Django's cache and says when there were too many. Guesses at secrets are for ``guess_limits``."""

from __future__ import annotations

import hashlib
import logging

from django.core.cache import cache
from redis.exceptions import RedisError

from chatui.codes import ProductCode

log = logging.getLogger(__name__)

CACHE_ERRORS = (OSError, RedisError)
"""What a cache raises that is away."""


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
        """Count one attempt; whether it was one too many. While the cache is away nothing is: these are requests of signed-in people."""
        try:
            return self.count(*key) > self._attempts
        except CACHE_ERRORS as error:
            log.warning("requests (%s) cannot be counted (%s)", self._name, type(error).__name__)
            return False

    def count(self, *key: str) -> int:
        """Count one attempt; how many there were with it. Raises one of CACHE_ERRORS while the cache is away."""
        place = self._place(key)
        cache.add(place, 0, self._seconds)
        try:
            return cache.incr(place)
        except ValueError:
            return 1  # it expired between the two calls: a fresh start

    def check(self, *key: str) -> None:
        """Count one attempt; raises ThrottledError where it was one too many."""
        if self.exceeded(*key):
            raise ThrottledError

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self._name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"
