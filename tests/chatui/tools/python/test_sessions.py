"""Interpreter sessions: one per conversation, limited in number, and ended when unused."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.support.limits import set_limits
from tests.support.python_tool import Files, cannot_start, code_of, conversation, die_of_files, forget, in_sandbox, starts
from tests.support.sandbox import recorded
from tests.support.tool_calls import RefusedError, ToolTurn

pytestmark = pytest.mark.slow

NEW = "[This call began with a new interpreter, without the variables and files of earlier calls.]"


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    """Calls run in the real sandbox."""
    with in_sandbox() as found:
        yield found


def has_failed(reply: Any) -> bool:
    return "NameError" in reply and NEW in reply


async def begun(waiting: list[Any], count: int = 1) -> None:
    async with asyncio.timeout(20):
        while len(waiting) < count:
            await asyncio.sleep(0.005)


async def test_two_conversations_do_not_see_each_other(patch: pytest.MonkeyPatch) -> None:
    one, two = conversation(), conversation()
    await code_of(one, "x = 1; open('mine', 'w').close()")
    other, again = await code_of(two, "import os; print(os.listdir()); x"), await code_of(one, "x")
    assert other.startswith("[]\n") and has_failed(other) and again == "1"


async def test_calls_of_one_conversation_run_one_at_a_time(patch: pytest.MonkeyPatch) -> None:
    one = conversation()
    await code_of(one, "x = 0")
    found = await asyncio.gather(*(code_of(one, "import time; n = x; time.sleep(0.05); x = n + 1; x") for _ in range(4)))
    assert sorted(found) == ["1", "2", "3", "4"]


async def test_a_person_at_the_limit_loses_the_oldest_session(patch: pytest.MonkeyPatch) -> None:
    set_limits(patch, "chatui.tools.python", _INTERPRETERS_OF_PERSON=1)
    ada, bob = uuid4(), uuid4()
    of_bob, first, second = conversation(bob), conversation(ada), conversation(ada)
    for each in (of_bob, first, second):
        await code_of(each, "x = 1")
    assert [has_failed(await code_of(each, "x")) for each in (of_bob, second, first)] == [False, False, True]


async def test_a_full_process_ends_the_oldest_idle_session_and_no_busy_one() -> None:
    with in_sandbox(python_interpreters=2):
        one, two, three = (conversation() for _ in range(3))
        for each in (one, two, three):
            await code_of(each, "x = 1")
        working = [asyncio.create_task(code_of(each, "import time; x; time.sleep(30)")) for each in (two, three)]
        await asyncio.sleep(0.1)
        with pytest.raises(RefusedError, match="Too many interpreters"):
            await code_of(conversation(), "1")
        assert not any(each.done() for each in working)
        for task in working:
            task.cancel()
        await asyncio.wait(working)
        assert has_failed(await _once_one_is_free(one, "x"))


async def _once_one_is_free(turn: ToolTurn, code: str) -> Any:
    """What the code puts out. The processes of calls that were stopped end a little later."""
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(RefusedError):
                return await code_of(turn, code)
            await asyncio.sleep(0.05)


async def test_an_idle_interpreter_ends(patch: pytest.MonkeyPatch) -> None:
    set_limits(patch, "chatui.tools.python", _IDLE_SECONDS=0.2)
    one = conversation()
    await code_of(one, "x = 1")
    assert await code_of(one, "x") == "1", "it is not so soon"
    await asyncio.sleep(0.5)
    output = await code_of(one, "x")
    assert has_failed(output) and output.endswith(NEW)


async def test_a_forgotten_session_is_gone(patch: pytest.MonkeyPatch) -> None:
    one, two = conversation(), conversation()
    await code_of(one, "x = 1")
    assert await code_of(one, "x") == "1", "the premise"
    forget(one, two)
    assert has_failed(await code_of(one, "x"))


async def test_forgetting_a_conversation_with_a_waiting_call_leaves_nothing_behind(patch: pytest.MonkeyPatch) -> None:
    one, ran = conversation(), recorded(patch)
    running = [asyncio.create_task(code_of(one, code)) for code in ("import time; time.sleep(30)", "import os; os.getppid()")]
    await begun(ran)
    await asyncio.sleep(0.2)
    forget(one)
    first, second = await asyncio.gather(*running, return_exceptions=True)
    assert "ended by itself, or was killed" in str(first) and isinstance(second, RefusedError) and "was ended" in str(second)
    assert len(ran) == 1 and not ran[0].is_alive


async def test_forgetting_a_conversation_while_its_interpreter_starts_ends_it(patch: pytest.MonkeyPatch) -> None:
    one, starting = conversation(), starts(patch)
    running = asyncio.create_task(code_of(one, "import time; time.sleep(30)"))
    while not starting:
        await asyncio.sleep(0)
    forget(one)
    with pytest.raises(RefusedError, match="was ended"):
        await running


async def test_the_model_is_told_that_its_interpreter_ended_and_gets_a_new_one(patch: pytest.MonkeyPatch) -> None:
    one = conversation()
    await code_of(one, "x = 1")
    ended = await code_of(one, "print('last', flush=True); import os; os._exit(1)")
    assert ended.startswith("last\n[The interpreter ended: it ended by itself") and "next call begins with a new one" in ended
    assert has_failed(await code_of(one, "x")) and await code_of(one, "1") == "1"


async def test_a_cancelled_call_frees_its_place() -> None:
    with in_sandbox(python_interpreters=1):
        one = conversation()
        running = asyncio.create_task(code_of(one, "while True: pass"))
        await asyncio.sleep(0.3)
        running.cancel()
        await asyncio.wait({running})
        assert await code_of(one, "2") == "2"


@pytest.mark.parametrize(("deaths", "expected"), [(0, "['mine.txt']"), (1, "['mine.txt']"), (2, "[]")])
async def test_an_interpreter_killed_by_its_files_fails_no_call(deaths: int, expected: str, patch: pytest.MonkeyPatch) -> None:
    """It had no files when it began, so the first that they end was already in use."""
    files = Files(mine_txt=b"mine")
    attached, files.attached = files.attached, []
    one = conversation(files=files)
    await code_of(one, "x = 1")
    files.attached = attached
    die_of_files(patch, deaths)
    listing = "import os; print(os.listdir(), 'x' in globals())"
    first, second = await code_of(one, listing), await code_of(one, listing)
    is_kept = deaths == 0
    assert first.startswith(f"{expected} {is_kept}") and second == f"{expected} {is_kept}"
    assert ("mine.txt]" in first and "could not be put into /mnt/data: mine.txt]" not in first) == (deaths < 2)
    assert ("could not be put into /mnt/data: mine.txt]" in first) == (deaths == 2)


async def test_a_sandbox_that_cannot_start_is_an_error_without_details(patch: pytest.MonkeyPatch) -> None:
    cannot_start(patch, "secret reason")
    with pytest.raises(RefusedError, match=r"^Python cannot be used at the moment\.$"):
        await code_of(conversation(), "1")


async def test_control_characters_are_removed_from_output(patch: pytest.MonkeyPatch) -> None:
    written = "a\x00b\x1b[2J\rc\r\nd\te\x9b\x7f"
    code = f"import os; _ = os.write(1, {written!r}.encode())"
    assert await code_of(conversation(), code) == "a\ufffdb\ufffd[2J\nc\nd\te\ufffd\ufffd"


async def test_the_reply_contains_output_errors_and_files(patch: pytest.MonkeyPatch) -> None:
    one = conversation()
    assert (await code_of(one, "x = 4")).startswith("[No output.")
    assert await code_of(one, "x") == "4"
    made = await code_of(one, "open('a.png', 'w').write('abc'); open('b', 'w').close()")
    assert made == "[Files made or changed in /mnt/data: a.png (3 bytes), b (0 bytes)]"
