"""Runs a function in a forked process, so that its memory is freed when it ends.

A new interpreter would need seconds to import everything again.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

from django.core.management.base import CommandError
from django.db import connections

from chatui.database.faults import explained
from chatui.sandbox import end_with_parent

_SIGNAL_EXIT_CODES = 128
"""Added to a signal's number: a shell's exit code for a program that the signal ended."""


def run(work: Callable[[], object]) -> None:
    """Run ``work`` like a management command. If it fails, its error is printed, and this process exits with its exit code.

    Call it while this process has one thread: other threads do not survive a fork, and their locks would stay locked.

    Raises:
        OSError: there is no memory, or no room for another process.
    """
    for each in connections.all(initialized_only=True):
        each.close()  # a connection must not be used on both sides of a fork
        getattr(each, "close_pool", lambda: None)()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # Modules such as ``logging`` have callbacks around a fork, and Python drops what a signal raises in them: an interrupt would be lost.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise
    if not process:
        _run_and_exit(work, parent, mask)
    if code := _exit_code(process, mask):
        sys.exit(code)


def _exit_code(process: int, mask: set[int | signal.Signals]) -> int:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # raises KeyboardInterrupt if there was an interrupt meanwhile
        _, status = os.waitpid(process, 0)
    except BaseException:
        # If this process is interrupted, end the child as well, so that it does not hold its locks any longer.
        with suppress(ProcessLookupError, ChildProcessError):  # it ended just before the interrupt
            os.kill(process, signal.SIGTERM)
            os.waitpid(process, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _SIGNAL_EXIT_CODES - code


def _run_and_exit(work: Callable[[], object], parent: int, mask: set[int | signal.Signals]) -> None:
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        end_with_parent()  # this process has inherited the serve lock
        if os.getppid() != parent:
            os._exit(1)
        work()
        connections.close_all()
        code = 0
    except CommandError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        code = error.returncode
    except KeyboardInterrupt:
        pass  # the parent process was interrupted as well, and reports it
    except BaseException as error:  # noqa: BLE001 - reported here, because the child must never continue as if it were the serving process
        if sentence := explained(error):
            sys.stderr.write(f"Error: {sentence}\n")
        else:
            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # skip the exit handlers of the parent process
