"""Confines the current process permanently: first limits, then the system call filter, after which it can open and start nothing.

A process that reads a stranger's file imports what it needs, confines itself, and only then looks at the file. This needs no rights, no
namespaces and no program beside Python, so it also holds in containers.
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
    """The kernel refused the confinement. Nothing untrusted may be read in this process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The resource limits of a confined process. ``cpu_seconds``: of the processor, however busy the machine is. ``wall_seconds``: of
    the clock, for what waits and does nothing."""

    cpu_seconds: int = 20
    memory_bytes: int = 1 << 30
    wall_seconds: int = 60


def limit(limits: Limits) -> None:
    """Set limits that cannot be lifted. Call it before anything else."""
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
    """Refuse every system call from now on but those of ``system_calls.READING``.

    On other systems than Linux there is no such filter, and the limits have to do.

    Raises:
        NotConfinedError: on Linux, it could not be done.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        program = seccomp.program_of_reader(os.uname().machine)
    except seccomp.MachineUnsupportedError:
        raise NotConfinedError("there is no filter of system calls for this processor") from None
    library = ctypes.CDLL(None, use_errno=True)
    lines = ctypes.create_string_buffer(program, len(program))
    filter_program = _FilterProgram(len(program) // 8, ctypes.addressof(lines))
    # Nobody else ends what is left of it when the product is killed.
    library.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(filter_program), 0, 0):
        raise NotConfinedError(os.strerror(ctypes.get_errno()))


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
