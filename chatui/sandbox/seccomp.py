"""Writes system call filters as seccomp-BPF programs.

The filters are allow-lists: unlisted system calls fail. So a process cannot start another one, open a socket, allocate memory that no limit
counts (``memfd``, System V), or make calls through which kernels were exploited in the past (``io_uring``, ``bpf``, ``userfaultfd``, keys).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable

from chatui.sandbox import system_calls

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_LOAD = 0x20  # the 32 bits at an offset of struct seccomp_data
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERROR = 0x00050000
_X32_BIT = 0x40000000
"""Call numbers from here on belong to x32, a second, rarely used interface of x86-64."""

_CLONE_THREAD = 0x00010000
_AF_UNIX = 1
_NAMING = (15, 16)
"""``prctl``: PR_SET_NAME and PR_GET_NAME, for the name of a thread."""
_HARMLESS_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX and FIOCLEX. Not TIOCSTI, which injects input into a terminal."""


class MachineUnsupportedError(Exception):
    """There is no filter for this processor architecture."""


def program(machine: str) -> bytes:
    """The filter for a model's code, in the format of bubblewrap's ``--seccomp``. ``machine``: the processor, as ``os.uname`` names it.

    Raises:
        MachineUnsupportedError: neither x86-64 nor 64-bit ARM.
    """
    restricted = system_calls.call_numbers(system_calls.RESTRICTED, _known(machine))
    lines = [
        *_beginning(machine),
        *_answers(system_calls.call_numbers(system_calls.ALLOWED, machine).values(), _ALLOW),
        *_answers(system_calls.call_numbers(system_calls.REFUSED, machine).values(), _ERROR | errno.EPERM),
        *_answers(system_calls.call_numbers(system_calls.UNIMPLEMENTED, machine).values(), _ERROR | errno.ENOSYS),
        *_restricted(restricted["clone"], 0, (_CLONE_THREAD,), _ANY_BIT),
        *_restricted(restricted["socketpair"], 0, (_AF_UNIX,)),
        *_restricted(restricted["prctl"], 0, _NAMING),
        *_restricted(restricted["prlimit64"], 0, (0,)),
        *_restricted(restricted["ioctl"], 1, _HARMLESS_IOCTL),
        _line(_RETURN, _ERROR | errno.ENOSYS),
    ]
    return b"".join(lines)


def program_of_reader(machine: str) -> bytes:
    """The filter for a process that reads its input, writes its output, and does nothing else until it exits.

    Raises:
        MachineUnsupportedError: neither x86-64 nor 64-bit ARM.
    """
    allowed = system_calls.call_numbers(system_calls.ALLOWED, _known(machine))
    names = system_calls.ALLOWED_FOR_READING.replace("\n", "; ").strip("; ").split("; ")
    numbers = [allowed[name] for name in names if name in allowed]
    return b"".join([*_beginning(machine), *_answers(numbers, _ALLOW), _line(_RETURN, _ERROR | errno.EPERM)])


def _known(machine: str) -> str:
    if machine not in _ARCHITECTURE:
        raise MachineUnsupportedError(machine)
    return machine


def _beginning(machine: str) -> list[bytes]:
    return [
        _line(_LOAD, _MACHINE),
        _line(_EQUAL, _ARCHITECTURE[machine], 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
        _line(_AT_LEAST, _X32_BIT, 0, 1),
        _line(_RETURN, _KILL),
    ]


def _answers(numbers: Iterable[int], answer: int) -> list[bytes]:
    return [line for number in numbers for line in (_line(_EQUAL, number, 0, 1), _line(_RETURN, answer))]


def _restricted(number: int, argument: int, values: tuple[int, ...], how: int = _EQUAL) -> list[bytes]:
    """Allow a call only if this argument has one of these values. Only its low 32 bits are compared: for the kernel, it is an ``int``."""
    tests = [line for value in values for line in (_line(how, value, 0, 1), _line(_RETURN, _ALLOW))]
    body = [_line(_LOAD, _ARGUMENTS + 8 * argument), *tests, _line(_RETURN, _ERROR | errno.EPERM)]
    return [_line(_EQUAL, number, 0, len(body)), *body]


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
