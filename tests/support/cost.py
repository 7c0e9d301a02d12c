"""Measures how much work something is, so that a busy or slow machine gives the same result as an idle or fast one."""

import gc
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from statistics import median

UNIT_LOOPS = 40_000
"""Iterations of the loop in one unit: about a millisecond on a processor of 2026."""


def cost(work: Callable[[], object]) -> float:
    """The processor time that ``work`` takes, in units: multiples of the time of a fixed loop on this machine right before and after.

    Time in which other programs run is not counted, and what they cost by sharing caches is nearly the same for both.
    """
    gc.disable()  # a collection over the whole test run's objects is not to be measured
    try:
        unit = min(_seconds(_unit) for _ in range(3))
        seconds = _seconds(work)
        return seconds / max(unit, _seconds(_unit))
    finally:
        gc.enable()


def relative_cost(work: Callable[[], object], other: Callable[[], object], *, pairs: int = 9) -> float:
    """How many times the processor time of ``other`` ``work`` takes: the median of several pairs.

    Both of a pair run one after the other, so that a busy machine slows both. Comparing the lowest ``cost`` of each would compare the
    luckiest moments: a unit that was slowed makes the work beside it look cheap.
    """
    gc.disable()
    try:
        return median(_seconds(work) / _seconds(other) for _ in range(pairs))
    finally:
        gc.enable()


async def ends_within(seconds: float, attempt: Callable[[], Awaitable[float]]) -> None:
    """Check that one attempt out of ten takes less; each returns how many seconds it took. A busy machine delays some of them, what the
    product waits for delays all."""
    took = [await attempt()]
    while took[-1] >= seconds and len(took) < 10:
        took.append(await attempt())
    assert took[-1] < seconds, took


class Calls:
    """Counts calls of functions: the same on every machine, within a percent. ``with_builtins``: as cProfile, also of those written in
    C."""

    def __init__(self, *, with_builtins: bool = False) -> None:
        self._events = {"call", "c_call"} if with_builtins else {"call"}
        self._counts: list[list[int]] = []

    @property
    def total(self) -> int:
        """The calls so far, of all watched threads."""
        return sum(count for (count,) in self._counts)

    def watch_this_thread(self, *_: object) -> None:
        """Count the calls of this thread from now on. Each thread has a count of its own, because adding is not atomic."""
        count, events = [0], self._events
        self._counts.append(count)

        def seen(frame: object, event: str, argument: object) -> None:
            if event in events:
                count[0] += 1

        sys.setprofile(seen)


def python_calls(work: Callable[[], object]) -> int:
    """How many Python functions ``work`` calls in this thread and in those that it starts."""
    calls = Calls()
    threading.setprofile(calls.watch_this_thread)
    calls.watch_this_thread()
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return calls.total


class Longest:
    """The longest of many steps: ``units``, as ``cost`` of each step, which would cost more than the steps themselves."""

    def __init__(self) -> None:
        self.units = 0.0
        self._seconds = 0.0

    def run(self, step: Callable[[], object]) -> None:
        """Run one step. The unit is measured only after a step that took longer than all before."""
        gc.disable()
        try:
            seconds = _seconds(step)
            if seconds > self._seconds:
                self._seconds = seconds
                self.units = max(self.units, seconds / min(_seconds(_unit) for _ in range(3)))
        finally:
            gc.enable()


def costs_at_most(units: float, work: Callable[[], object], *, tries: int = 3) -> bool:
    """Whether the best of a few tries of ``work`` takes at most ``units``."""
    return any(cost(work) <= units for _ in range(tries))


def _unit() -> None:
    total = 0
    for number in range(UNIT_LOOPS):
        total += number


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return max(time.process_time() - started, 1e-6)
