"""Decides when this process reads its model servers' answers: together at the ticks of one clock, and less often under load.

Everything else follows from reading: the bytes of one read are guarded, gated, rendered and sent in one step. A step costs about the same
for one token as for five, so a busy process saves time with fewer steps. Each pass of the event loop has a cost as well, so answers that
are due within TICK_SECONDS are read in the same pass. Other answers are read at other ticks: otherwise the last would wait for all.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

TICK_SECONDS = 0.01
LOOK_SECONDS = 0.1
"""How often it is measured how busy the process is. If it were less often, the later ones of many questions in one second would wait for
answers that are still read at the usual pace."""
IDLE_SHARE = 0.2
BUSY_SHARE = 0.4
"""Shares of a core: up to the first, answers are read at the usual pace; from the second on, at the slowest."""
SLOWEST = 2.0
AT_ONCE = 2
"""Reads without a pause: a server may send its first words in several pieces, and the first may not be shown without the second."""


class Pace:
    """Says when the next read is. There is one Pace for all event loops: they share the process."""

    def __init__(self) -> None:
        self._measured_at = time.monotonic()
        self._spent = time.process_time()
        self._factor = 1.0

    def factor(self) -> float:
        """How many times longer pauses are now: 1 to SLOWEST."""
        now = time.monotonic()
        if now - self._measured_at >= LOOK_SECONDS:
            spent = time.process_time()
            share = (spent - self._spent) / (now - self._measured_at)
            self._measured_at, self._spent = now, spent
            self._factor = 1 + (SLOWEST - 1) * min(1.0, max(0.0, (share - IDLE_SHARE) / (BUSY_SHARE - IDLE_SHARE)))
        return self._factor

    def after(self, seconds: float, *, may_lengthen: bool = True) -> float:
        """The time of the loop in about ``seconds``, or later if the process is busy and ``may_lengthen``."""
        now = asyncio.get_running_loop().time()
        if seconds <= TICK_SECONDS:
            return now + seconds
        return math.ceil((now + seconds * (self.factor() if may_lengthen else 1)) / TICK_SECONDS) * TICK_SECONDS


PACE = Pace()


class AnswerPace:
    """When one answer is read: AT_ONCE times without a pause at its beginning, and again where text for people begins. Until then a busy
    process reads as often as an idle one: hidden text is neither rendered nor sent, and the first word for people may be in the next read.
    """

    def __init__(self, seconds: float, is_hidden: Callable[[], bool]) -> None:
        """``seconds``: the usual pause. ``is_hidden``: whether nothing that people may see is being written; asked before each read."""
        self._seconds = seconds
        self._is_hidden = is_hidden
        self._was_hidden = True
        self._at_once = AT_ONCE

    def next_read(self) -> float:
        """The time of the loop; 0 for now."""
        is_hidden = self._is_hidden()
        if self._was_hidden and not is_hidden:
            self._at_once = AT_ONCE
        self._was_hidden = is_hidden
        if self._at_once:
            self._at_once -= 1
            return 0.0
        return PACE.after(self._seconds, may_lengthen=not is_hidden)
