"""Reads values from other products' JSON without relying on their types."""

from __future__ import annotations

from datetime import UTC, datetime

from renderer.strict_json import JsonValue

Object = dict[str, JsonValue]


def object_of(value: JsonValue) -> Object:
    """The value, if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: JsonValue) -> list[JsonValue]:
    """The value, if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: JsonValue) -> str:
    """The value, if it is text; else empty text."""
    return value if isinstance(value, str) else ""


def is_set(value: JsonValue) -> bool:
    """Whether a mark such as "hidden" is set: anything except false and null, so that what is in doubt is hidden."""
    return value is not None and value is not False


def time_of(value: JsonValue) -> datetime | None:
    """A time in seconds or milliseconds since 1970, or as ISO 8601. None if it is not a time, before 2000 or in the future."""
    try:
        found = _from_iso(value) if isinstance(value, str) else _from_number(value)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found and _FIRST <= found <= datetime.now(UTC) else None


def _from_iso(text: str) -> datetime:
    found = datetime.fromisoformat(text[:40])
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _from_number(value: JsonValue) -> datetime | None:
    if not isinstance(value, int | float):
        return None
    return datetime.fromtimestamp(value / 1000 if value > _LARGEST_SECONDS else value, UTC)


_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_LARGEST_SECONDS = 100_000_000_000
