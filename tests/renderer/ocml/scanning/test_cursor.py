"""Places in streamed text: bytes, lines and columns, counted once, over any number of buffers."""

from __future__ import annotations

import pytest

from renderer.errors import Location
from renderer.ocml.scanning import Cursor, location_after
from tests.support.cases import for_each


@for_each(["", "abc", "a\nbc\n\nd", "\n", "é\n한😀x", "aé\n", "😀"])
def test_every_place_of_a_text_has_the_bytes_lines_and_columns_before_it(text: str) -> None:
    places = [
        Location(len(text[:at].encode()), text[:at].count("\n") + 1, at - text[:at].rfind("\n"), frame=7) for at in range(len(text) + 1)
    ]
    cursor = Cursor()
    cursor.begin(text)
    assert [cursor.location(at, 7) for at in range(len(text) + 1)] == places
    for at, place in enumerate(places):
        cursor = Cursor()
        cursor.begin(text)
        assert cursor.location(at, 7) == place == cursor.here(7), "in one step"
        assert location_after(Location(0, 1, 1, 7), text[:at]) == place
        assert location_after(places[at // 2], text[at // 2 : at]) == place, "from a place within the text"


def test_counting_goes_on_in_the_next_buffer_where_it_stopped() -> None:
    cursor = Cursor()
    cursor.begin("é\nab<|")
    cursor.move(4)
    cursor.begin("<|end|>\nc")
    assert cursor.here(1) == Location(5, 2, 3, 1)
    assert cursor.location(0, 1) == Location(5, 2, 3, 1), "the first position of the new buffer"
    assert cursor.location(9, 2) == Location(14, 3, 2, 2)


def test_a_place_that_was_passed_is_not_counted_again() -> None:
    cursor = Cursor()
    cursor.begin("ab\ncd")
    cursor.move(4)
    for position in (4, 3, 0):
        cursor.move(position)
        assert cursor.here(0) == Location(4, 2, 2, 0)
    assert cursor.location(5, 0) == Location(5, 2, 3, 0)


@pytest.mark.parametrize(("buffer", "offset"), [("ab", 5), ("éb", 6)])
def test_a_byte_order_mark_is_three_bytes_and_no_column(buffer: str, offset: int) -> None:
    cursor = Cursor()
    cursor.skip_byte_order_mark()
    assert cursor.here(0) == Location(3, 1, 1, 0)
    cursor.begin(buffer)
    assert cursor.location(2, 0) == Location(offset, 1, 3, 0)
