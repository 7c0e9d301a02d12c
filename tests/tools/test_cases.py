"""One test over many cases runs them all, and lists those that failed."""

from __future__ import annotations

import pytest

from tests.support.cases import for_each


def test_every_case_is_run_and_each_that_failed_is_named() -> None:
    ran: list[int] = []

    @for_each(range(5))
    def is_even(number: int) -> None:
        ran.append(number)
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"(?s)2 of 5 cases failed:\n1: AssertionError: odd.*\n3: AssertionError: odd"):
        is_even()
    assert ran == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("outcome", [pytest.skip, pytest.fail])
def test_a_case_that_fails_or_leaves_itself_out_in_the_way_of_pytest_is_a_failure_too(outcome) -> None:
    @for_each(["a"])
    def leaves(case: str) -> None:
        outcome("reason")

    with pytest.raises(AssertionError, match="1 of 1 cases failed"):
        leaves()


def test_no_cases_are_a_failure() -> None:
    @for_each([])
    def anything(case: str) -> None:
        pass

    with pytest.raises(AssertionError, match="no cases"):
        anything()
