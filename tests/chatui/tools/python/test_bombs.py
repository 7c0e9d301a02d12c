"""Resource exhaustion by code in the real sandbox: each kind ends at its own limit."""

import asyncio
import time

import pytest

from tests.support.limits import set_limits
from tests.support.sandbox import DATA_MEBIBYTES, Interpreter, InterpreterEndedError, answers, texts, within

pytestmark = pytest.mark.slow

THREADS = "import threading, time\nthreading.stack_size(65536)\n"
THREADS += "while True: threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os\nwhile True: os.fork()", "Operation not permitted"),
        ("x = []\nwhile True: x.append(bytearray(10**7))", "MemoryError"),
        ("x = 'a' * 10**9", "MemoryError"),
        ("import mmap\nx = []\nwhile True: x.append(mmap.mmap(-1, 10**7))", "Cannot allocate memory"),
        (THREADS, "start new thread"),
        ("with open('x', 'wb') as f:\n  while True: f.write(bytes(10**6))", "Errno"),
        ("n = 0\nwhile True:\n  n += 1\n  open(f'/tmp/{n}', 'wb').write(bytes(4 * 10**6))", "No space left"),
        ("open('x', 'wb').truncate(10**12)", "File too large"),
        ("x = []\nwhile True: x.append(open('/dev/null'))", "Too many open files"),
        ("import os\nx = []\nwhile True: x.append(os.pipe())", "Too many open files"),
        ("import socket\nx = []\nwhile True: x.append(socket.socketpair())", "Too many open files"),
        ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "not allowed to raise maximum limit"),
        ("import multiprocessing.shared_memory as s\ns.SharedMemory(create=True, size=10**9)", "Error"),
    ],
)  # fmt: skip
def test_each_bomb_ends_at_its_limit_and_the_interpreter_survives(code: str, expected: str) -> None:
    bomb, after = answers(code, "x = None\nimport gc; gc.collect(); 'alive'")
    assert expected in bomb.text and bomb.has_failed and after.text.endswith("'alive'\n")


def test_the_size_of_the_data_directory_is_limited() -> None:
    [text] = texts(
        "n = 0\ntry:\n  while n < 100:\n    open(f'f{n}', 'wb').write(bytes(2**20))\n    n += 1\n"
        "except OSError as error: print(error.strerror)\nn"
    )
    assert text == f"No space left on device\n{DATA_MEBIBYTES}\n"


def test_the_number_of_files_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file uses no limited disk space, but kernel memory."""
    set_limits(monkeypatch, "chatui.tools.python", MAX_INODES=500)

    async def task(interpreter: Interpreter) -> None:
        with pytest.raises(InterpreterEndedError, match="more than 500 files"):
            await interpreter.run("n = 0\nwhile True:\n  n += 1\n  open(f'/tmp/{n}', 'w').close()", 20, 100)

    within(task)


def test_endless_output_is_truncated_and_blocks_nothing_else() -> None:
    async def task(interpreter: Interpreter) -> tuple[int, int, int]:
        running = asyncio.create_task(interpreter.run("while True: print('x' * 10000)", 1.0, 3000))
        beats, longest, last = 0, 0.0, time.monotonic()
        while not running.done():
            await asyncio.sleep(0.01)
            beats, longest, last = beats + 1, max(longest, time.monotonic() - last), time.monotonic()
        text = (await running).text
        after = await interpreter.run("1", 20, 100)
        return beats, len(text), len(after.text)

    beats, length, after = within(task)
    assert beats > 20 and length < 3200 and after == 2


def test_the_end_of_long_output_is_kept_because_it_has_the_errors() -> None:
    [answer] = answers("print('begin' + 'x' * 10**6)\n1 / 0", max_chars=1000)
    assert answer.text.startswith("begin") and "bytes omitted here" in answer.text and answer.text.endswith("division by zero\n")


def test_the_total_time_of_all_calls_is_limited() -> None:
    [text] = texts("import resource; resource.getrlimit(resource.RLIMIT_CPU)[1], resource.getrlimit(resource.RLIMIT_CORE)[1]")
    assert text == "(3600, 0)\n"
