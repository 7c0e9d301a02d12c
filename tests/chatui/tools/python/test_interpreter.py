"""The interpreter of a conversation: its state, errors, files, deadlines and shutdown."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chatui.env import BASE_DIR
from tests.support.limits import set_limits
from tests.support.sandbox import Interpreter, InterpreterEndedError, answers, started, texts, within

pytestmark = pytest.mark.slow

PNG = "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000"
PNG += "000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"


def test_state_is_kept_between_calls() -> None:
    assert texts("import math\ndef area(r): return math.pi * r * r", "x = area(1)", "x", "print(x); x > 3")[2:] == [
        "3.141592653589793\n", "3.141592653589793\nTrue\n",
    ]  # fmt: skip


def test_the_reply_has_the_output_and_the_value_of_the_last_expression() -> None:
    assert texts("print(1)\n2", "None", "3;", "x = 4", "import sys; print('err', file=sys.stderr)", "_", "") == [
        "1\n2\n", "", "3\n", "", "err\n", "3\n", "",
    ]  # fmt: skip


def test_a_traceback_shows_only_the_users_code() -> None:
    answer, after = answers("def f(n):\n    return 1 / n\n\nf(0)", "f(2)")
    assert answer.has_failed and answer.text.startswith('Traceback (most recent call last):\n  File "<call 1>", line 4, in <module>\n')
    assert "    return 1 / n\n" in answer.text and answer.text.endswith("ZeroDivisionError: division by zero\n")
    assert after.text == "0.5\n" and not after.has_failed


@pytest.mark.parametrize("code", ["1 +", "raise SystemExit(3)", "raise KeyboardInterrupt", "def f(): f()\nf()", "x = bytes(10**12)"])
def test_no_error_ends_the_interpreter(code: str) -> None:
    answer, after = answers(code, "'alive'")
    assert answer.has_failed and after.text == "'alive'\n"


def test_threads_and_an_event_loop_work() -> None:
    code = "import asyncio, threading\nasync def f():\n    await asyncio.sleep(0.01)\n    return 7\n"
    code += "t = threading.Thread(target=print, args=('t',))"
    assert texts(code + "\nt.start(); t.join()\nasyncio.run(f())") == ["t\n7\n"]


def test_classes_can_be_pickled_and_files_imported() -> None:
    assert texts(
        "import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))) is A",
        "open('helper.py', 'w').write('x = 5')\nimport helper\nhelper.x",
    ) == ["True\n", "5\n"]


def test_created_or_changed_files_are_named() -> None:
    first, second, third = answers(
        f"open('plot.png', 'wb').write(bytes.fromhex({PNG!r}))\nimport os\nos.mkdir('d'); open('d/data.csv', 'w').write('a,b')",
        "len(open('plot.png', 'rb').read())",
        "open('plot.png', 'ab').write(b'x'); open('bad\\x1b]0;name', 'w'); None",
    )
    assert first.files == (("d/data.csv", 3), ("plot.png", len(PNG) // 2)) and second.files == ()
    assert third.files == (("bad?]0;name", 0), ("plot.png", len(PNG) // 2 + 1))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an interrupt takes effect late, because the code in the sandbox comes last."""
    set_limits(monkeypatch, "chatui.tools.python", GRACE_SECONDS=120.0)


def interrupted(seconds: float, times: int = 1) -> list[str]:
    """What is said of endless code that is interrupted after so long, as many times, and then of the state from before."""

    async def task(interpreter: Interpreter) -> list[str]:
        await interpreter.run("x = 1", 120, 4000)
        said = [(await interpreter.run("while True: x += 1", seconds, 4000)).text for _ in range(times)]
        return [*said, (await interpreter.run("x > 0", 120, 4000)).text]

    return within(task)


def test_slow_code_is_interrupted_and_keeps_its_state(patient: None) -> None:
    said, after = interrupted(0.3)
    assert "KeyboardInterrupt" in said and said.endswith("[Interrupted after 0.3 seconds.]") and after == "True\n"


def test_code_that_is_interrupted_as_soon_as_it_is_sent_is_answered(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it has not begun, as on a busy machine: the interrupt waits for it."""
    set_limits(monkeypatch, "chatui.tools.python", LOOK_SECONDS=0.001)
    *said, after = interrupted(0, times=30)
    assert all(one.endswith("KeyboardInterrupt\n\n[Interrupted after 0 seconds.]") for one in said) and after == "True\n"


def test_code_is_interrupted_even_if_the_server_runs_in_a_shells_background(patient: None) -> None:
    """Such programs ignore SIGINT, which their children inherit."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        said, after = interrupted(0.3)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "KeyboardInterrupt" in said and after == "True\n"


def test_code_that_cannot_be_interrupted_is_killed() -> None:
    deaf = "import signal, time; x = signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: time.sleep(9)"

    async def task(interpreter: Interpreter) -> float:
        started = time.monotonic()
        with pytest.raises(InterpreterEndedError, match=r"longer than 3 seconds") as caught:
            await interpreter.run(deaf, 3, 100)
        assert caught.value.answer.text == "begun\n"
        await interpreter.process.wait()
        assert not interpreter.is_alive
        await gone(interpreter)
        return time.monotonic() - started

    assert within(task) < 100, "it would go on for ever"


@pytest.mark.parametrize(
    "code", ["import os; os._exit(0)", "import os; os.execv('/usr/bin/true', ['true'])", "import ctypes; ctypes.string_at(0)"]
)
def test_an_interpreter_that_exits_is_gone(code: str) -> None:
    async def task(interpreter: Interpreter) -> None:
        with pytest.raises(InterpreterEndedError, match="ended by itself"):
            await interpreter.run(code, 10, 100)

    within(task)


def test_a_call_that_is_cancelled_ends_at_once() -> None:
    async def task(interpreter: Interpreter) -> float:
        running = asyncio.create_task(interpreter.run("import time\ntime.sleep(200)", 200, 100))
        await asyncio.sleep(0.2)
        started = time.monotonic()
        running.cancel()
        await asyncio.wait({running})
        await gone(interpreter)
        return time.monotonic() - started

    assert within(task) < 100, "not at its own end"


def test_a_cancelled_start_leaves_nothing_behind() -> None:
    async def run(moments: int) -> None:
        starting = asyncio.create_task(started())
        for _ in range(moments):
            await asyncio.sleep(0.001)
        starting.cancel()
        await asyncio.wait({starting})
        if not starting.cancelled():
            await starting.result().end()

    async def all_moments() -> None:
        for moments in (0, 1, 3, 8, 15, 25):
            await run(moments)
        until = time.monotonic() + 20
        while (left := children()) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        assert not left

    asyncio.run(all_moments())


def children() -> list[str]:
    """The sandbox processes that this process started and that are still running."""
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return [each for each in listed if state_of(int(each)) and "bwrap" in Path(f"/proc/{each}/comm").read_text()]


def test_leftover_threads_do_not_run_between_calls() -> None:
    spinning = "import threading, time\nn = [0]\ndef spin():\n    while True: n[0] += 1\nthreading.Thread(target=spin, daemon=True).start()"

    async def task(interpreter: Interpreter) -> str:
        await interpreter.run(spinning, 20, 100)
        while state_of(interpreter.first_process) != "T":
            await asyncio.sleep(0.01)
        return (await interpreter.run("n[0] > 0", 20, 100)).text

    assert within(task) == "True\n"


def test_a_killed_server_leaves_nothing_behind() -> None:
    """Neither while code runs nor between calls, when the sandbox is paused."""
    code = (
        "import asyncio, sys; from tests.support.sandbox import started\n"
        "async def main():\n"
        "    idle, busy = [await started() for _ in range(2)]\n"
        "    print(idle.first_process, busy.first_process, flush=True)\n"
        "    await busy.run('while True: pass', 100, 100)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=BASE_DIR, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as server:
        assert server.stdout is not None
        processes = [int(number) for number in server.stdout.readline().split()]
        assert len(processes) == 2 and all(state_of(each) for each in processes)
        server.kill()
    until = time.monotonic() + 20
    while any(state_of(each) for each in processes) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(state_of(each) for each in processes)


def state_of(process: int) -> str:
    """The kernel's state letter of a process; empty if it has ended."""
    try:
        letter = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return "" if letter in "ZX" else letter


async def gone(interpreter: Interpreter) -> None:
    """Wait until none of the processes is left."""
    await interpreter.process.wait()
    while state_of(interpreter.first_process):
        await asyncio.sleep(0.01)
