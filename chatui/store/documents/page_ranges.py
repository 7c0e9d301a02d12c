"""Parses page ranges as people write them, such as ``1-12, 15``, for pages, sheets and slides."""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_CHARS = 200
_RANGE = re.compile(r"\s*([0-9]{1,6})\s*(?:[-–]\s*([0-9]{1,6})\s*)?")


class PlacesError(ValueError):
    """The page range is invalid, or outside this document."""


def read(text: str, most: int) -> tuple[int, ...]:
    """The page numbers in order, each once; ``most``: the last existing one.

    Raises:
        PlacesError: it cannot be parsed, or contains a number that does not exist.
    """
    if len(text) > MAX_CHARS:
        raise PlacesError
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise PlacesError
        first = int(match[1])
        last = int(match[2] or match[1])
        if not 1 <= first <= last <= most:
            raise PlacesError
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def written_ranges(numbers: Collection[int]) -> str:
    """The numbers as a short range: ``1-12, 15``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
