"""Sections that other products collapse in an answer: they are hidden wherever they begin, and found in linear time."""

from __future__ import annotations

import time

import pytest

from chatui.transfer.other_products.frames import sections


@pytest.mark.parametrize("before", ["Sure.", "ok ", "- ", "| ", "> ", "Sure.\n", "", "a :::artifact{b}\nc\n:::\n"])
def test_reasoning_of_librechat_is_hidden_anywhere_in_a_line(before: str) -> None:
    text = f"{before}:::thinking\nUse a note:\n:::note\nx\n:::\nFalcon must stay quiet.\n:::\nHello"
    shown = "".join(section.text for section in sections(text) if section.is_visible)
    assert "Falcon" not in shown and shown.endswith("Hello")


@pytest.mark.parametrize(
    "hostile", [":::thinking\n" + ":" * 100_000 + "x", ":::t" * 25_000, "::: " * 25_000, ":::a\n:::" + " " * 100_000 + "x"]
)
def test_the_cost_of_colons_is_linear(hostile: str) -> None:
    started = time.process_time()
    assert "".join(section.text for section in sections(hostile)) == hostile
    assert time.process_time() - started < 2
