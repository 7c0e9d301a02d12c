"""Cleaning untrusted text: everything that a person can see stays, and nothing else."""

import time
import unicodedata

import pytest

from tests.support.document_files import cleaned


@pytest.mark.parametrize(
    "unseen",
    ["\0", "\x1b", "\x9b", "\xad", "\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\U000e0100", "\ufe0f", "\ud800"],
)
def test_invisible_characters_are_removed(unseen: str) -> None:
    assert cleaned(f"pass{unseen}word") == "password"


def test_lines_tabs_and_control_words_of_models_are_unchanged() -> None:
    text = "a\tb\n<|start|>assistant<|channel|>final<|message|>日本語 العربية 👍\n"
    assert cleaned(text) == text
    assert cleaned("a\r\nb\rc\u2028d\x0ce") == "a\nb\nc\nd\ne"


def test_characters_are_normalized() -> None:
    assert cleaned("e\u0301 \u212b e\u200b\u0301") == "\u00e9 \u00c5 \u00e9"
    for text in ("e\u0301" * 1000, "\u1112\u1161\u11ab " * 500, "か\u3099" * 1000):
        assert cleaned(text) == unicodedata.normalize("NFC", text), "pieces are cut where nothing joins"


def test_a_million_combining_characters_take_linear_time() -> None:
    before = time.process_time()
    cleaned("e" + "\u0301\u0323" * 250_000)
    assert time.process_time() - before < 5
