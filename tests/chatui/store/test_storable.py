"""What a database or UTF-8 refuses is replaced in every text that is stored."""

import pytest

from chatui.store.transcripts import storable


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", ""),
        ("a\x00b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\U0001f600\uffff", "\U0001f600\uffff"),
        ("\ud800", "\ufffd"),
        ("a\udfffb\x00", "a\ufffdb\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        ("\udbff\udfff\ud800", "\U0010ffff\ufffd"),
    ],
)
def test_nul_and_lone_surrogates_are_replaced_and_pairs_are_joined(text: str, stored: str) -> None:
    assert storable(text) == stored
