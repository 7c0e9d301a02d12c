"""Confines the current process permanently, with resource limits and a system call filter, so that it can open no files and start no
programs.

A process that reads an untrusted file imports what it needs, confines itself, and only then parses the file. This needs no privileges,
namespaces or programs other than Python, so it also works in containers.

The system calls have their numbers on x86-64 and 64-bit ARM; ``-`` where there is none. The numbers are part of the kernel's interface and
never change. A test compares them with those of libseccomp.

The filters are seccomp-BPF programs and allow-lists: unlisted system calls fail. So a process cannot start another one, open a socket,
allocate memory that no limit counts (``memfd``, System V), or make calls through which kernels were exploited in the past (``io_uring``,
``bpf``, ``userfaultfd``, keys).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass

ALLOWED = """
brk 12 214; madvise 28 233; mincore 27 232; mmap 9 222; mprotect 10 226; mremap 25 216; msync 26 227; munmap 11 215
access 21 -; chdir 80 49; chmod 90 -; close 3 57; close_range 436 436; copy_file_range 326 285; creat 85 -; dup 32 23; dup2 33 -
dup3 292 24; faccessat 269 48; faccessat2 439 439; fadvise64 221 223; fallocate 285 47; fchdir 81 50; fchmod 91 52; fchmodat 268 53
fcntl 72 25; fdatasync 75 83; flock 73 32; fstat 5 80; fstatfs 138 44; fsync 74 82; ftruncate 77 46; futimesat 261 -; getcwd 79 17
getdents 78 -; getdents64 217 61; link 86 -; linkat 265 37; lseek 8 62; lstat 6 -; mkdir 83 -; mkdirat 258 34; newfstatat 262 79
open 2 -; openat 257 56; pread64 17 67; preadv 295 69; pwrite64 18 68; pwritev 296 70; read 0 63; readahead 187 213; readlink 89 -
readlinkat 267 78; readv 19 65; rename 82 -; renameat 264 38; renameat2 316 276; rmdir 84 -; sendfile 40 71; stat 4 -; statfs 137 43
statx 332 291; symlink 88 -; symlinkat 266 36; truncate 76 45; umask 95 166; unlink 87 -; unlinkat 263 35; utime 132 -; utimensat 280 88
utimes 235 -; write 1 64; writev 20 66
epoll_create 213 -; epoll_create1 291 20; epoll_ctl 233 21; epoll_pwait 281 22; epoll_wait 232 -; eventfd2 290 19; pause 34 -; pipe 22 -
pipe2 293 59; poll 7 -; ppoll 271 73; pselect6 270 72; select 23 -; timerfd_create 283 85; timerfd_gettime 287 87
timerfd_settime 286 86
alarm 37 -; clock_getres 229 114; clock_gettime 228 113; clock_nanosleep 230 115; getitimer 36 102; gettimeofday 96 169
nanosleep 35 101; setitimer 38 103; time 201 -; times 100 153
restart_syscall 219 128; rt_sigaction 13 134; rt_sigpending 127 136; rt_sigprocmask 14 135; rt_sigreturn 15 139; rt_sigsuspend 130 133
rt_sigtimedwait 128 137; sigaltstack 131 132; tgkill 234 131
arch_prctl 158 -; futex 202 98; get_robust_list 274 100; getcpu 309 168; membarrier 324 283; rseq 334 293; sched_getaffinity 204 123
sched_getparam 143 121; sched_getscheduler 145 120; sched_yield 24 124; set_robust_list 273 99; set_tid_address 218 96
execve 59 221; exit 60 93; exit_group 231 94; getegid 108 177; geteuid 107 175; getgid 104 176; getgroups 115 158; getpgid 121 155
getpgrp 111 -; getpid 39 172; getppid 110 173; getpriority 140 141; getrandom 318 278; getresgid 120 150; getresuid 118 148
getrlimit 97 163; getrusage 98 165; getsid 124 156; gettid 186 178; getuid 102 174; sysinfo 99 179; uname 63 160; wait4 61 260
waitid 247 95
getsockopt 55 209; recvfrom 45 207; sendto 44 206; shutdown 48 210
"""
"""The calls that a model's code may make. Python does not run without them."""

ALLOWED_FOR_READING = """
brk; mmap; munmap; mprotect; mremap; madvise; read; readv; pread64; write; writev; lseek; fstat; close; futex; clock_getres; clock_gettime
gettimeofday; time; times; getrusage; getrandom; getpid; gettid; sched_yield; rt_sigaction; rt_sigprocmask; rt_sigreturn; sigaltstack
restart_syscall; exit; exit_group
"""
"""The calls of ``ALLOWED`` that suffice to convert input bytes to text. None of them opens a file or socket, or starts a process."""

RESTRICTED = """clone 56 220; ioctl 16 29; prctl 157 167; prlimit64 302 261; socketpair 53 199"""
"""Allowed with some arguments only, see ``program``."""

UNIMPLEMENTED = """clone3 435 435"""
"""Fails with ENOSYS, as on a kernel without it, so that libraries use ``clone``: a filter cannot see its arguments, which are in memory."""

REFUSED = """
accept 43 202; accept4 288 242; add_key 248 217; bind 49 200; bpf 321 280; chown 92 -; chroot 161 51; connect 42 203
delete_module 176 106; fanotify_init 300 262; fchown 93 55; fork 57 -; fsopen 430 430; init_module 175 105; io_uring_enter 426 426
io_uring_setup 425 425; kcmp 312 272; kexec_load 246 104; keyctl 250 219; kill 62 129; lchown 94 -; listen 50 201; memfd_create 319 279
memfd_secret 447 447; mknod 133 -; mknodat 259 33; mlock 149 228; mlockall 151 230; mount 165 40; move_mount 429 429
name_to_handle_at 303 264; open_by_handle_at 304 265; perf_event_open 298 241; personality 135 92; pidfd_getfd 438 438
pidfd_open 434 434; pivot_root 155 41; process_vm_readv 310 270; process_vm_writev 311 271; ptrace 101 117; recvmsg 47 212
request_key 249 218; seccomp 317 277; sendmmsg 307 269; sendmsg 46 211; setgid 106 144; sethostname 170 161; setns 308 268
setpgid 109 154; setpriority 141 140; setresuid 117 147; setsid 112 157; setuid 105 146; shmat 30 196; shmget 29 194; socket 41 198
splice 275 76; swapon 167 224; syslog 103 116; tee 276 77; tkill 200 130; umount2 166 39; unshare 272 97; userfaultfd 323 282
vfork 58 -; vmsplice 278 75
"""
"""Fails with EPERM. A call that is in no table fails with ENOSYS, as on a kernel without it."""


def call_numbers(table: str, machine: str) -> dict[str, int]:
    """The numbers of a table by name. ``machine``: ``x86_64`` or ``aarch64``."""
    column = {"x86_64": 1, "aarch64": 2}[machine]
    rows = [entry.split() for line in table.split("\n") for entry in line.split("; ") if entry]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


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


class NotConfinedError(Exception):
    """The process could not be confined, or there is no filter for this processor. It must not read anything untrusted."""


def program(machine: str) -> bytes:
    """The filter for a model's code, in the format of bubblewrap's ``--seccomp``. ``machine``: the processor, as ``os.uname`` names it.
    Raises NotConfinedError for others than x86-64 and 64-bit ARM.
    """
    beginning = _beginning(machine)
    restricted = call_numbers(RESTRICTED, machine)
    lines = [
        *beginning,
        *_answers(call_numbers(ALLOWED, machine).values(), _ALLOW),
        *_answers(call_numbers(REFUSED, machine).values(), _ERROR | errno.EPERM),
        *_answers(call_numbers(UNIMPLEMENTED, machine).values(), _ERROR | errno.ENOSYS),
        *_restricted(restricted["clone"], 0, (_CLONE_THREAD,), _ANY_BIT),
        *_restricted(restricted["socketpair"], 0, (_AF_UNIX,)),
        *_restricted(restricted["prctl"], 0, _NAMING),
        *_restricted(restricted["prlimit64"], 0, (0,)),
        *_restricted(restricted["ioctl"], 1, _HARMLESS_IOCTL),
        _line(_RETURN, _ERROR | errno.ENOSYS),
    ]
    return b"".join(lines)


def program_of_reader(machine: str) -> bytes:
    """The filter for a process that reads its input, writes its output, and does nothing else until it exits. Raises as ``program``."""
    beginning = _beginning(machine)
    allowed = call_numbers(ALLOWED, machine)
    names = ALLOWED_FOR_READING.replace("\n", "; ").strip("; ").split("; ")
    numbers = [allowed[name] for name in names if name in allowed]
    return b"".join([*beginning, *_answers(numbers, _ALLOW), _line(_RETURN, _ERROR | errno.EPERM)])


def _beginning(machine: str) -> list[bytes]:
    if machine not in _ARCHITECTURE:
        raise NotConfinedError(f"there is no system call filter for this processor ({machine})")
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


NICENESS = 10
OPEN_FILES = 32
_SET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 1, 38, 22, 2


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The resource limits of a confined process."""

    cpu_seconds: int = 20
    """Processor time, which does not depend on how busy the machine is."""
    memory_bytes: int = 1 << 30
    wall_seconds: int = 60
    """Elapsed time, which also ends a process that only waits."""


def limit(limits: ProcessLimits) -> None:
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
    """From now on, refuse every system call except those of ``ALLOWED_FOR_READING``.

    Systems other than Linux have no such filter: there, the resource limits must suffice.

    Raises:
        NotConfinedError: the filter could not be installed on Linux.
    """
    if not sys.platform.startswith("linux"):
        return
    program = program_of_reader(os.uname().machine)
    library = ctypes.CDLL(None, use_errno=True)
    lines = ctypes.create_string_buffer(program, len(program))
    filter_program = _FilterProgram(len(program) // 8, ctypes.addressof(lines))
    end_with_parent()
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(filter_program), 0, 0):
        raise NotConfinedError(os.strerror(ctypes.get_errno()))


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends for any reason: nothing else would, if the product is killed."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
