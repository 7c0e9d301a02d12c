"""The time zones that people can choose: the IANA names that this machine knows."""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_PLACES = ("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")


@cache
def names() -> tuple[str, ...]:
    """Those that are named after places, in alphabetical order."""
    return tuple(sorted(name for name in available_timezones() if name.startswith(_PLACES)))


def of(name: str) -> tzinfo:
    """The zone of that name; UTC without one, and for one that this machine does not know any more."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
