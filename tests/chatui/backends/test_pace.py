"""Pacing of reads: answers are read in batches, and less often when the process is busy."""

import asyncio
import math
from functools import partial

import pytest

from tests.support import pace
from tests.support.limits import limit

AT_ONCE = limit("chatui.backends", "AT_ONCE")
TICK_SECONDS = limit("chatui.backends", "TICK_SECONDS")


def test_a_busy_process_reads_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"monotonic": 100.0, "process_time": 10.0}
    for clock in now:
        monkeypatch.setattr(f"time.{clock}", lambda clock=clock: now[clock])

    def passes(share: float, seconds: float) -> None:
        now["monotonic"] += seconds
        now["process_time"] += share * seconds

    shares = ((0.0, 1), (0.1, 1), (0.3, 1), (1.0, 1), (0.0, 1), (1.0, 0.15))
    factors = pace.factors(*(partial(passes, share, seconds) for share, seconds in shares))
    assert factors[0] == factors[1] == factors[4] == 1
    assert 1 < factors[2] < factors[3] == 2
    assert factors[5] == 2, "the first questions of a burst are enough"


async def test_paused_readers_resume_in_the_same_pass_of_the_event_loop() -> None:
    loop, ends, passes = asyncio.get_running_loop(), list[tuple[float, int, int]](), 0

    def count() -> None:
        nonlocal passes
        passes += 1
        loop.call_soon(count)

    async def rest() -> None:
        started = loop.time()
        await pace.rest(0.05)
        ends.append((loop.time() - started, passes, math.ceil((started + 0.05) / TICK_SECONDS)))

    loop.call_soon(count)
    await asyncio.gather(*(rest() for _ in range(20)))
    assert min(seconds for seconds, _, _ in ends) >= 0.049
    ticks = {tick for _, _, tick in ends}  # one or two, if this process has a processor meanwhile
    assert len({at for _, at, _ in ends}) <= 2 * len(ticks), "a pass for each tick, or two that come with it"


def test_an_answer_is_read_at_once_where_it_begins_and_where_text_for_people_begins() -> None:
    is_hidden = True
    reader = pace.Reader(lambda: is_hidden)
    assert reader.pauses(AT_ONCE + 2) == [False] * 2, "hidden text is read as often under load"
    is_hidden = False
    assert reader.pauses(AT_ONCE) == []
    assert reader.pauses(2) == [True] * 2
    assert pace.Reader(lambda: False).pauses(AT_ONCE + 1) == [True]
