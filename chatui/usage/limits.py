"""Loads the usage limits, and finds those that apply to a person."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from chatui.models import UsageLimit, User

CACHE_SECONDS = 2.0
"""How long a process caches the limits: if there are none, a question needs no statement for them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much somebody may use; None: unlimited."""

    day_tokens: int | None = None
    day_turns: int | None = None
    month_tokens: int | None = None
    month_turns: int | None = None

    def __bool__(self) -> bool:
        """Whether any limit is set."""
        return self != _NONE


_NONE = Limits()


@dataclass(slots=True)
class _Cache:
    at: float = float("-inf")
    by_group: dict[int | None, Limits] | None = None


_cache = _Cache()


def limits_of(person: User) -> Limits:
    """The largest limits of the person's groups, separately for each kind; the limits for everybody if none of their groups has any.

    No statement if there are no limits at all, one more if groups have some.
    """
    by_group = _by_group()
    named = [key for key in by_group if key is not None]
    own = list(person.groups.filter(pk__in=named).values_list("pk", flat=True)) if named else []
    if own:
        return _largest([by_group[key] for key in own])
    return by_group.get(None, Limits())


def clear_cache() -> None:
    """Make this process read the limits again at the next use. Other processes do so within CACHE_SECONDS."""
    _cache.at = float("-inf")


def _by_group() -> dict[int | None, Limits]:
    now = time.monotonic()
    if _cache.by_group is None or now - _cache.at >= CACHE_SECONDS:
        rows = UsageLimit.objects.values_list("group", "day_tokens", "day_turns", "month_tokens", "month_turns")
        _cache.by_group = {group: Limits(*numbers) for group, *numbers in rows}
        _cache.at = now
    return _cache.by_group


def _largest(found: Iterable[Limits]) -> Limits:
    kinds = zip(*(astuple(limits) for limits in found), strict=True)
    return Limits(*(None if None in numbers else max(numbers) for numbers in kinds))
