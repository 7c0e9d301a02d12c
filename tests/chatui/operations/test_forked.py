"""Work in a forked process: it reports errors like a command, and ends with its parent process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.slow  # each starts a process of the whole product
_BEGIN = """
import os, sys, time
import django; django.setup()
from django.core.management.base import CommandError
from chatui.operations import forked
before = os.getpid()
def work():
    assert os.getpid() != before
"""
_END = "forked.run(work)\nprint('goes on')\n"


def start(tmp_path: Path, work: str, *, first: str = "") -> subprocess.Popen[str]:
    """A separate process with one thread, as ``serve`` has: that of the tests has more."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")}
    environment = others | {"CHATUI_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "chatui.settings"}
    command = [sys.executable, "-c", f"{_BEGIN}    {work}\n{first}\n{_END}"]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_imports_and_changes_of_the_child_do_not_affect_the_parent(tmp_path: Path) -> None:
    process = start(tmp_path, f"import wave; open({str(tmp_path / 'done')!r}, 'w').close(); assert 'wave' in sys.modules; print('says')")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, "says\ngoes on\n", "") and (tmp_path / "done").exists()


@pytest.mark.parametrize(
    ("work", "code", "words"),
    [
        ("raise CommandError('no room', returncode=3)", 3, "CommandError: no room\n"),
        ("raise ValueError('odd')", 1, "ValueError: odd\n"),
        ("os.kill(os.getpid(), 9)", 128 + 9, ""),
    ],
)
def test_if_the_child_fails_the_parent_reports_it_and_exits(tmp_path: Path, work: str, code: int, words: str) -> None:
    process = start(tmp_path, work)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (code, "") and errors.endswith(words)
    assert ("Traceback" in errors) == ("ValueError" in words)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux does the child learn that its parent has ended")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_child_ends_with_its_parent(tmp_path: Path, how: signal.Signals) -> None:
    process = start(tmp_path, "print(os.getpid(), flush=True); time.sleep(60)")
    assert process.stdout is not None
    working = int(process.stdout.readline())
    process.send_signal(how)
    assert process.wait(60) != 0
    deadline = time.monotonic() + 60
    while _lives(working) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _lives(working)
    process.communicate()


def test_an_interrupt_while_the_process_forks_is_not_lost(tmp_path: Path) -> None:
    """A callback after the fork is the moment at which Python would print and drop the exception."""
    interrupted = "import signal\nos.register_at_fork(after_in_parent=lambda: os.kill(before, signal.SIGINT))"
    process = start(tmp_path, "time.sleep(90)", first=interrupted)
    try:
        said, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0 and said == "" and "KeyboardInterrupt" in errors and "Exception ignored" not in errors


def test_if_the_process_cannot_fork_it_can_still_be_interrupted(tmp_path: Path) -> None:
    full = """import signal
def full(): raise OSError('no room')
os.fork = full
try: forked.run(work)
except OSError as error: print(error, signal.pthread_sigmask(signal.SIG_BLOCK, []))
sys.exit()"""
    process = start(tmp_path, "pass", first=full)
    assert process.communicate(timeout=60)[0] == "no room set()\n"


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
