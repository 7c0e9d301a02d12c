"""The time zones that people can choose, by the IANA names that this machine knows."""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_PLACES = ("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")


@cache
def names() -> tuple[str, ...]:
    """The time zones named after places, in alphabetical order."""
    return tuple(sorted(name for name in available_timezones() if name.startswith(_PLACES)))


def zone_of(name: str) -> tzinfo:
    """The zone of that name; UTC for an empty name, and for one that this machine no longer knows."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
