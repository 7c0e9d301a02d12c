"""The strict JSON parser: what it refuses, at any depth and length, and what that costs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer import strict_json
from tests.support.cases import for_each
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
    assert strict_json.is_json(text) is strict_json.is_json(text, exact=True) is False


def test_the_depth_is_bounded_and_brackets_in_strings_do_not_count() -> None:
    limit = strict_json.DEPTH_LIMIT
    assert strict_json.is_json("[" * limit + "]" * limit)
    assert not strict_json.is_json("[" * (limit + 1) + "]" * (limit + 1))
    assert strict_json.is_json(json.dumps(["[{" * 300, '"[' * 900, '\\"[' * 900, "\\[" * 900]))
    assert not strict_json.is_json('["{", "\\\\", ' + "[" * limit + "]" * limit + "]"), "a string ends at its quote"


def test_only_the_depth_counts_not_how_many_values_there_are_beside_each_other() -> None:
    limit = strict_json.DEPTH_LIMIT
    beside = "[], {}, " * 150
    assert limit == 200
    assert strict_json.is_json(f"[{beside}{'[' * (limit - 1)}{']' * (limit - 1)}]")
    assert not strict_json.is_json(f"[{beside}{'[' * limit}{']' * limit}]")
    for depth, is_accepted in ((limit, True), (limit + 1, False)):
        assert strict_json.is_json('{"a": ' * depth + "1" + "}" * depth) is is_accepted


def test_numbers_beyond_a_double_become_the_largest_one_so_that_they_can_be_written_again() -> None:
    largest = 1.7976931348623157e308
    assert strict_json.loads("[1e999, -1e999, 1.5, 1e-999]") == [largest, -largest, 1.5, 0.0]
    longest = int("9" * 3999)
    assert strict_json.loads("9" * 3999) == longest and strict_json.loads("9" * 3999, exact=True) == longest
    assert strict_json.loads("9" * 4000) == largest and strict_json.loads("-" + "9" * 4000) == -largest


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 4000, "-" + "9" * 3999, "1e-999", "0.0" + "0" * 400 + "1", "-20e-400"])
def test_a_number_that_would_change_is_only_refused_where_that_matters(number: str) -> None:
    assert strict_json.is_json(number) and not strict_json.is_json(number, exact=True)
    with pytest.raises(strict_json.JsonError, match="number"):
        strict_json.loads(f"[{number}]", exact=True)


@pytest.mark.parametrize("number", ["0.0", "-0.0", "0e5", "0.000e-9", "0", "-7", "1.5", "2e307", "1e-300", "9" * 3999])
def test_a_number_that_stays_the_same_is_exact(number: str) -> None:
    assert strict_json.is_json(number, exact=True) and strict_json.loads(number, exact=True) == strict_json.loads(number)


def test_what_is_not_json_is_not_exact_either_and_the_error_says_where_and_why() -> None:
    assert strict_json.is_json(' {"a": [1]} ', exact=True)
    assert not strict_json.is_json("{", exact=True) and not strict_json.is_json('{"a": 1, "a": 1}', exact=True)
    for text, position, hint in (("[1, x]", 4, "not valid"), ("[NaN]", 0, "NaN"), ("[" * 300, 0, "nested"), ("[1] secret", 4, "not valid")):
        with pytest.raises(strict_json.JsonError, match=hint) as caught:
            strict_json.loads(text)
        assert caught.value.position == position and "secret" not in str(caught.value)
    with pytest.raises(strict_json.JsonError, match="duplicate"):
        strict_json.loads('[{"a": {"b": 1, "b": 2}}]', exact=True)


def test_duplicate_keys_are_refused_on_request() -> None:
    assert strict_json.loads('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(strict_json.JsonError):
        strict_json.loads('{"a": 1, "a": 2}', exact=True)


@pytest.mark.parametrize("text", ["[" * 1_000_000, '"' * 1_000_001, "[{" * 200 + '"' + '\\"' * 500_000, "[{" * 200 + '"' * 1_000_001])
def test_a_megabyte_of_hostile_text_is_checked_quickly(text: str) -> None:
    assert not strict_json.is_json(text)
    assert costs_at_most(1000, lambda: strict_json.is_json(text))


@for_each(
    [
        (b"", 0),
        (b"[]", 1),
        (b"[{,}]", 3),
        (b'"a" "b"', 2),
        (b'"[{,"', 1),
        (b'"\\"[" {', 2),
        (b'"unterminated [{,', 1),
        (b'"unterminated \\', 1),
    ]
)
def test_marks_of_json_are_counted_without_those_in_strings(data: bytes, marks: int) -> None:
    assert not strict_json.has_more_marks(data, marks)
    assert marks == 0 or strict_json.has_more_marks(data, marks - 1)


HIDING = '{"a": "\u2200", "b": [' + "[]," * 500 + "[]]}"
"""Values whose marks are in a string, to whom reads the bytes of UTF-16 as characters."""


def test_bytes_of_others_are_read_only_as_utf_8_and_up_to_a_number_of_values() -> None:
    data = HIDING.encode()
    most = 1 + 4 + 1 + 1 + 501 + 500  # brace, names and text, comma, outer list, lists, commas between them
    assert strict_json.loads_bounded(data, most) == json.loads(HIDING)
    with pytest.raises(strict_json.TooManyValuesError):
        strict_json.loads_bounded(data, most - 2)
    assert not strict_json.has_more_marks(HIDING.encode("utf-16-le"), 20), "its marks cannot be counted"
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"):
        with pytest.raises(strict_json.JsonError):
            strict_json.loads_bounded(HIDING.encode(codec), most)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 900, b"1" * 5000])
def test_bytes_that_are_not_json_are_refused_as_that(data: bytes) -> None:
    with pytest.raises(strict_json.JsonError, match="not valid JSON"):
        strict_json.loads_bounded(data, 1000)
