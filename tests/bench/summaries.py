"""Measures the check of reasoning summaries: indexing hidden text as it arrives, and comparing one line with all of it."""

from __future__ import annotations

import random
import time

from renderer.summary.check import check
from renderer.summary.index import HiddenText, SeenText

WORDS = 100_000
LINE = "Considered the traffic, the weather and the distance"
CHECKS = 200


def main() -> int:
    """Measure and print."""
    chance = random.Random(17)
    known = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randrange(2, 11))) for _ in range(20_000)]
    words = [chance.choice(known) + " " for _ in range(WORDS)]
    seen = SeenText()
    seen.feed("How do I get to work fastest when it rains?")
    print(f"Checking summaries, {WORDS:,} words of hidden text, each word by itself:")
    for share in (10, 1):
        hidden = HiddenText()
        part = words[: WORDS // share]
        started = time.process_time()
        for word in part:
            hidden.feed(word)
        hidden.settle(is_end=True)
        indexed = time.process_time() - started
        started = time.process_time()
        for _ in range(CHECKS):
            check(LINE, hidden, seen)
        checked = (time.process_time() - started) / CHECKS
        print(f"  {len(part):9,} words: {indexed / len(part) * 1e6:6.1f} µs a word to index, {checked * 1000:6.2f} ms a line to check")
    print()
    return 0
