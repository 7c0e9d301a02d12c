"""MCP servers over stdio: one shared process, restarted when it fails, and killed with all its children."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatui.tools.mcp import stdio
from tests.chatui.tools.test_hostile_servers import logged
from tests.support.limits import limit, set_limits
from tests.support.mcp_calls import ADD, Turn, new_conversation
from tests.support.new_process import forget
from tests.support.tool_calls import RefusedError

STATE_IS_GONE = limit("chatui.tools.mcp", "STATE_IS_GONE")

pytestmark = pytest.mark.served

ANSWER = f"""
import json, os, sys, time
TOOLS = [{ADD!r}]
def say(message):
    print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)
def call(message):
    say({{"id": message["id"], "result": {{"content": [{{"type": "text", "text": "3"}}]}}}})
"""
LOOP = """
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        say({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    elif method == "tools/list":
        say({"id": message["id"], "result": {"tools": TOOLS}})
    elif method == "tools/call":
        call(message)
"""


def program(call: str = "", loop: str = LOOP) -> dict[str, Any]:
    """A server that answers a call with the code ``call``."""
    return {"command": [sys.executable, "-c", ANSWER + (call or "") + loop]}


def run_with_server(values: dict[str, Any], run: Callable[[Turn], Any]) -> Any:
    """Run ``run`` in an event loop that also ends the program."""

    start = asyncio.create_subprocess_exec

    async def started(*given: Any, **named: Any) -> asyncio.subprocess.Process:
        STARTED.append(await start(*given, **named))
        return STARTED[-1]

    async def body() -> Any:
        turn = Turn(**values)
        try:
            return await run(turn)
        finally:
            await turn.watched.close()

    STARTED.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "create_subprocess_exec", started)
        return asyncio.run(body())


async def called(turn: Turn, *given: Any, **arguments: Any) -> Any:
    return await turn.called(*given, **arguments)


STARTED: list[Any] = []
"""The processes that ``run_with_server`` has started."""


def is_gone(pid: int) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_one_process_serves_many_calls_and_gets_only_the_configured_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_SECRET_KEY", "not for tools")
    monkeypatch.setenv("DEMO_TOKEN", "sk-of-the-demo")
    tell = """
def call(m):
    text = " ".join([str(os.getpid()), *os.environ])
    say({"id": m["id"], "result": {"content": [{"type": "text", "text": text}]}})
"""

    async def run(turn: Turn) -> list[Any]:
        return list(await asyncio.gather(*(called(turn) for _ in range(10))))

    output = run_with_server({**program(tell), "environment": {"DEMO_TOKEN": {"env": "DEMO_TOKEN"}}}, run)
    assert len(set(output)) == 1, "one process"
    assert set(output[0].split()[1:]) <= {"PATH", "LANG", "LC_CTYPE", "DEMO_TOKEN"} and "DEMO_TOKEN" in output[0]


@pytest.mark.parametrize(
    "call",
    [
        "def call(m): os._exit(1)\n",
        "def call(m):\n    while True: say({'method': 'notifications/message', 'params': {'data': 'x' * 10000}})\n",
        "def call(m):\n    while True: say({'id': 1, 'method': 'sampling/createMessage', 'params': {'data': 'x' * 10000}})\n",
        "def call(m): say({'id': m['id'], 'result': 3})\n",
    ],
)
def test_a_process_that_ends_floods_or_lies_fails_its_call_and_is_replaced(call: str, tmp_path: Path) -> None:
    once = f"{call}\nbad = call\ndef call(m):\n    if not os.path.exists({str(tmp_path / 'seen')!r}):\n"
    once += f"        open({str(tmp_path / 'seen')!r}, 'w').close()\n        bad(m)\n"
    once += "    else: say({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': '3'}]}})\n"

    async def run(turn: Turn) -> Any:
        return await called(turn), await called(turn)

    first, second = run_with_server(program(once), run)
    assert isinstance(first, RefusedError) and second == "3"


BOTH = """
held = []
def answer(m, text="3"):
    say({"id": m["id"], "result": {"content": [{"type": "text", "text": f"{os.getpid()} {text}"}]}})
def call(m):
    held.append(m)
    if len(held) == 2:
        %s
"""


async def _two(turn: Turn) -> list[Any]:
    return list(await asyncio.gather(called(turn, a=1), called(turn, a=2)))


@pytest.mark.parametrize(
    "odd",
    [
        "print('DEBUG connecting…', flush=True)",
        "print(flush=True)",
        "print('[1]', flush=True)",
        "print('[' * 100000, flush=True)",
        "print('x' * 9_000_000, flush=True)",
        'print(\'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": "\' + \'x\' * 5_000_000 + \'"}\', flush=True)',
    ],
)
def test_a_line_that_is_no_message_is_skipped_and_fails_no_call(odd: str, caplog: pytest.LogCaptureFixture) -> None:
    found = run_with_server(program(BOTH % f"{odd}; answer(held[0]); answer(held[1])"), _two)
    assert len(set(found)) == 1 and found[0].endswith(" 3"), "both were answered, by one process"
    assert caplog.text.count("such lines are skipped") == 1 and "DEBUG" not in caplog.text


@pytest.mark.parametrize(
    "long",
    [
        "print(json.dumps({'jsonrpc': '2.0', 'id': held[0]['id'], 'result': {'content': [], 'more': 'x' * 5_000_000}}), flush=True)",
        "print(json.dumps({'result': {'x': {'id': held[1]['id']}, 'more': 'x' * 9_000_000}, 'id': held[0]['id']}), flush=True)",
        "print(json.dumps({'jsonrpc': '2.0', 'id': held[0]['id'], 'result': {'content': [], 'more': [[]] * 100_000}}), flush=True)",
        "print(json.dumps({'result': {'x': {'id': held[1]['id']}, 'more': [[]] * 100_000}, 'id': held[0]['id']}), flush=True)",
    ],
)
def test_an_answer_that_is_too_long_fails_only_its_own_call(long: str) -> None:
    failed, fine = run_with_server(program(BOTH % f"{long}; answer(held[1])"), _two)
    assert "too long" in str(failed) and "Whether it had an effect is not known." in str(failed) and fine.endswith(" 3")


@pytest.mark.parametrize(
    "unreadable",
    [
        'sys.stdout.buffer.write(b\'{"jsonrpc": "2.0", "id": %d, "result": {"content": "\\xff"}}\\n\' % held[0][\'id\'])',
        'print(\'{"id": %d, "result": {"content": \' % held[0][\'id\'])',
        'print(\'{"result": {"content": nothing}, "id": %d}\' % held[0][\'id\'])',
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_own_call_at_once(unreadable: str) -> None:
    failed, fine = run_with_server(program(BOTH % f"{unreadable}; sys.stdout.flush(); answer(held[1])"), _two)
    assert "not JSON" in str(failed) and "Whether it had an effect is not known." in str(failed) and fine.endswith(" 3")


def test_a_killed_call_may_have_had_an_effect_and_only_the_operator_reads_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "sk-of-the-demo")
    dies = (
        "def call(m):\n    print('x' * 20000 + '\\nkey', os.environ['DEMO_TOKEN'], '\\n\\x1b[31mNo module\\x00 named x', file=sys.stderr)\n"
    )
    dies += "    sys.stderr.flush(); os._exit(3)\n"

    failed = str(run_with_server({**program(dies), "environment": {"DEMO_TOKEN": {"env": "DEMO_TOKEN"}}}, called))
    assert failed == "The tool failed: the program ended. Whether it had an effect is not known."
    log = logged(caplog)
    assert f"tool server demo: {failed}" in log, "the operator reads what the model reads"
    assert "exit code 3" in log and "No module named x" in log and "key (hidden)" in log
    assert "sk-of" not in log and "\x1b" not in log and len(log) < 5000


def test_calls_that_end_the_program_stop_nobody_elses() -> None:
    dies = "def call(m):\n    if m['params']['arguments']['a'] == 1: os._exit(1)\n"
    dies += "    say({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': '3'}]}})\n"

    async def run(turn: Turn) -> Any:
        return [await called(turn, a=1) for _ in range(4)], await called(turn, a=2)

    failed, fine = run_with_server(program(dies), run)
    assert all("the program ended" in str(each) for each in failed) and fine == "3"


def test_a_program_that_answers_neither_a_call_nor_a_ping_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.tools.mcp", PING_SECONDS=0.3)
    hangs = "def call(m):\n    if m['params']['arguments']['a'] == 1: time.sleep(600)\n"
    hangs += "    say({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': '3'}]}})\n"

    async def run(turn: Turn) -> Any:
        await turn.watched.refresh()
        first = STARTED[-1].pid
        return [await called(turn, 0.6, a=1) for _ in range(4)], await called(turn, a=2), first != STARTED[-1].pid

    late, fine, is_other = run_with_server({**program(hangs), "seconds": 0.6}, run)
    assert fine == "3" and is_other and isinstance(late[0], TimeoutError)


def test_only_the_program_of_the_call_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one for each conversation, the ping goes to that of the call, and a hanging one says nothing about the server."""
    set_limits(monkeypatch, "chatui.tools.mcp", PING_SECONDS=0.3)
    hangs = "def call(m):\n    if m['params']['arguments']['a'] == 1: time.sleep(600)\n"
    hangs += "    say({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': str(os.getpid())}]}})\n"

    async def run(turn: Turn) -> None:
        hers = new_conversation()
        of_his, of_hers = await called(turn, a=2), await turn.called(60, hers, a=2)
        assert of_his != of_hers
        for _ in range(4):
            assert isinstance(await called(turn, 0.6, a=1), TimeoutError)
            assert await asyncio.to_thread(is_gone, int(of_his))
            again = await called(turn, a=2)
            assert again.note == STATE_IS_GONE and again.value != of_his
            of_his = again.value
        assert await turn.called(60, hers, a=2) == of_hers

    run_with_server({**program(hangs), "seconds": 0.6, "sessions": "conversation"}, run)


def test_a_slow_call_leaves_a_program_alone_that_answers_pings() -> None:
    slow = "def call(m):\n    if m['params']['arguments']['a'] == 2:\n"
    slow += "        say({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': str(os.getpid())}]}})\n"
    pongs = LOOP + '    elif method == "ping":\n        say({"id": message["id"], "result": {}})\n'

    async def run(turn: Turn) -> Any:
        before = await called(turn, a=2)
        return [await called(turn, 0.5, a=1) for _ in range(4)], before == await called(turn, a=2)

    late, is_same = run_with_server({**program(slow, pongs), "seconds": 0.5}, run)
    assert is_same and all(isinstance(each, TimeoutError) for each in late)


def test_a_process_ends_although_its_output_has_no_end() -> None:
    """Its output stays open while reading is paused, as after a flood, or while a process that left its group has it open."""
    keeps = "import subprocess\nchild = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    keeps += 'def call(m): say({"id": m["id"], "result": {"content": [{"type": "text", "text": str(child.pid)}]}})\n'

    async def run(turn: Turn) -> None:
        child = int(await called(turn))
        try:
            STARTED[-1].stdout._transport.pause_reading()
            async with asyncio.timeout(60):
                await turn.server.close()
            os.kill(child, 0)  # the premise: it is still there
        finally:
            os.kill(child, signal.SIGKILL)

    run_with_server(program(keeps, LOOP + "\ntime.sleep(600)"), run)


def test_a_process_is_ended_although_the_wait_for_its_end_is_cancelled() -> None:
    transports: list[Any] = []

    async def run(turn: Turn) -> None:
        await called(turn)
        transports.append(STARTED[-1]._transport)
        closing = asyncio.create_task(turn.server.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled(), "the premise"

    run_with_server(program(loop=LOOP + "\ntime.sleep(600)"), run)
    assert is_gone(transports[0].get_pid()) and transports[0].is_closing()


def test_a_call_that_is_cancelled_while_the_process_starts_leaves_nothing_open() -> None:
    """What is left open would be a ResourceWarning, which is an error."""

    async def run(turn: Turn) -> Any:
        for steps in range(10):
            call = asyncio.create_task(called(turn))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait({call})
        return await called(turn)

    assert run_with_server(program(), run) == "3"


def test_answers_to_other_calls_are_ignored_and_a_slow_call_is_cancelled() -> None:
    call = (
        "def call(m):\n    if m['params']['arguments']['a'] == 1: say({'id': m['id'] + 1000, 'result': {'content': []}})\n"
        "    else: say({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': '3'}]}})\n"
    )

    async def run(turn: Turn) -> Any:
        await turn.watched.refresh()  # the time limit is that of the call, not of the start
        return await called(turn, 0.5, a=1), await called(turn, a=2)

    late, fine = run_with_server(program(call), run)
    assert isinstance(late, TimeoutError) and fine == "3"


def test_a_process_and_its_children_are_killed_if_they_refuse_to_end() -> None:
    deaf = "import signal, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nchild = subprocess.Popen(['sleep', '600'])\n"
    deaf += 'def call(m): say({"id": m["id"], "result": {"content": [{"type": "text", "text": str(child.pid)}]}})\n'
    pids: list[int] = []

    async def run(turn: Turn) -> None:
        child = await called(turn)
        pids.extend([STARTED[-1].pid, int(child)])

    began = time.monotonic()
    run_with_server(program(deaf, LOOP + "\ntime.sleep(600)"), run)
    assert all(map(is_gone, pids)) and time.monotonic() - began < 300, "not by themselves, after 600 seconds"


@pytest.mark.parametrize(
    "values",
    [
        {"command": ["/no/such/program"]},
        {"command": [sys.executable, "-c", "pass"]},
        {"command": [sys.executable, "-c", "print('Welcome!', flush=True); input()"]},
        program(loop=LOOP.replace("2025-11-25", "1999-01-01")),
        {**program(), "directory": "/no/such/directory"},
        {**program(), "environment": {"DEMO_TOKEN": {"env": "NO_SUCH_VARIABLE"}}},
    ],
)
def test_a_process_that_does_not_start_or_respond_gives_an_error_reply(values: dict[str, Any]) -> None:
    async def run(turn: Turn) -> Any:
        return await called(turn)

    assert isinstance(run_with_server(values, run), RefusedError)


def test_a_process_that_does_not_read_its_input_is_given_up() -> None:
    async def run(turn: Turn) -> Any:
        await turn.watched.refresh()  # the time limit is that of the call, not of the start
        return [await called(turn, 1, a="x" * 400_000) for _ in range(6)]

    deaf = LOOP.replace(
        '    elif method == "tools/call":\n        call(message)', '    elif method == "tools/call":\n        time.sleep(600)'
    )
    output = run_with_server(program(loop=deaf), run)
    assert all(isinstance(each, RefusedError | TimeoutError) for each in output)
    assert "does not read" in str(next(each for each in output if isinstance(each, RefusedError)))


def test_private_directories_that_a_killed_process_left_are_deleted_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, alive, young, other = (tmp_path / name for name in ("chatui-tool-dead", "chatui-tool-alive", "chatui-tool-young", "other"))
    for place in (dead, alive, young, other):
        place.mkdir()
        (place / "memory.jsonl").write_text("salary 5000")
    for place in (dead, alive, other):
        os.utime(place, (0, 0))
    holds = [sys.executable, "-c", "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0), fcntl.LOCK_EX); print(flush=True); input()"]
    with subprocess.Popen([*holds, str(alive)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"\n"
        forget(stdio)
        run_with_server({**program(), "environment": {"MEMORY": {"value": "{session}/memory.jsonl"}}}, called)
        [made] = {each.name for each in tmp_path.iterdir()} - {alive.name, young.name, other.name}
        assert made.startswith("chatui-tool-") and made != dead.name and (alive / "memory.jsonl").exists()
        process.kill()
    forget(stdio)


def test_an_answer_behind_a_progress_bar_is_read() -> None:
    """Without a line end between them, they are one line."""
    bar = """
def call(m):
    sys.stdout.write("{50%} \\r100% ")
    say({"id": m["id"], "result": {"content": [{"type": "text", "text": "3"}]}})
"""
    assert run_with_server(program(bar), called) == "3"
