"""Builds the sandbox's start command: the bubblewrap arguments, and the resource limits.

The sandbox contains the interpreter and its libraries, read-only, and two directories in memory. It has its own namespaces of every kind,
no capabilities, no ``/proc``, no network except its own loopback, and an environment that takes nothing from the host.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from chatui import sandbox

MEBIBYTE = 1024 * 1024
TEMPORARY_MEBIBYTES = 64
PROCESSOR_SECONDS = 3600
"""The limit of processor time for all calls of one interpreter together. Each call is limited in elapsed time."""
THREADS = 64
OPEN_FILES = 256
SYSTEM_DIRECTORIES = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
_LIBRARY_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 - in the sandbox
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "2",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "USER": "user",
}


class CannotLaunchError(Exception):
    """The sandbox cannot run on this machine. The text gives the reason and a remedy, for the operator."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings of a sandbox. ``python``: the interpreter. ``trees``: the directories with it and its libraries, except the system's
    directories. ``hidden``: directories in either that must not be visible. ``user``: the user to switch to first, for tests.
    """

    bwrap: str
    python: str
    trees: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    memory_mebibytes: int = 512
    data_mebibytes: int = 64
    user: int | None = None

    def command(self, filter_descriptor: int, info_descriptor: int) -> list[str]:
        """The program and its arguments. ``filter_descriptor``: the file descriptor from which the seccomp filter can be read."""
        return [
            self.bwrap,
            *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
            *("--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"),
            *("--die-with-parent", "--clearenv"),
            *(part for name, value in _ENVIRONMENT.items() for part in ("--setenv", name, value)),
            *_system(),
            *(part for path in _LIBRARY_SETTINGS for part in ("--ro-bind-try", path, path)),
            *(part for tree in self.trees for part in ("--ro-bind", tree, tree)),
            *(part for path in _DEVICES for part in ("--dev-bind", path, path)),
            *(part for path in self._masked() for part in ("--size", "4096", "--tmpfs", path, "--remount-ro", path)),
            *("--size", str(TEMPORARY_MEBIBYTES * MEBIBYTE), "--tmpfs", "/tmp"),  # noqa: S108 - in the sandbox
            *("--size", str(self.data_mebibytes * MEBIBYTE), "--tmpfs", "/mnt/data"),
            *("--remount-ro", "/", "--chdir", "/mnt/data"),
            *("--seccomp", str(filter_descriptor), "--info-fd", str(info_descriptor)),
            *("--", self.python, "-I", "-c", (files("chatui.tools.python") / "driver.py").read_text("utf-8"), json.dumps(self._limits())),
        ]

    def filter(self) -> bytes:
        """The seccomp filter.

        Raises:
            CannotLaunchError: there is none for this processor architecture.
        """
        try:
            return sandbox.program(os.uname().machine)
        except sandbox.NotConfinedError as error:
            raise CannotLaunchError(str(error)) from None

    def _masked(self) -> list[str]:
        return [path for path in self.hidden if any(Path(path).is_relative_to(tree) for tree in (*SYSTEM_DIRECTORIES, *self.trees))]

    def _limits(self) -> dict[str, int]:
        return {
            "RLIMIT_AS": self.memory_mebibytes * MEBIBYTE,
            "RLIMIT_CORE": 0,
            "RLIMIT_CPU": PROCESSOR_SECONDS,
            "RLIMIT_FSIZE": self.data_mebibytes * MEBIBYTE,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_NOFILE": OPEN_FILES,
            "RLIMIT_NPROC": THREADS,
        }


def found(python: str, hidden: Sequence[Path], memory_mebibytes: int, data_mebibytes: int) -> Launch:
    """The launch settings for this machine. ``python``: the path of an interpreter; empty for the system's. Takes a few milliseconds.

    Raises:
        CannotLaunchError: something is missing, or the interpreter's directories contain or are inside one of the hidden directories.
    """
    bwrap = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")
    if bwrap is None:
        raise CannotLaunchError("there is no bubblewrap (Debian and Ubuntu: apt-get install bubblewrap)")
    program = python or shutil.which("python3", path="/usr/local/bin:/usr/bin")
    if not program or not os.access(program, os.X_OK):
        raise CannotLaunchError("there is no interpreter; name one with CHATUI_PYTHON_PROGRAM")
    trees = tuple(tree for tree in _trees(program) if not any(Path(tree).is_relative_to(system) for system in SYSTEM_DIRECTORIES))
    secret = [str(path.resolve()) for path in hidden]
    for tree in trees:
        if any(Path(path).is_relative_to(tree) or Path(tree).is_relative_to(path) for path in secret):
            raise CannotLaunchError(f"CHATUI_PYTHON_PROGRAM is in {tree}, with files of the product; use an interpreter elsewhere")
    return Launch(bwrap, program, trees, tuple(secret), memory_mebibytes, data_mebibytes)


def _trees(program: str) -> set[str]:
    """The directories of an interpreter's own files and libraries, as it reports them."""
    asking = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix]))"
    try:
        done = subprocess.run([program, "-I", "-c", asking], env={}, capture_output=True, timeout=20, check=True)  # noqa: S603 - the operator's
        trees = set(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        raise CannotLaunchError("CHATUI_PYTHON_PROGRAM is not an interpreter that starts") from None
    return trees | {os.path.realpath(tree) for tree in trees}


def _system() -> list[str]:
    """The arguments for the system's directories, some of which are links into ``/usr``."""
    parts: list[str] = []
    for path in SYSTEM_DIRECTORIES:
        if os.path.islink(path):
            parts += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            parts += ["--ro-bind", path, path]
    return parts
