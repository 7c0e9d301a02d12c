"""Finds a message's position among the versions of the same question or answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from chatui.models import Message


@dataclass(frozen=True, slots=True)
class Siblings:
    """The position of a message among its siblings: ``index`` counts from 1; the ids of its neighbors are for switching to them."""

    index: int
    count: int
    previous_id: str | None
    next_id: str | None


def siblings(groups: Sequence[Sequence[Message]], current: Message) -> Siblings | None:
    """``groups``: the siblings, each as its first messages. The sibling that contains ``current`` is the one that is shown."""
    place = next((index for index, group in enumerate(groups) if current in group), None)
    return None if place is None else siblings_at([group[0].pk for group in groups], place)


def siblings_at(keys: Sequence[UUID], place: int) -> Siblings | None:
    if len(keys) < 2:
        return None
    before = str(keys[place - 1]) if place > 0 else None
    after = str(keys[place + 1]) if place + 1 < len(keys) else None
    return Siblings(place + 1, len(keys), before, after)
