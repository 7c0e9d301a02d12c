"""One test over many cases runs them all, and lists those that failed."""

from __future__ import annotations

import pytest

from tests.support.cases import drawn, extended, for_each, is_drawn


def test_every_case_is_run_and_each_that_failed_is_named() -> None:
    ran: list[int] = []

    @for_each(range(5))
    def is_even(number: int) -> None:
        ran.append(number)
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"(?s)2 of 5 cases failed:\n1: AssertionError: odd.*\n3: AssertionError: odd"):
        is_even()
    assert ran == [0, 1, 2, 3, 4]


def test_a_tuple_is_several_arguments() -> None:
    @for_each([(1, 2), (2, 4)])
    def is_half(half: int, whole: int) -> None:
        assert half * 2 == whole

    is_half()


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


def test_drawn_leaves_the_other_cases_to_make_extended() -> None:
    cases = drawn(3, range(30))
    tried = [case for case in cases if isinstance(case, int)]
    assert tried == [0, *(number for number in range(1, 30) if is_drawn(3, number))] and 5 < len(tried) < 20
    assert [case for case in cases if not isinstance(case, int)] == [extended(number) for number in range(30) if number not in tried]
    assert drawn(10**9, [(1, 2), (3, 4)]) == [(1, 2), extended(3, 4)]
    assert [mark.name for mark in extended("a").marks] == ["extended"]
