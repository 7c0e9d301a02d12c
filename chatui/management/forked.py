"""Runs work in a forked process, so that its memory is freed when it ends.

A new interpreter would have to import for seconds what this one has.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable

from django.core.management.base import CommandError
from django.db import connections

_SET_DEATH_SIGNAL = 1
_BY_SIGNAL = 128
"""What a shell adds to the number of the signal that ended a program."""


def run(work: Callable[[], object]) -> None:
    """Do it as a management command would. Where it fails, that is said as a command says it, and this process ends with its exit code.

    To be called while this process has one thread: in the other process, no other one goes on, and what it held stays locked.
    """
    for each in connections.all(initialized_only=True):
        each.close()  # no connection can be used on both sides of a fork
        getattr(each, "close_pool", lambda: None)()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    process = os.fork()
    if not process:
        _work_and_end(work, parent)
    if code := _exit_code(process):
        sys.exit(code)


def _exit_code(process: int) -> int:
    try:
        _, status = os.waitpid(process, 0)
    except BaseException:
        # What interrupts this process ends that one as well: nobody else is to wait for its locks.
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _BY_SIGNAL - code


def _work_and_end(work: Callable[[], object], parent: int) -> None:
    code = 1
    try:
        _end_with(parent)
        work()
        connections.close_all()
        code = 0
    except CommandError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        code = error.returncode
    except KeyboardInterrupt:
        pass  # the process that waits for this one was interrupted as well, and says so
    except BaseException:  # noqa: BLE001 - it is said here; nothing of this process may go on as if it were the one that serves
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # past what the process that was forked does once at its own end


def _end_with(parent: int) -> None:
    """Let the system end this process with the one that waits for it, however that ends: this one has the lock of serving as well."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
