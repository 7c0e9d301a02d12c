"""What a program's socket remembers of its last response, if that is not stored, so that the next request can continue from it."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from chatui.api.response_object import Item, response_id

MAX_RESPONSE_CHARS = 512 * 1024
"""Per connection."""
MAX_CHARS_IN_ALL = 64 * 1024 * 1024
"""Per process. The least recently used connections are dropped first."""


class Chain:
    """The chain of one connection. ``go_on`` with a request's previous response, then ``remember``, or ``forget`` if it failed."""

    def __init__(self) -> None:
        self._last = ""
        self._items: list[Any] = []

    def knows(self, previous: str) -> bool:
        return bool(previous) and previous == self._last

    def input_of(self, given: list[Any]) -> list[Any]:
        """The input of a request that continues: everything before, and its own."""
        return [*self._items, *given]

    def remember(self, answer_id: UUID, whole_input: list[Any], output: list[Item]) -> None:
        """Remember a response, unless it is too long."""
        self.forget()
        items = [*whole_input, *output]
        size = len(json.dumps(items))
        if size <= MAX_RESPONSE_CHARS:
            self._last, self._items = response_id(answer_id), items
            _sizes[self] = size
            while sum(_sizes.values()) > MAX_CHARS_IN_ALL:
                next(iter(_sizes)).forget()

    def forget(self) -> None:
        self._last, self._items = "", []
        _sizes.pop(self, None)


_sizes: dict[Chain, int] = {}
