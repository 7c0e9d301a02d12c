"""Confines the current process permanently, with resource limits and a system call filter. It can then open no files and start no programs.

A process that reads an untrusted file imports what it needs, confines itself, and only then parses the file. This needs no privileges,
namespaces or programs other than Python, so it also works in containers.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

from chatui.sandbox import seccomp

NICENESS = 10
OPEN_FILES = 32
_SET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 1, 38, 22, 2


class NotConfinedError(Exception):
    """The process could not be confined. It must not read anything untrusted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The resource limits of a confined process. ``cpu_seconds``: processor time, which does not depend on how busy the machine is.
    ``wall_seconds``: elapsed time, which also ends a process that only waits."""

    cpu_seconds: int = 20
    memory_bytes: int = 1 << 30
    wall_seconds: int = 60


def limit(limits: Limits) -> None:
    """Set resource limits that the process cannot raise again. Call this before anything else."""
    for which, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
    ):
        resource.setrlimit(which, (most, most))
    os.nice(NICENESS)
    signal.alarm(limits.wall_seconds)


def confine() -> None:
    """From now on, refuse every system call except those of ``system_calls.ALLOWED_FOR_READING``.

    Systems other than Linux have no such filter: there, the resource limits must suffice.

    Raises:
        NotConfinedError: the filter could not be installed on Linux.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        program = seccomp.program_of_reader(os.uname().machine)
    except seccomp.MachineUnsupportedError:
        raise NotConfinedError("there is no system call filter for this processor") from None
    library = ctypes.CDLL(None, use_errno=True)
    lines = ctypes.create_string_buffer(program, len(program))
    filter_program = _FilterProgram(len(program) // 8, ctypes.addressof(lines))
    # If the product is killed, nothing else ends this process.
    library.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(filter_program), 0, 0):
        raise NotConfinedError(os.strerror(ctypes.get_errno()))


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
