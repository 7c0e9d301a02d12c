"""Runs a function in a forked process, so that its memory is freed when it ends.

A new interpreter would need seconds to import everything again.
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
_SIGNAL_EXIT_CODES = 128
"""Added to a signal's number: a shell's exit code for a program that the signal ended."""


def run(work: Callable[[], object]) -> None:
    """Run ``work`` like a management command. If it fails, its error is printed, and this process exits with its exit code.

    Call it while this process has one thread: other threads do not survive a fork, and their locks would stay locked.
    """
    for each in connections.all(initialized_only=True):
        each.close()  # a connection must not be used on both sides of a fork
        getattr(each, "close_pool", lambda: None)()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    process = os.fork()
    if not process:
        _run_and_exit(work, parent)
    if code := _exit_code(process):
        sys.exit(code)


def _exit_code(process: int) -> int:
    try:
        _, status = os.waitpid(process, 0)
    except BaseException:
        # If this process is interrupted, end the child as well, so that it does not hold its locks any longer.
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _SIGNAL_EXIT_CODES - code


def _run_and_exit(work: Callable[[], object], parent: int) -> None:
    code = 1
    try:
        _exit_with_parent(parent)
        work()
        connections.close_all()
        code = 0
    except CommandError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        code = error.returncode
    except KeyboardInterrupt:
        pass  # the parent process was interrupted as well, and reports it
    except BaseException:  # noqa: BLE001 - reported here, because the child must never continue as if it were the serving process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # skip the exit handlers of the parent process


def _exit_with_parent(parent: int) -> None:
    """Let the kernel end this process when its parent ends for any reason: this process has inherited the serve lock."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
