"""How often the answers of a process are read: a busy process reads each of them less often, and more at a time.

Reading is what everything else follows: what one read brings is guarded, gated, rendered and sent in one step. A step costs about the same
for one token as for five, so fewer steps are what a process that is short of time can save.
"""

from __future__ import annotations

import time

LOOK_SECONDS = 0.5
IDLE_SHARE = 0.25
BUSY_SHARE = 0.6
"""Shares of a core up to which answers are read at the usual pace, and from which on at the slowest."""
SLOWEST = 2.0


class Pace:
    """``factor`` is asked at each pause between two reads."""

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._spent = time.process_time()
        self._factor = 1.0

    def factor(self) -> float:
        """By how much to lengthen a pause: 1 to SLOWEST."""
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            spent = time.process_time()
            share = (spent - self._spent) / (now - self._looked)
            self._looked, self._spent = now, spent
            self._factor = 1 + (SLOWEST - 1) * min(1.0, max(0.0, (share - IDLE_SHARE) / (BUSY_SHARE - IDLE_SHARE)))
        return self._factor


pace = Pace()
"""That of this process."""
