"""Scanning streamed text: bytes become text wherever they are cut, places are counted, and control tokens are held back.

Invalid bytes are reported once and then replaced. Bytes, lines and columns are counted once, over any number of buffers. The end of a piece
of text is held back exactly if a control token may begin there.
"""

from __future__ import annotations

import pytest

from renderer.errors import Location
from renderer.ocml.scanning import BEGINNINGS, MAX_BEGINNING_CHARS, TOKEN, Cursor, Utf8Pieces, beginnings, held_back, location_after
from renderer.tokens import Token
from tests.support.cases import for_each

TEXT = "aé한😀\ufffd\n"


@pytest.mark.parametrize("size", range(1, 14))
def test_characters_are_put_together_from_pieces_of_any_size(size: int) -> None:
    pieces, data, found = Utf8Pieces(), TEXT.encode(), ""
    for at in range(0, len(data), size):
        text, is_broken = pieces.decode(data[at : at + size], is_last=False)
        found += text
        assert not is_broken and not pieces.replaces_invalid
        assert TEXT.startswith(found) and pieces.is_waiting == (len(found.encode()) < min(at + size, len(data)))
    assert found == TEXT and pieces.decode(b"", is_last=True) == ("", False)


@pytest.mark.parametrize("cut", range(9))
def test_text_before_an_invalid_byte_comes_first_and_the_rest_is_replaced(cut: int) -> None:
    data = b"\xc3\xa9b\xffc\xe2\x82\xac"
    pieces, before, is_broken, after = Utf8Pieces(), "", False, ""
    for piece in (data[:cut], data[cut:]):
        text, stopped = pieces.decode(piece, is_last=False)
        if is_broken:
            assert not stopped, "it is reported once"
            after += text
        else:
            before += text
        if stopped:
            is_broken = True
            assert not pieces.replaces_invalid
            after += pieces.decode_the_rest(is_last=False)
            assert pieces.replaces_invalid
    assert (before, is_broken, after) == ("éb", True, "\ufffdc€")


def test_each_later_invalid_byte_is_replaced_too() -> None:
    pieces = Utf8Pieces()
    assert pieces.decode(b"\xffa", is_last=False) == ("", True)
    assert pieces.decode_the_rest(is_last=False) == "\ufffda"
    assert pieces.decode(b"b\xff\xffc", is_last=False) == ("b\ufffd\ufffdc", False)


@pytest.mark.parametrize("begin", [b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98"])
def test_a_character_that_is_never_completed_is_invalid_at_the_end(begin: bytes) -> None:
    pieces = Utf8Pieces()
    assert pieces.decode(b"a" + begin, is_last=False) == ("a", False) and pieces.is_waiting
    assert pieces.decode(b"", is_last=True) == ("", True)
    assert pieces.decode_the_rest(is_last=True) == "\ufffd" and not pieces.is_waiting


def test_half_a_character_after_an_invalid_byte_waits_for_its_other_half() -> None:
    pieces = Utf8Pieces()
    assert pieces.decode(b"\xff\xe2\x82", is_last=False) == ("", True)
    assert pieces.decode_the_rest(is_last=False) == "\ufffd" and pieces.is_waiting
    assert pieces.decode(b"\xac", is_last=False) == ("€", False) and not pieces.is_waiting


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


@for_each(list(Token))
def test_each_beginning_of_a_token_is_held_back_whatever_stands_before_it(token: Token) -> None:
    for length in range(1, len(token)):
        for before in ("", "a", "<", "<|", "a" * 20, "é\n"):
            assert held_back(f"{before}{token[:length]}", 0) == token[:length]
    for whole in (token, f"{token[:-1]}x", f"{token}a"):
        assert held_back(whole, 0) == ""
    found = TOKEN.search(f"a{token}b")
    assert found and found[0] == token
    assert TOKEN.search(token[:-1]) is None and TOKEN.search(token[1:]) is None


def test_the_longest_beginning_is_one_character_shorter_than_the_longest_token() -> None:
    assert max(map(len, BEGINNINGS)) == MAX_BEGINNING_CHARS == len("<|endliteral|>") - 1


def test_nothing_before_the_given_position_is_held_back() -> None:
    assert [held_back("a<|en", position) for position in range(6)] == ["<|en", "<|en", "", "", "", ""]
    assert held_back("a<", 2) == ""
    assert held_back("", 0) == "" == held_back("a", 0)


def test_in_a_literal_block_only_its_end_is_held_back() -> None:
    among = beginnings("<|endliteral|>")
    assert [held_back(text, 0, among) for text in ("a<|end", "a<|en<", "a<|st", "a<|endliteral|", "a<|end|")] == [
        "<|end",
        "<",
        "",
        "<|endliteral|",
        "",
    ]
