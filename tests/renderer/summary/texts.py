"""Indexed texts for the tests of single rules."""

from __future__ import annotations

from renderer.summary.index import HiddenText, SeenText


def hidden_text(reasoning: str = "", instructions: str = "") -> HiddenText:
    hidden = HiddenText()
    if instructions:
        hidden.feed_instructions(instructions)
    hidden.feed(reasoning)
    hidden.settle(is_end=True)
    return hidden


def seen_text(text: str = "") -> SeenText:
    seen = SeenText()
    seen.feed(text)
    return seen
