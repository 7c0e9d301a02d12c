"""Running a tool: bounded replies, a limited number of threads, and distinguishable failures."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from chatui.tools import execution, replies
from chatui.tools.execution import Execution, ToolFailedError, ToolsBusyError
from chatui.tools.functions import tool_of
from chatui.tools.replies import Provenance
from renderer.errors import Code
from renderer.frames import Frame, Header
from renderer.ocml.calls import read_reply
from tests.support.cases import for_each


def run(function: Callable[..., Any], seconds: float = 5, max_chars: int = 1000) -> Any:
    return json.loads(asyncio.run(Execution(tool_of(function, "under_test"), {}, max_chars).result(seconds)))


@for_each([{"a": [1, 2.5, None, True]}, "words", [], 3, None])
def test_the_result_of_a_tool_is_stored_as_json(value: object) -> None:
    assert json.loads(replies.bounded_json(value, 1000)) == value


@for_each(["x" * 10**6, ["x" * 10**6] * 100, {"a": "x" * 10**6}, list(range(10**6)), {str(n): n for n in range(10**5)}])
def test_a_long_result_is_truncated_while_it_is_serialized(value: object) -> None:
    started = time.thread_time()
    cut = replies.bounded_json(value, 1000)
    assert len(cut) < 2200 and ("cut here" in cut or "left out here" in cut) and time.thread_time() - started < 0.5
    json.loads(cut)


def test_of_a_long_list_whole_rows_are_left_out_and_what_is_beside_it_is_kept() -> None:
    rows = [{"id": number, "name": "x" * 20} for number in range(1000)]
    found = json.loads(replies.bounded_json({"page": 1, "items": rows, "total": 1000}, 4000))
    assert (found["page"], found["total"]) == (1, 1000) and found["items"][:-1] == rows[: len(found["items"]) - 1]
    left = 1000 - (len(found["items"]) - 1)
    assert found["items"][-1] == f"[{left:,} of 1,000 rows left out here]" and 3000 < len(json.dumps(found)) <= 4100
    assert json.loads(replies.bounded_json(rows, 4000))[-1].endswith("of 1,000 rows left out here]")
    assert "cut here" in json.loads(replies.bounded_json([["x" * 100] * 1000], 4000)), "no row fits"
    assert replies.bounded_json("x" * 17_000, 16_000).endswith('cut here: 1,000 more characters]"')


def test_an_envelope_follows_the_specification() -> None:
    envelope = json.loads(replies.succeeded('{"a": 1}', Provenance("wiki:search", 7)).text)
    assert (envelope["ok"], envelope["content"], envelope["error"]) == (True, {"a": 1}, None)
    assert (envelope["provenance"]["source"], envelope["provenance"]["duration_ms"]) == ("wiki:search", 7)


@for_each([Code.TOOL_TIMEOUT, Code.TOOL_CANCELLED])
def test_a_failure_is_recognizable_in_the_transcript(code: Code) -> None:
    reply = replies.failed(code, 'It said "no".', Provenance("chatui"))
    assert read_reply(Frame(Header("tool", name="functions.x", call_id="c"), reply.text)).error is code
    assert reply.error is code and "no" not in repr(reply)


def test_a_coroutine_that_cancels_itself_failed_and_was_not_stopped() -> None:
    async def cancels() -> None:
        """Raises what Stop raises."""
        raise asyncio.CancelledError

    with pytest.raises(ToolFailedError, match="CancelledError"):
        run(cancels)


@for_each([SystemExit, KeyboardInterrupt, TimeoutError, RecursionError])
def test_any_exception_of_a_tool_is_its_own_failure(error: type[BaseException]) -> None:
    def raises() -> None:
        """Raises."""
        raise error

    with pytest.raises(ToolFailedError, match=error.__name__):
        run(raises)


def test_a_result_that_is_not_json_is_a_failure() -> None:
    def circles() -> list[Any]:
        """Returns a list that holds itself."""
        found: list[Any] = []
        found.append(found)
        return found

    with pytest.raises(ToolFailedError, match="ValueError"):
        run(circles)


def test_a_blocking_coroutine_blocks_neither_the_server_nor_its_deadline() -> None:
    async def blocks() -> None:
        """Sleeps as one should not."""
        time.sleep(1.0)

    async def beats() -> int:
        count = 0
        task = asyncio.create_task(Execution(tool_of(blocks, "blocks"), {}, 100).result(0.3))
        while not task.done():
            await asyncio.sleep(0.01)
            count += 1
        with pytest.raises(TimeoutError):
            await task
        return count

    assert asyncio.run(beats()) > 10


def test_threads_are_limited_and_a_late_one_keeps_its_place_until_it_ends(caplog: Any) -> None:
    release = threading.Event()
    caplog.set_level("INFO", "chatui.tools.execution")

    def blocked() -> str:
        """Waits, deaf to everything."""
        release.wait(10)
        return "late"

    for _ in range(execution.THREADS):
        with pytest.raises(TimeoutError):
            run(blocked, seconds=0.05)
    with pytest.raises(ToolsBusyError):
        run(blocked, seconds=0.1)
    release.set()
    assert run(blocked) == "late", "the place is free again"
    assert "a late reply of a tool was dropped" in caplog.text and "tool.cancel (deadline)" in caplog.text


def test_a_process_that_ends_cancels_its_tools() -> None:
    cancelled, started = threading.Event(), threading.Event()

    def blocked() -> str:
        """Waits until nobody waits for it."""
        started.set()
        while not execution.is_cancelled():
            time.sleep(0.01)
        cancelled.set()
        return ""

    async def ends() -> None:
        task = asyncio.create_task(Execution(tool_of(blocked, "waits"), {}, 100).result(30))
        await asyncio.to_thread(started.wait, 5)
        execution.cancel_all()
        assert await asyncio.to_thread(cancelled.wait, 1), "within a second"
        await asyncio.wait([task])

    asyncio.run(ends())
