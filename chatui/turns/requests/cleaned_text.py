"""Removes characters from a program's texts and names that a database or UTF-8 cannot store."""

from __future__ import annotations

from typing import Any

from chatui.store import transcripts


def storable(value: Any) -> Any:
    """The JSON value without characters that cannot be stored or sent."""
    match value:
        case str():
            return transcripts.storable(value)
        case list():
            return [storable(item) for item in value]
        case dict():
            return {transcripts.storable(name): storable(item) for name, item in value.items()}
        case _:
            return value
