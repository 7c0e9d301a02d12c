"""Files from the sandbox: only regular ones, limited in size and number, and never the host's, whatever the code tries."""

import asyncio
import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chatui.tools.file_access import ConversationFile, CreatedFile, FileNotStoredError
from tests.support.limits import limit, set_limits
from tests.support.sandbox import DATA_MEBIBYTES, Interpreter, InterpreterEndedError, data_directory, sandbox, started, within

pytestmark = pytest.mark.slow

SMALL_BYTES = limit("chatui.tools.python", "SMALL_BYTES")
MAX = 1000
LATE = 120.0
HASHED = "import hashlib; hashlib.file_digest(open('large', 'rb'), 'sha256').hexdigest()"
HOG = """
kept, size = [], 2**26
while size > 1024:
    try: kept.append(bytes(size))
    except MemoryError: size //= 2
"""
ENDED = "it ended by itself, or was killed because it exceeded its memory or time"
FAKE_PYPLOT = """
import sys, types
class Figure:
    def __init__(self, text): self.text = text
    def savefig(self, file, format=None):
        file = open(file, 'wb') if isinstance(file, str) else file
        file.write(self.text); file.flush()
pyplot = types.ModuleType('matplotlib.pyplot')
figures = {}
pyplot.get_fignums = lambda: list(figures)
pyplot.figure = figures.get
pyplot.close = figures.pop
sys.modules['matplotlib.pyplot'] = pyplot
"""


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine all takes long in the sandbox, whose processes come last."""
    set_limits(monkeypatch, "chatui.tools.python", GRACE_SECONDS=LATE, START_SECONDS=LATE)


def returned_files(*codes: str, max_files: int = 5, max_bytes: int = MAX) -> list[Any]:
    """The files returned after each of these calls of one interpreter."""

    async def task(interpreter: Interpreter) -> list[Any]:
        found = []
        for code in codes:
            answer = await interpreter.run(code, LATE, 4000)
            assert not answer.has_failed, answer.text
            found.append(await interpreter.take(max_files, max_bytes))
        return found

    return within(task)


def input_file(name: str, data: bytes) -> ConversationFile:
    return ConversationFile(uuid4(), name, data)


def is_empty(found: Any) -> bool:
    return (found.made, found.left_out) == ((), ())


def names(found: Any) -> list[str]:
    return [created.name for created in found.made]


def test_a_new_or_changed_file_is_returned_once() -> None:
    first, second, third = returned_files(
        "import os; os.mkdir('d'); open('d/a.csv', 'w').write('a,b'); open('b.txt', 'w').write('b')",
        "1 + 1",
        "open('b.txt', 'a').write('c')",
    )
    assert first.made == (CreatedFile("b.txt", b"b"), CreatedFile("d/a.csv", b"a,b")) and not first.left_out
    assert is_empty(second) and third.made == (CreatedFile("b.txt", b"bc"),)


def test_a_change_hidden_by_resetting_the_mtime_is_detected() -> None:
    back = "s = os.stat('a'); open('a', 'w').write('2'); os.utime('a', ns=(s.st_atime_ns, s.st_mtime_ns))"
    first, second = returned_files("import os; open('a', 'w').write('1')", back)
    assert (names(first), second.made) == (["a"], (CreatedFile("a", b"2"),))


def test_files_of_an_interrupted_or_failed_call_are_returned() -> None:
    async def task(interpreter: Interpreter) -> tuple[Any, Any]:
        failed = await interpreter.run("open('a', 'w').write('1'); 1/0", LATE, 4000)
        after_error = await interpreter.take(5, MAX)
        stopped = await interpreter.run("open('b', 'w').write('2')\nimport time; time.sleep(200)", 3, 4000)
        assert failed.has_failed and "Interrupted" in stopped.text
        return after_error, await interpreter.take(5, MAX)

    assert [names(each) for each in within(task)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    "code",
    [
        "os.symlink('/etc/passwd', 'x')",
        "os.symlink('/etc', 'd')",
        "os.link('real', 'x'); os.utime('real')",
        "os.mkdir('x')",
        "open('.hidden', 'w').write('x')",
        "os.mkdir('__pycache__'); open('__pycache__/m.pyc', 'w').write('x')",
        "os.mkdir('d', 0o700); os.symlink('/etc/passwd', 'd/passwd')",
    ],
)
def test_only_regular_files_are_returned(code: str) -> None:
    first, second = returned_files("import os; open('real', 'w').write('1')", code)
    assert names(first) == ["real"], "the premise"
    assert second.made == () and {name for name, _ in second.left_out} <= {"real", "x"}


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    files = data_directory(tmp_path)
    (tmp_path / "a").write_text("1")
    os.mkfifo(tmp_path / "pipe")
    assert names(files.take(5, MAX, MAX)) == ["a"] and files._read("a", MAX, MAX) == b"1"
    with pytest.raises(FileNotStoredError):
        files._read("pipe", MAX, MAX)
    files.close()


def test_too_large_or_too_many_files_are_named_and_not_returned() -> None:
    (found,) = returned_files(f"for n in range(4): open(f'f{{n}}', 'wb').write(b'x' * ({MAX} + n % 2))", max_files=1)
    assert names(found) == ["f0"] and len(found.made[0].data) == MAX
    assert found.left_out == tuple((f"f{n}", "too many files at once") for n in (1, 2, 3))
    (found,) = returned_files(f"open('sparse', 'wb').truncate({DATA_MEBIBYTES} * 1024 * 1024); open('z', 'w').write('z')")
    assert names(found) == ["z"] and found.left_out == (("sparse", "too large, or not a regular file"),)


def test_a_sparse_file_is_not_returned_but_a_dense_one_of_its_size_is() -> None:
    size = 4 * 1024 * 1024
    code = f"open('holes', 'wb').truncate({size}); open('small', 'wb').truncate({SMALL_BYTES}); open('whole', 'wb').write(bytes({size}))"
    (found,) = returned_files(code, max_bytes=size)
    assert names(found) == ["small", "whole"] and found.left_out == (("holes", "a file with holes"),)


def test_the_total_size_of_files_of_a_call_is_limited(tmp_path: Path) -> None:
    files = data_directory(tmp_path)
    for name, size in (("a", 3), ("b", 4), ("c", 2)):
        (tmp_path / name).write_bytes(b"x" * size)
    found = files.take(5, MAX, 5)
    assert names(found) == ["a", "c"] and found.left_out == (("b", "too many bytes at once"),)
    files.close()


def test_the_total_size_of_files_of_an_interpreter_is_limited() -> None:
    async def task(interpreter: Interpreter) -> Any:
        interpreter.max_taken_bytes = 3
        await interpreter.run("open('a', 'w').write('12'); open('b', 'w').write('34')", LATE, 4000)
        return await interpreter.take(5, MAX)

    found = within(task)
    assert names(found) == ["a"] and found.left_out == (("b", "too many bytes at once"),)


def test_a_flood_of_files_is_truncated() -> None:
    (found,) = returned_files("for n in range(5000): open(f'f{n}', 'w').close()")
    assert len(found.made) == 5 and len(found.left_out) == 5


def test_undecodable_file_names_are_returned_as_they_are() -> None:
    (found,) = returned_files("import os; open(b'\\xff\\n', 'wb').write(b'1'); open('..a', 'w').close(); open('a\\\\b', 'w').write('2')")
    assert names(found) == ["a\\b", os.fsdecode(b"\xff\n")]


def test_input_files_are_present_and_not_returned() -> None:
    async def task(interpreter: Interpreter) -> tuple[str, Any]:
        large = bytes(DATA_MEBIBYTES * 1024 * 1024)
        copied_in = await interpreter.copy_in(
            [input_file("a.bin", bytes(range(256)) * 4000), input_file("large", large), input_file("ü.csv", b"")]
        )
        assert copied_in == ("a.bin", "ü.csv"), "a file that does not fit is not stored in part"
        answer = await interpreter.run("import os; print(sorted(os.listdir())); open('a.bin', 'rb').read()[255:258]", LATE, 4000)
        before = await interpreter.take(5, 10_000_000)
        await interpreter.run("open('ü.csv', 'a').write('1')", LATE, 4000)
        assert is_empty(before)
        return answer.text, await interpreter.take(5, 10_000_000)

    text, after = within(task)
    assert text == "['a.bin', 'ü.csv']\nb'\\xff\\x00\\x01'\n" and names(after) == ["ü.csv"]


def test_a_file_that_takes_most_of_the_memory_is_written_in_pieces() -> None:
    data = bytes(range(256)) * 4 * 1024 * 40

    async def run() -> tuple[tuple[str, ...], str]:
        interpreter = await started(replace(sandbox(), memory_mebibytes=96, data_mebibytes=48))
        try:
            copied_in = await interpreter.copy_in([input_file("large", data)])
            return copied_in, (await interpreter.run(HASHED, LATE, 4000)).text
        finally:
            await interpreter.end()

    assert asyncio.run(run()) == (("large",), f"'{hashlib.sha256(data).hexdigest()}'\n")


def test_if_the_code_left_no_memory_the_file_is_skipped() -> None:
    async def task(interpreter: Interpreter) -> tuple[str, ...] | str:
        await interpreter.run(HOG, LATE, 4000)
        try:
            return await asyncio.wait_for(interpreter.copy_in([input_file("a", bytes(8 * 1024 * 1024))]), LATE / 2)
        except InterpreterEndedError as error:
            return str(error)

    assert within(task) in ((), ENDED), "either way it is soon known"


def test_figures_and_displayed_objects_become_files_once() -> None:
    first, second, third = returned_files(
        FAKE_PYPLOT + "figures[1] = Figure(b'one'); figures[2] = Figure(b'two')",
        "figures[1] = Figure(b'three'); figures[1].savefig('/mnt/data/mine.png')\nimport os; os.chdir('/tmp')",
        "class P:\n    def _repr_png_(self): return b'four'\ndisplay(P(), Figure(b'five'))",
    )
    assert [created.data for created in first.made] == [b"one", b"two"] and names(first) == ["figure_1.png", "figure_2.png"]
    assert names(second) == ["mine.png"], "a figure that was saved is not there twice"
    assert [created.data for created in third.made] == [b"four", b"five"]


def test_displayed_objects_that_are_no_pictures_are_printed() -> None:
    async def task(interpreter: Interpreter) -> str:
        return (await interpreter.run("display('a', [1, 2])", LATE, 4000)).text

    assert within(task) == "a\n[1, 2]\n"


def test_a_host_directory_is_never_walked_after_the_sandbox_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    files = data_directory(tmp_path)
    assert names(files.take(5, MAX, MAX)) == ["a"], "the premise"
    files.close()
    (tmp_path / "b").write_text("2")
    assert is_empty(files.take(5, MAX, MAX))
    files.close()
