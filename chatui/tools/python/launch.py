"""Builds the sandbox's start command: the bubblewrap arguments, and the resource limits.

The sandbox contains the interpreter and its libraries, read-only, and two directories in memory. It has its own namespaces of every kind,
no capabilities, no ``/proc``, no network except its own loopback, and an environment that takes nothing from the host.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from chatui import sandbox
from chatui.program import command
from chatui.tools.python import packages

MEBIBYTE = 1024 * 1024
TEMPORARY_MEBIBYTES = 64
PROCESSOR_SECONDS = 3600
"""The limit of processor time for all calls of one interpreter together. Each call is limited in elapsed time."""
THREADS = 64
OPEN_FILES = 256
OWN_DIRECTORIES = ("/tmp", "/mnt/data")  # noqa: S108 - in the sandbox
SYSTEM_DIRECTORIES = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
_LIBRARY_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 - in the sandbox
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "2",
    "MPLBACKEND": "agg",
    # Each thread reserves 35 MiB of the memory that an interpreter may have, and several interpreters share the processors.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "USER": "user",
}


class CannotLaunchError(Exception):
    """The sandbox cannot run on this machine. The text gives the reason and a remedy, for the operator."""


@dataclass(frozen=True, slots=True)
class SandboxLaunch:
    """The settings of a sandbox."""

    bwrap: str
    python: str
    """The interpreter."""
    trees: tuple[str, ...] = ()
    """The directories with it and its libraries, except the system's directories."""
    hidden: tuple[str, ...] = ()
    """Directories in ``trees`` or the system's that must not be visible. Of the trees, only the environment that the product built may be
    in one of them."""
    packages: tuple[str, ...] = ()
    """The packages that it has, with versions."""
    memory_mebibytes: int = 1024
    data_mebibytes: int = 64
    user: int | None = None
    """The user to switch to first, for tests."""

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
            *(part for tree in self.trees if not self._is_inside(tree) for part in ("--ro-bind", tree, tree)),
            *(part for path in _DEVICES for part in ("--dev-bind", path, path)),
            *(part for path in self._masked() for part in ("--size", "4096", "--tmpfs", path)),
            *(part for tree in self.trees if self._is_inside(tree) for part in ("--ro-bind", tree, tree)),
            *(part for path in self._masked() for part in ("--remount-ro", path)),
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

    def shown(self) -> dict[str, list[str]]:
        """The directories above the trees, with the names in them that lead to the trees: all of the file system that code can list."""
        found: dict[str, list[str]] = {}
        for tree in self.trees:
            for path in (Path(tree), *Path(tree).parents):
                found.setdefault(str(path.parent), []).append(path.name)
        return found

    def _masked(self) -> list[str]:
        return [path for path in self.hidden if any(Path(path).is_relative_to(tree) for tree in (*SYSTEM_DIRECTORIES, *self.trees))]

    def _is_inside(self, tree: str) -> bool:
        return any(Path(tree).is_relative_to(path) for path in self.hidden)

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


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """The memory that an interpreter may have, as address space, and the size of ``/mnt/data``, both in MiB."""

    memory_mebibytes: int
    data_mebibytes: int


def found(python: str, hidden: Sequence[Path], limits: LaunchLimits, data_dir: Path | None = None) -> SandboxLaunch:
    """The launch settings for this machine. ``python``: the path of an interpreter; empty for that of the environment in ``data_dir``, or
    else the system's. Takes a few milliseconds.

    Raises:
        CannotLaunchError: something is missing, or the interpreter's directories contain or are inside one of the hidden directories.
    """
    bwrap = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")
    if bwrap is None:
        raise CannotLaunchError("there is no bubblewrap (Debian and Ubuntu: apt-get install bubblewrap)")
    own = packages.program(data_dir) if data_dir and not python else ""
    program = python or own or shutil.which("python3", path="/usr/local/bin:/usr/bin")
    if not program or not os.access(program, os.X_OK):
        again = f"the packages for it were installed for a Python that is gone; run {command('python_tool')} again"
        raise CannotLaunchError(again if own else "there is no interpreter; name one with CHATUI_PYTHON_PROGRAM")
    try:
        reported, versions = packages.asked(program)
    except ValueError:
        raise CannotLaunchError("CHATUI_PYTHON_PROGRAM is not an interpreter that starts") from None
    reported |= {os.path.realpath(tree) for tree in reported}
    trees = tuple(tree for tree in sorted(reported) if not any(Path(tree).is_relative_to(system) for system in SYSTEM_DIRECTORIES))
    secret = [str(path.resolve()) for path in hidden]
    _check(trees, secret, str(packages.place(data_dir)) if own and data_dir else "")
    has = tuple(f"{name} {version}" for name, version in versions.items())
    return SandboxLaunch(bwrap, program, trees, tuple(secret), has, limits.memory_mebibytes, limits.data_mebibytes)


def _check(trees: Sequence[str], hidden: Sequence[str], own: str) -> None:
    """Raises CannotLaunchError if one of the trees has files of the product, or is where the sandbox has directories of its own."""
    for tree in trees:
        if tree != own and any(Path(path).is_relative_to(tree) or Path(tree).is_relative_to(path) for path in hidden):
            raise CannotLaunchError(f"CHATUI_PYTHON_PROGRAM is in {tree}, with files of the product; use an interpreter elsewhere")
        if any(Path(tree).is_relative_to(place) for place in OWN_DIRECTORIES):
            own_places = " and ".join(OWN_DIRECTORIES)
            raise CannotLaunchError(f"the interpreter is in {tree}, which code does not see: the sandbox has {own_places} of its own")


def _system() -> list[str]:
    """The arguments for the system's directories, some of which are links into ``/usr``."""
    parts: list[str] = []
    for path in SYSTEM_DIRECTORIES:
        if os.path.islink(path):
            parts += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            parts += ["--ro-bind", path, path]
    return parts
