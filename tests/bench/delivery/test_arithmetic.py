"""The benchmark's arithmetic."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.bench.delivery.arithmetic import largest, percentile, steps


@pytest.mark.parametrize(("share", "expected"), [(50, 5), (99, 10), (90, 9), (91, 10), (0, 1), (100, 10)])
def test_a_percentile_is_one_of_the_values(share: float, expected: int) -> None:
    assert percentile(range(1, 11), share) == expected


def test_there_is_no_percentile_of_nothing() -> None:
    assert percentile([], 50) == 0.0


def test_steps_go_from_the_least_to_the_most_by_about_a_quarter() -> None:
    numbers = steps(20, 600)
    assert (numbers[0], numbers[-1]) == (20, 600)
    assert all(1.2 < after / before < 1.3 for before, after in pairwise(numbers))


@pytest.mark.parametrize("works_up_to", [0, 1, 2, 3, 6, 7, 8, 100])
def test_the_largest_number_that_works_is_found(works_up_to: int) -> None:
    numbers = [1, 2, 3, 5, 7]
    tried: list[int] = []

    def works(number: int) -> bool:
        tried.append(number)
        return number <= works_up_to

    assert largest(numbers, works) == max([number for number in numbers if number <= works_up_to], default=0)
    assert len(tried) <= 3
