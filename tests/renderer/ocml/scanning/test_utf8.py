"""Bytes become text wherever they are cut, and invalid ones are reported once and then replaced."""

from __future__ import annotations

import pytest

from renderer.ocml.scanning import Utf8Pieces

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
