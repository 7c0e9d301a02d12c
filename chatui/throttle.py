"""Counts attempts per key in Django's cache and says when there were too many. For guesses at passwords and codes."""

from __future__ import annotations

import hashlib

from django.core.cache import cache


class Throttle:
    """At most ``attempts`` per key in ``seconds``, counted from the first."""

    def __init__(self, name: str, *, attempts: int, seconds: int) -> None:
        self._name = name
        self._attempts = attempts
        self._seconds = seconds

    def exceeded(self, *key: str) -> bool:
        """Count one attempt; whether it was one too many."""
        place = self._place(key)
        cache.add(place, 0, self._seconds)
        try:
            return cache.incr(place) > self._attempts
        except ValueError:
            return False  # it expired between the two calls: a fresh start

    def forgive(self, *key: str) -> None:
        """Forget a key after a success."""
        cache.delete(self._place(key))

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self._name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"
