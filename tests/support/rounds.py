"""How often races and faults are tried: once in ``make test``, many times in ``make faults``."""

from __future__ import annotations

import os

ROUNDS = int(os.environ.get("CHATUI_TEST_LONG") or 1)


def seeds(count: int) -> range:
    """The seeds of a test with random damage: as many as it names for each round."""
    return range(count * ROUNDS)
