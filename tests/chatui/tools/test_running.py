"""Running a tool: bounded replies, a limited number of threads, and distinguishable failures."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import environment
from tests.support.cases import for_each
from tests.support.limits import limit
from tests.support.tool_calls import BusyError, FailedError, RefusedError, end_process, is_cancelled, turn_with

THREADS = limit("chatui.tools", "THREADS")


def run(function: Callable[..., Any], seconds: float = 5) -> Any:
    return asyncio.run(turn_with(function).call(function.__name__, seconds))


def told(value: object, chars: int = 1000) -> Any:
    """What the model is told of this result, of which it may read about so many characters."""

    def says() -> Any:
        """Returns it."""
        return value

    with pytest.MonkeyPatch.context() as patch:
        environment.change(patch, {"tool_reply_chars": chars})
        return run(says, 60)


def length(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False))


@for_each([{"a": [1, 2.5, None, True]}, "words", [], 3, None])
def test_the_model_reads_the_result_of_a_tool(value: object) -> None:
    assert told(value) == value


@for_each(["x" * 10**6, ["x" * 10**6] * 100, {"a": "x" * 10**6}, list(range(10**6)), {str(n): n for n in range(10**5)}])
def test_a_long_result_is_truncated_while_it_is_serialized(value: object) -> None:
    cut, seconds = cost_of(lambda: told(value))
    text = json.dumps(cut, ensure_ascii=False)
    assert len(text) < 2200 and ("cut here" in text or "left out here" in text) and seconds < 0.7


def cost_of(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of it, and the processor time of all threads of this process."""
    started = time.process_time()
    return work(), time.process_time() - started


def test_of_a_long_list_whole_rows_are_left_out_and_what_is_beside_it_is_kept() -> None:
    rows = [{"id": number, "name": "x" * 20} for number in range(1000)]
    found = told({"page": 1, "items": rows, "total": 1000}, 4000)
    assert (found["page"], found["total"]) == (1, 1000) and found["items"][:-1] == rows[: len(found["items"]) - 1]
    left = 1000 - (len(found["items"]) - 1)
    assert found["items"][-1] == f"[{left:,} of 1,000 rows left out here]" and 3000 < length(found) <= 4100
    assert told(rows, 4000)[-1].endswith("of 1,000 rows left out here]")
    assert "cut here" in told([["x" * 100] * 1000], 4000), "no row fits"
    assert told("x" * 17_000, 16_000).endswith("cut here: 1,000 more characters]")


def test_a_coroutine_that_cancels_itself_failed_and_was_not_stopped() -> None:
    async def cancels() -> None:
        """Raises what Stop raises."""
        raise asyncio.CancelledError

    with pytest.raises(FailedError, match="CancelledError"):
        run(cancels)


@for_each([SystemExit, KeyboardInterrupt, TimeoutError, RecursionError])
def test_any_exception_of_a_tool_is_its_own_failure(error: type[BaseException]) -> None:
    def raises() -> None:
        """Raises."""
        raise error

    with pytest.raises(FailedError, match=error.__name__):
        run(raises)


def test_a_result_that_is_nested_too_deeply_is_named() -> None:
    def circles() -> list[Any]:
        """Returns a list that holds itself."""
        found: list[Any] = []
        found.append(found)
        return found

    with pytest.raises(RefusedError, match="The tool answered, but its result has more than 50 levels"):
        run(circles)


def test_a_blocking_coroutine_blocks_neither_the_server_nor_its_deadline() -> None:
    async def blocks() -> None:
        """Sleeps as one should not."""
        time.sleep(1.0)

    async def beats() -> int:
        count = 0
        task = asyncio.create_task(turn_with(blocks).call("blocks", 0.3))
        while not task.done():
            await asyncio.sleep(0.01)
            count += 1
        with pytest.raises(TimeoutError):
            await task
        return count

    assert asyncio.run(beats()) > 10


def test_threads_are_limited_and_a_late_one_keeps_its_place_until_it_ends(caplog: Any) -> None:
    release = threading.Event()
    caplog.set_level("INFO", "chatui.tools")

    def blocked() -> str:
        """Waits, deaf to everything."""
        release.wait(10)
        return "late"

    for _ in range(THREADS):
        with pytest.raises(TimeoutError):
            run(blocked, seconds=0.05)
    with pytest.raises(BusyError):
        run(blocked, seconds=0.1)
    release.set()
    assert run(blocked) == "late", "the place is free again"
    assert "a late reply of a tool was dropped" in caplog.text and "tool.cancel (deadline)" in caplog.text


def test_a_process_that_ends_cancels_its_tools() -> None:
    cancelled, started = threading.Event(), threading.Event()

    def blocked() -> str:
        """Waits until nobody waits for it."""
        started.set()
        while not is_cancelled():
            time.sleep(0.01)
        cancelled.set()
        return ""

    async def ends() -> None:
        task = asyncio.create_task(turn_with(blocked).call("blocked", 30))
        await asyncio.to_thread(started.wait, 5)
        end_process()
        assert await asyncio.to_thread(cancelled.wait, 1), "within a second"
        await asyncio.wait([task])

    asyncio.run(ends())
