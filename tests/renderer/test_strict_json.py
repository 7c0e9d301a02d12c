"""The strict JSON parser: what it refuses, at any depth and length, and what that costs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer import strict_json
from tests.support.cost import costs_at_most

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_json_is_read(value: object) -> None:
    assert strict_json.loads(json.dumps(value)) == value


@pytest.mark.parametrize(
    "text", ["", " ", "{", "{} {}", "NaN", "-Infinity", "'a'", '{"a": NaN}', "[1,]", '"\n"', "\ufeff{}", "01", "[" * 5000]
)
def test_text_that_is_not_json_is_refused(text: str) -> None:
    assert not strict_json.is_json(text)


def test_numbers_that_python_cannot_represent_are_json() -> None:
    assert strict_json.is_json("9" * 10_000)
    assert strict_json.is_json("1e999")
    assert isinstance(strict_json.loads("[1e999]"), list)


def test_the_depth_is_bounded_and_brackets_in_strings_do_not_count() -> None:
    limit = strict_json.DEPTH_LIMIT
    assert strict_json.is_json("[" * limit + "]" * limit)
    assert not strict_json.is_json("[" * (limit + 1) + "]" * (limit + 1))
    assert strict_json.is_json(json.dumps(["[{" * 300, '\\"[' * 300]))


def test_duplicate_keys_are_refused_on_request() -> None:
    assert strict_json.loads('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(strict_json.JsonError):
        strict_json.loads('{"a": 1, "a": 2}', exact=True)


@pytest.mark.parametrize("text", ["[" * 1_000_000, '"' * 1_000_001, "[{" * 200 + '"' + '\\"' * 500_000, "[{" * 200 + '"' * 1_000_001])
def test_a_megabyte_of_hostile_text_is_checked_quickly(text: str) -> None:
    assert not strict_json.is_json(text)
    assert costs_at_most(1000, lambda: strict_json.is_json(text))
