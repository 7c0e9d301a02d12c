"""Background jobs run in order, and neither a failing nor a hanging job blocks anything."""

import subprocess
import sys
import time

import pytest

from tests.support.mails import queue

HANGS = """
import logging, threading
logging.basicConfig()
from tests.support.mails import queue
behind = queue("mails", 0.3)
for _ in range(3):
    behind.submit(threading.Event().wait, 60)
"""


@pytest.mark.slow
def test_a_process_can_exit_while_the_mail_server_hangs() -> None:
    started = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 0 and time.monotonic() - started < 30
    assert "the process ended before 3 mails were sent" in ended.stderr


def test_a_process_waits_briefly_for_its_jobs_when_it_exits() -> None:
    quick = HANGS.replace('"mails", 0.3', '"mails", 20').replace("threading.Event().wait, 60", "print, 'sent'")
    ended = subprocess.run([sys.executable, "-c", quick], capture_output=True, text=True, timeout=50, check=True)
    assert ended.stdout.split() == ["sent"] * 3 and ended.stderr == ""


def test_a_failure_is_logged_by_its_type_and_the_next_job_runs(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def fail() -> None:
        raise RuntimeError("ada@example.org")

    behind = queue("test")
    for work in (lambda: done.append(1), fail, lambda: done.append(2)):
        behind.submit(work)
    behind.wait()
    assert done == [1, 2] and "RuntimeError" in caplog.text and "ada@" not in caplog.text
