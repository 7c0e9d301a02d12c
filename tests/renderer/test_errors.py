"""The error codes of the specification: each has a sentence, and a problem is the same as a value and as an exception."""

from __future__ import annotations

import pytest

from renderer.errors import Code, Location, Problem

OF_THE_SPECIFICATION = list(Code)


def test_the_specification_has_eight_codes() -> None:
    assert len(OF_THE_SPECIFICATION) == 8


@pytest.mark.parametrize("code", OF_THE_SPECIFICATION)
def test_a_problem_is_the_same_as_an_exception(code: Code) -> None:
    error = Problem(code, "a reason", Location(7, 2, 3, 1)).error()
    assert (error.code, error.sentence) == (code, code.sentence)
    assert str(error) == f"{code}: a reason (line 2, column 3)"
    assert error.problem == Problem(code, "a reason", Location(7, 2, 3, 1))


@pytest.mark.parametrize("code", list(Code))
def test_each_code_has_a_whole_sentence(code: Code) -> None:
    assert code.sentence.endswith(".") and len(code.sentence) > 10
