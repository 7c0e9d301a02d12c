"""Counts attempts per key in Django's cache and says when there were too many: guesses at passwords and codes, attempts of strangers."""

from __future__ import annotations

import hashlib

from django.core.cache import cache

from chatui.codes import ProductCode


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
        """Count one attempt; whether it was one too many."""
        return self.count(*key) > self._attempts

    def count(self, *key: str) -> int:
        """Count one attempt; how many there were with it."""
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

    def is_used_up(self, *key: str) -> bool:
        """Whether the next attempt would be one too many. Counts nothing."""
        return int(cache.get(self._place(key), 0)) >= self._attempts

    def forgive(self, *key: str) -> None:
        """Forget a key after a success."""
        cache.delete(self._place(key))

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self._name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"
