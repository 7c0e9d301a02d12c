"""Removes from a program's texts and names what a database or UTF-8 cannot store."""

from __future__ import annotations

from typing import Any

from chatui.store import transcripts


def storable(value: Any) -> Any:
    """The same value of JSON, which can be stored and sent."""
    match value:
        case str():
            return transcripts.storable(value)
        case list():
            return [storable(item) for item in value]
        case dict():
            return {transcripts.storable(name): storable(item) for name, item in value.items()}
        case _:
            return value
