"""The filter of system calls: its numbers are the kernel's, and it is a program that the kernel takes."""

import ctypes
import ctypes.util
import struct

import pytest

from chatui import sandbox
from tests.support.cases import for_each

TABLES = (sandbox.ALLOWED, sandbox.RESTRICTED, sandbox.UNIMPLEMENTED, sandbox.REFUSED)
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


LIBRARY = ctypes.util.find_library("seccomp")


@pytest.mark.skipif(LIBRARY is None, reason="There is no libseccomp to compare with.")
@for_each(ARCHITECTURES)
def test_the_numbers_are_those_of_libseccomp(machine: str) -> None:
    resolve = ctypes.CDLL(LIBRARY).seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    for table in TABLES:
        for call, number in sandbox.call_numbers(table, machine).items():
            assert resolve(ARCHITECTURES[machine], call.encode()) == number, call


def answer(program: bytes, number: int, *arguments: int, architecture: int = ARCHITECTURES["x86_64"]) -> int:
    """What the filter says: the kernel's own rules for such a program, as far as ours uses them."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, *[0] * (6 - len(arguments))))
    lines = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = value = 0
    while True:
        code, if_true, if_false, operand = lines[at]
        if code == 0x06:
            return operand
        if code == 0x20:
            [value] = struct.unpack_from("<I", data, operand)
            at += 1
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += 1 + (if_true if holds else if_false)


def test_what_is_named_is_allowed_and_nothing_else() -> None:
    program, allow = sandbox.program("x86_64"), 0x7FFF0000
    allowed = {number for number in range(600) if answer(program, number) == allow}
    expected = set(sandbox.call_numbers(sandbox.ALLOWED, "x86_64").values())
    assert allowed == expected | {302}  # prlimit64 of the process itself
    assert answer(program, 41) == 0x00050001 and answer(program, 435) == 0x00050026 and answer(program, 599) == 0x00050026


def test_threads_can_be_made_and_processes_cannot() -> None:
    program = sandbox.program("x86_64")
    assert answer(program, 56, 0x3D0F00) == 0x7FFF0000 and answer(program, 56, 17) == 0x00050001 == answer(program, 56, 0x10000011)


def test_a_terminal_can_be_asked_and_not_typed_into() -> None:
    program = sandbox.program("x86_64")
    assert answer(program, 16, 0, 0x5401) == 0x7FFF0000
    assert answer(program, 16, 0, 0x5412) == 0x00050001 == answer(program, 16, 0, 0x1_0000_5412)


def test_other_tables_of_the_processor_kill() -> None:
    program = sandbox.program("x86_64")
    assert answer(program, 0x40000000) == 0x80000000 == answer(program, 1, architecture=0x40000003)


def test_the_kernel_takes_no_longer_program() -> None:
    assert all(len(sandbox.program(machine)) // 8 < 4096 for machine in ARCHITECTURES)


def test_another_processor_has_no_filter() -> None:
    with pytest.raises(sandbox.NotConfinedError, match="riscv64"):
        sandbox.program("riscv64")


@for_each(ARCHITECTURES)
def test_a_reader_may_make_a_few_calls_and_no_others(machine: str) -> None:
    program, allow = sandbox.program_of_reader(machine), 0x7FFF0000
    allowed = {number for number in range(600) if answer(program, number, architecture=ARCHITECTURES[machine]) == allow}
    by_name = sandbox.call_numbers(sandbox.ALLOWED, machine)
    names = {name for name, number in by_name.items() if number in allowed}
    assert {"read", "write", "mmap", "exit_group"} <= names and len(names) == len(allowed) < 40
    assert not names & {"open", "openat", "execve", "stat", "newfstatat", "unlink", "unlinkat", "rename", "sendto", "recvfrom", "dup"}
