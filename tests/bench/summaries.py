"""Measures reasoning summaries: reading reasoning as it streams, and judging it at each tick."""

import time

from renderer.activities.lines import TICKS, ActivityLines, Written

QUESTION = "How do I get to work fastest when it rains? Compare the train with the bicycle."
REASONING = (
    "The user wants to know the fastest way to work. We should compare the train with the bicycle. Options: maybe choose the train, "
    "which costs more, or the bicycle, which is slower in the rain. Let's compute: 45 - 30 = 15 minutes. We can structure the answer "
    "with bullet points and a table, and mention the weather. "
)
PIECE = 1_000


def main() -> int:
    """Measure and print."""
    text = REASONING * (300_000 // len(REASONING))
    lines = ActivityLines(Written(QUESTION))
    ticks = {len(text) * number // (len(TICKS) + 1) // PIECE * PIECE: tick for number, tick in enumerate(TICKS, start=1)}
    started = time.process_time()
    for at in range(0, len(text), PIECE):
        lines.feed(text[at : at + PIECE])
        if at in ticks:
            lines.judge(ticks[at])
    took = time.process_time() - started
    print(f"Summarizing {len(text):,} characters of reasoning: {took / len(text) * 1e6:.2f} ms for 1,000, {len(lines.shown)} lines")
    print()
    return 0
