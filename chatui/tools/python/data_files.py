"""Copies the files that code wrote to ``/mnt/data`` out of a sandbox: only regular files of bounded size. They are read from outside.

A model's code controls the directory and all names in it. So nothing in it is opened by its path: each step opens one name in an open
directory, and follows no links. A symbolic link that is followed outside the sandbox would lead to a file of the host.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from chatui.tools.file_access import CreatedFile, FileNotStoredError

MAX_ENTRIES = 2000
MAX_DEPTH = 8
MAX_LEFT_OUT = 5
"""The maximum number of omitted files that are reported."""
SMALL_BYTES = 64 * 1024
"""A file up to this size may have holes: some programs leave a few, at little cost."""
_BLOCK_BYTES = 512
_READ_BYTES = 1024 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CACHE = "__pycache__"
_UNFIT = "too large, or not a regular file"

Stamp = tuple[int, int, int]
"""A file's inode, size, and time of the last status change (ctime), which code cannot set back."""


@dataclass(frozen=True, slots=True)
class CopiedFiles:
    """The files copied out of a sandbox."""

    made: tuple[CreatedFile, ...] = field(default=(), repr=False)
    """The files that are new or changed."""
    left_out: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The names of those that were not copied, each with the reason."""


class DataFiles:
    """The files of one sandbox. Call ``take`` after each call, while the sandbox is stopped, and ``close`` at the end. All methods block,
    and may be called in any thread."""

    def __init__(self, directory: str) -> None:
        """``directory``: its path on the host. It must be on a tmpfs, which counts each block of a file. It is kept open, because the
        process id in its path may be reused.

        Raises:
            OSError: the directory does not exist.
        """
        self._root: int | None = os.open(directory, _DIRECTORY)
        self._device = os.fstat(self._root).st_dev
        self._seen: dict[str, Stamp] = {}
        # Without a lock, the descriptor could be closed meanwhile, and its number could refer to another file.
        self._lock = threading.Lock()

    def take(self, max_files: int, max_bytes: int, max_in_all: int) -> CopiedFiles:
        """The files that are new or changed since the last call, limited in number, in bytes per file, and in total bytes. The limits are
        needed because the files are copied into the server's memory, where the sandbox's own limits do not apply.
        """
        made: list[CreatedFile] = []
        left_out: list[tuple[str, str]] = []
        with self._lock:
            if self._root is None:
                return CopiedFiles()
            now = dict(_walked(self._root))
            changed = sorted(path for path, found in now.items() if self._seen.get(path) != found)
            self._seen = now
            for path in changed:
                try:
                    if len(made) == max_files:
                        raise FileNotStoredError("too many files at once")
                    made.append(CreatedFile(path, self._read(path, max_bytes, max_in_all)))
                except FileNotStoredError as error:
                    left_out.append((path, str(error)))
                else:
                    max_in_all -= len(made[-1].data)
        return CopiedFiles(tuple(made), tuple(left_out[:MAX_LEFT_OUT]))

    def close(self) -> None:
        """Close the directory. Afterwards, ``take`` returns nothing."""
        with self._lock:
            if self._root is not None:
                os.close(self._root)
            self._root = None

    def _read(self, path: str, max_bytes: int, max_in_all: int) -> bytes:
        """The bytes of a plain file. Each directory on the way is opened by itself, and no link is followed: code that still runs could
        exchange one for a link meanwhile. Raises FileNotStoredError."""
        *directories, name = path.split("/")
        try:
            with contextlib.ExitStack() as opened:
                place = self._root
                for each in directories:
                    place = os.open(each, _DIRECTORY, dir_fd=place)
                    opened.callback(os.close, place)
                file = os.open(name, _FILE, dir_fd=place)
                opened.callback(os.close, file)
                about = os.fstat(file)
                # A hard link could be visible elsewhere; another device is not this sandbox's memory.
                is_plain = stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_dev == self._device
                if not is_plain or about.st_size > max_bytes:
                    raise FileNotStoredError(_UNFIT)
                # A hole takes no space in the sandbox, but its zeros would take memory here.
                if about.st_blocks * _BLOCK_BYTES < about.st_size and about.st_size > SMALL_BYTES:
                    raise FileNotStoredError("a file with holes")
                if about.st_size > max_in_all:
                    raise FileNotStoredError("too many bytes at once")
                data = bytearray()
                while part := os.read(file, _READ_BYTES):
                    data += part
                    if len(data) > min(max_bytes, max_in_all):
                        raise FileNotStoredError(_UNFIT)  # it has grown meanwhile
                return bytes(data)
        except OSError:
            raise FileNotStoredError(_UNFIT) from None


def _walked(root: int, above: str = "", depth: int = 0) -> Iterator[tuple[str, Stamp]]:
    """The path and stamp of each regular file, up to a limit of entries.

    Files whose names begin with a dot are omitted, as private to the code.
    """
    entries_left = MAX_ENTRIES
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if (entries_left := entries_left - 1) < 0:
                return
            if entry.name.startswith(".") or entry.name == _CACHE:
                continue
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    yield above + entry.name, (about.st_ino, about.st_size, about.st_ctime_ns)
                elif entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                    with contextlib.ExitStack() as opened:
                        directory = os.open(entry.name, _DIRECTORY, dir_fd=root)
                        opened.callback(os.close, directory)
                        for inner in _walked(directory, f"{above}{entry.name}/", depth + 1):
                            yield inner
                            entries_left -= 1
