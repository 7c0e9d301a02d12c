"""Pacing of reads: answers are read in batches, and less often when the process is busy."""

import asyncio
import math

import pytest

from chatui.backends.pace import AT_ONCE, PACE, TICK_SECONDS, AnswerPace, Pace


def test_a_busy_process_reads_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"monotonic": 100.0, "process_time": 10.0}
    for clock in now:
        monkeypatch.setattr(f"time.{clock}", lambda clock=clock: now[clock])
    busy = Pace()
    factors = []
    for share, seconds in ((0.0, 1), (0.1, 1), (0.3, 1), (1.0, 1), (0.0, 1), (1.0, 0.15)):
        now["monotonic"] += seconds
        now["process_time"] += share * seconds
        factors.append(busy.factor())
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
        started, over = loop.time(), loop.create_future()
        loop.call_at(PACE.after(0.05, may_lengthen=False), over.set_result, None)  # the pace may change between two of them
        await over
        ends.append((loop.time() - started, passes, math.ceil((started + 0.05) / TICK_SECONDS)))

    loop.call_soon(count)
    await asyncio.gather(*(rest() for _ in range(20)))
    assert min(seconds for seconds, _, _ in ends) >= 0.049
    ticks = {tick for _, _, tick in ends}  # one or two, if this process has a processor meanwhile
    assert len({at for _, at, _ in ends}) <= 2 * len(ticks), "a pass for each tick, or two that come with it"


def test_an_answer_is_read_at_once_where_it_begins_and_where_text_for_people_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[bool] = []

    def after(self: Pace, seconds: float, *, may_lengthen: bool = True) -> float:
        rests.append(may_lengthen)
        return 1.0

    def reads(count: int) -> list[bool]:
        rests.clear()
        for _ in range(count):
            reading.next_read()
        return list(rests)

    monkeypatch.setattr(Pace, "after", after)
    is_hidden = True
    reading = AnswerPace(0.05, lambda: is_hidden)
    assert reads(AT_ONCE + 2) == [False] * 2, "hidden text is read as often under load"
    is_hidden = False
    assert reads(AT_ONCE) == []
    assert reads(2) == [True] * 2
    reading = AnswerPace(0.05, lambda: False)
    assert reads(AT_ONCE + 1) == [True]
