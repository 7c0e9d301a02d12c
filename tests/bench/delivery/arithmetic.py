"""The benchmark's arithmetic: percentiles, and the search for the largest number that still works."""

import math
from collections.abc import Callable, Sequence

STEP = 1.25


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of the ``ordered`` values that is not less than ``share`` percent of them; 0 if there are none."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


def steps(least: int, most: int) -> list[int]:
    """Numbers from ``least`` to ``most``, each about a quarter larger than the one before."""
    count = round(math.log(most / least, STEP))
    return [round(least * (most / least) ** (number / count)) for number in range(count + 1)]


def largest(numbers: Sequence[int], works: Callable[[int], bool]) -> int:
    """The largest of the rising ``numbers`` that works, if all below it do; 0 if none does. Tries only a few."""
    low, high = 0, len(numbers)
    while low < high:
        between = (low + high) // 2
        if works(numbers[between]):
            low = between + 1
        else:
            high = between
    return numbers[low - 1] if low else 0
