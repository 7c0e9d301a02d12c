"""The escape attempts that are made in the sandbox before it is used. Each must fail.

The product fills in ``HOST``: ``readable`` (paths of the host), ``shown`` (the directories above the interpreter, and the names in them
that lead to it), ``tcp`` (a port of the host), ``abstract`` (a socket's name), ``numbers`` (of system calls, by name), ``memory`` and
``data`` (limits in bytes). Prints a JSON object with the name of each attempt, and whether it succeeded.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import struct
import threading
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

HOST: dict[str, Any] = {}
OWN_VARIABLES = {
    *("HOME", "LANG", "LC_CTYPE", "MALLOC_ARENA_MAX", "MPLBACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD", "USER"),
}
SOCKETS = {"netlink": (16, 3), "packet": (17, 3), "raw": (2, 3), "vsock": (40, 1), "AF_ALG": (38, 5), "bluetooth": (31, 3), "XDP": (44, 3)}
WRITTEN = ("/", "/usr", "/usr/lib", "/etc", "/dev", "/mnt", "/sys", "/proc/sys/kernel", "/var/tmp", "/root", "/home", "/run", "/dev/shm")  # noqa: S108
OWN = ("/mnt/data", "/tmp")  # noqa: S108 - in the sandbox
"""The sandbox's own directories, in memory. What has the same path on the host is not there."""
READ = (
    *("/etc/passwd", "/etc/shadow", "/root", "/home", "/proc/self/environ", "/proc/1/environ", "/proc/1/root", "/proc/kcore", "/sys"),
    *("/var/log", "/run", "/dev/tty", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/boot"),
)
CALLS: dict[str, tuple[Any, ...]] = {
    "setuid": (0,),
    "kill": (1, 0),
    "unshare": (0x10000000,),
    "setns": (0, 0),
    "bpf": (0, 0, 0),
    "perf_event_open": (0, 0, -1, -1, 0),
    "keyctl": (0, -3, 1),
    "add_key": (b"user", b"x", b"x", 1, -3),
    "io_uring_setup": (1, ctypes.create_string_buffer(256)),
    "ptrace": (0, 0, 0, 0),
    "process_vm_readv": (1, 0, 0, 0, 0, 0),
    "userfaultfd": (0,),
    "memfd_create": (b"x", 0),
    "mount": (b"none", b"/mnt/data", b"tmpfs", 0, 0),
    "umount2": (b"/mnt/data", 0),
    "pivot_root": (b".", b"."),
    "chroot": (b".",),
    "fsopen": (b"tmpfs", 0),
    "name_to_handle_at": (-100, b".", 0, 0, 0),
    "open_by_handle_at": (0, 0, 0),
    "init_module": (0, 0, b""),
    "kexec_load": (0, 0, 0, 0),
    "swapon": (b"x", 0),
    "syslog": (10, 0, 0),
    "sethostname": (b"x", 1),
    "shmget": (0, 4096, 0o1600),
    "personality": (0xFFFFFFFF,),
    "pidfd_open": (1, 0),
    "mknod": (b"/mnt/data/node", 0o60600, 0x0801),
    "setsid": (),
    "setpgid": (0, 0),
    "setpriority": (0, 0, 0),
    "clone3": (ctypes.create_string_buffer(88), 88),
    "seccomp": (1, 0, 0),
    "splice": (0, 0, 1, 0, 1, 0),
    "sendmsg": (0, 0, 0),
}


def attempts() -> Iterable[tuple[str, Callable[[], bool]]]:
    """The name and function of each attempt. The function returns whether the attempt succeeded; if it raises, the attempt failed."""
    for path in (*READ, *HOST["readable"]):
        yield f"read {path}", partial(_read, path)
    for path in (*WRITTEN, *HOST["readable"]):
        yield f"write in {path}", partial(_write, path)
    yield "see variables of the host", lambda: bool(set(os.environ) - OWN_VARIABLES)
    yield "see processes of the host", lambda: os.path.isdir("/proc/1")
    yield "connect to the host", lambda: _connect(socket.AF_INET, ("127.0.0.1", HOST["tcp"]))
    yield "connect to a metadata service", lambda: _connect(socket.AF_INET, ("169.254.169.254", 80))
    yield "send a datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53)) > 0
    yield "look up a name", lambda: bool(socket.getaddrinfo("example.org", 80))
    yield "connect to an abstract socket", lambda: _connect(socket.AF_UNIX, "\0" + HOST["abstract"])
    for name, (family, kind) in SOCKETS.items():
        yield f"open a socket: {name}", partial(_open, family, kind)
    for name, arguments in CALLS.items():
        if name in HOST["numbers"]:
            yield f"call {name}", partial(_call, name, arguments)
    yield "make a process", _fork
    yield "make a process in a new user namespace", lambda: _call("clone", (0x10000000 | 17, 0, 0, 0, 0))
    yield "run a command", lambda: os.system("id") == 0  # noqa: S605, S607 - it must fail
    yield "find an open file of the host", lambda: _with_any(os.fstat, range(6, 256))
    yield "type into a terminal", lambda: _with_any(_type, (0, 1, 2))
    # The other attempts show what capabilities would allow.
    yield "have capabilities", lambda: "capget" in HOST["numbers"] and _call("capget", (struct.pack("Ii", 0x20080522, 0), 0))
    yield "become another user", lambda: os.getuid() == 0 or _call("setresuid", (0, 0, 0))
    yield "raise a limit", _raise_limit
    yield "write core files", lambda: resource.getrlimit(resource.RLIMIT_CORE)[1] != 0
    yield "take more memory than allowed", lambda: bool(bytearray(HOST["memory"]))
    yield "start hundreds of threads", _many_threads
    yield "write a file that is too large", lambda: _truncate("/mnt/data/probe")
    for place in OWN:
        yield f"write without end in {place}", partial(_fill, place)


def _with_any(attempt: Callable[[int], Any], numbers: Iterable[int]) -> bool:
    """Whether an attempt works with one of the numbers; with each of the others, it raises."""
    for number in numbers:
        with contextlib.suppress(OSError):
            attempt(number)
            return True
    return False


def _type(terminal: int) -> None:
    fcntl.ioctl(terminal, 0x5412, b"x")


def _read(path: str) -> bool:
    if os.path.isdir(path):
        return bool(set(os.listdir(path)) - set(HOST["shown"].get(path, ())))
    with open(path, "rb") as file:
        return bool(file.read(1))


def _write(path: str) -> bool:
    is_directory = os.path.isdir(path) or path.startswith(tuple(f"{place}/" for place in OWN))
    with open(os.path.join(path, "probe") if is_directory else path, "ab") as file:
        return file.writable()


def _connect(family: int, address: Any) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(0.3)
        connection.connect(address)
    return True


def _call(name: str, arguments: tuple[Any, ...]) -> bool:
    """Whether the kernel did anything but refuse the call. An error about the arguments also shows that the call is allowed."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    result = library.syscall(ctypes.c_long(HOST["numbers"][name]), *arguments)
    if result == 0 and name == "clone":
        os._exit(0)
    return result >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)


def _fork() -> bool:
    if os.fork() == 0:
        os._exit(0)
    return True


def _open(family: int, kind: int) -> bool:
    with socket.socket(family, kind) as opened:
        return opened.fileno() >= 0


def _raise_limit() -> bool:
    resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096))
    return True


def _many_threads() -> bool:
    end = threading.Event()
    threads = []
    try:
        threading.stack_size(65_536)
        for _ in range(400):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            threads.append(thread)
    finally:
        end.set()
        threading.stack_size(0)
        for thread in threads:
            thread.join()
    return True


def _truncate(path: str) -> bool:
    with open(path, "wb") as file:
        file.truncate(2**40)
    return True


def _fill(place: str) -> bool:
    """Write more than fits into a directory in memory, in files that are each within the limit."""
    made = []
    try:
        for index in range(2 * HOST["data"] // (8 * 2**20) + 16):
            made.append(os.path.join(place, f"probe{index}"))
            with open(made[-1], "wb") as file:
                file.write(bytes(8 * 2**20))
    finally:
        for path in made:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return True


def main() -> None:
    # Since Python 3.12, os.fork warns in a process with several threads. The output must be JSON alone.
    warnings.simplefilter("ignore")
    found = {}
    for name, attempt in attempts():
        try:
            found[name] = bool(attempt())
        except (Exception, SystemExit):  # noqa: BLE001 - an attempt that raises has failed
            found[name] = False
    print(json.dumps(found))  # noqa: T201 - the process that started this one reads it


main()
