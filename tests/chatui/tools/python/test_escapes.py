"""Sandbox escapes: every known technique is tried in the real sandbox, as an unprivileged user."""

import fcntl
import json
import os
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from chatui.env import BASE_DIR
from tests.support.sandbox import ATTEMPTS_ALONE, answers, as_nobody, attempts, change_code, sandbox, texts, within


@cache
def attempt_results() -> dict[str, bool]:
    return attempts()


def test_every_attempt_fails() -> None:
    assert len(attempt_results()) >= 96 and [name for name, has_succeeded in attempt_results().items() if has_succeeded] == []


def test_warnings_of_a_newer_python_are_no_part_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Python 3.12, ``os.fork`` warns in a process with several threads, also when it fails."""
    warning = "import os, warnings\n_fork = os.fork\nos.fork = lambda: (warnings.warn('threads', DeprecationWarning), _fork())[1]\n"
    change_code(monkeypatch, lambda code: warning + code)
    found = attempts()
    assert found["make a process"] is False and not any(found.values())


def test_the_path_to_an_interpreter_elsewhere_is_no_escape() -> None:
    """Its parent directories exist, with nothing in them but the next one."""
    found = replace(sandbox(), trees=("/var/tmp",))

    async def listed(interpreter: Any) -> str:
        return str((await interpreter.run("import os; os.listdir('/var')", 20, 500)).text)

    assert within(listed, found) == "['tmp']\n" and not any(attempts(found).values())
    assert replace(found, trees=("/srv/ada/python",)).shown()["/srv"] == ["ada"]


def test_a_product_that_is_installed_below_tmp_is_neither_read_nor_written() -> None:
    """The sandbox has a /tmp of its own, in which a file with the product's path can be made."""
    with tempfile.TemporaryDirectory(dir="/tmp") as product:
        Path(product).chmod(0o777)
        Path(product, "secret").touch(0o666)
        made = attempts(replace(sandbox(), hidden=(product, f"{product}/secret")))
    assert {f"{what} {path}" for what in ("read", "write in") for path in (product, f"{product}/secret")} <= made.keys()
    assert not any(made.values())


@pytest.mark.slow
def test_outside_the_sandbox_the_same_attempts_succeed() -> None:
    """Otherwise their failure in the sandbox would prove nothing."""
    code = (files("chatui.tools.python") / "probes.py").read_text("utf-8")
    numbers = {"memfd_create": 319} if os.uname().machine == "x86_64" else {}
    host = {
        "readable": [str(BASE_DIR / "manage.py")],
        "shown": [],
        "tcp": 9,
        "abstract": "x",
        "numbers": numbers,
        "memory": 1000,
        "data": 2**20,
    }
    code = code.replace("HOST: dict[str, Any] = {}\n", f"HOST = {host!r}\n", 1).replace('("/mnt/data", "/tmp")', "()")
    options = {"text": True, "timeout": 60, "check": True, "cwd": "/", **as_nobody()}
    with open(os.devnull) as file, os.fdopen(fcntl.fcntl(file, fcntl.F_DUPFD, 100)) as behind_a_gap:
        passed = (behind_a_gap.fileno(),)
        done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, pass_fds=passed, **options)
    found = json.loads(done.stdout.splitlines()[-1])
    for name in (
        *("read /etc/passwd", f"read {BASE_DIR / 'manage.py'}", "read /proc/self/environ", "see processes of the host", "make a process"),
        *("run a command", "open a socket: netlink", "see variables of the host", "write in /var/tmp"),
        "find an open file of the host",
    ):
        assert found[name], name


def test_an_unprivileged_server_has_the_same_sandbox() -> None:
    """Not only a server that root starts as another user: this one is started by a process that never had any rights."""
    command, options = ["/usr/bin/python3", "-B", "-c", ATTEMPTS_ALONE], as_nobody()
    done = subprocess.run(command, cwd=BASE_DIR, env={}, capture_output=True, text=True, timeout=60, check=False, **options)
    assert done.stdout.endswith(" False\n"), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os; os.kill(os.getppid(), 9)", "Operation not permitted"),
        ("import multiprocessing; multiprocessing.Process(target=print).start()", "not permitted"),
        ("import subprocess; subprocess.run(['/usr/bin/bwrap', '--version'])", "not permitted"),
        ("import socket; socket.create_connection(('127.0.0.1', 80))", "not permitted"),
        ("open('/usr/x', 'w')", "Read-only file system"),
        ("import os; os.listdir('/proc')", "No such file"),
    ],
)
def test_a_refusal_is_an_ordinary_error_to_the_code(code: str, expected: str) -> None:
    [text] = texts(code)
    assert expected in text and text.startswith("Traceback") and "driver" not in text


def test_symlinks_lead_nowhere() -> None:
    links = (
        "import os\nfor name in ('/etc/shadow', '/proc/1/root', '../../../root', '/mnt/data/a'): os.symlink(name, f'l{len(os.listdir())}')"
    )
    reads = "for name in sorted(os.listdir()):\n  try: print(open(name).read())\n  except OSError as error: print(type(error).__name__)"
    attempt_results, read = answers(links, reads)
    assert (
        set(read.text.split()) <= {"FileNotFoundError", "OSError", "IsADirectoryError", "PermissionError"} and attempt_results.files == ()
    )


def test_a_forged_end_mark_affects_only_its_own_reply() -> None:
    """The code can find the end mark of its own call. With it, it ends that call with its own text, and no other."""
    forged = (
        "import os, sys\n"
        "frame = sys._getframe()\n"
        "while 'request' not in frame.f_locals: frame = frame.f_back\n"
        "mark = frame.f_locals['request']['mark']\n"
        'end = b\'\\0\' + mark.encode() + b\'\\0\' + b\'{"files": [["../../etc/passwd", 1], ["x", -1], 7, [[], {}]], "failed": 3, "x": \' '
        "+ b'[' * 9000 + b'\\n'\n"
        "os.write(1, b'forged' + end)"
    )
    first, second, third = answers(forged, "print('second')", "print('third')")
    assert first.text == "forged" and not first.files
    assert second.text.endswith("second\n") and third.text == "third\n"


def test_end_marks_of_other_calls_are_text() -> None:
    [text] = texts("import os; x = os.write(1, b'\\0' + b'0' * 32 + b'\\0{}\\nafter')")
    assert text.endswith("after")


def test_a_reply_is_always_text() -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff\\x1b[2J' + 'é'.encode())"
    assert answers(f"x = {code!r}; exec(x)")[0].text == "\ufffd\x1b[2Jé"
