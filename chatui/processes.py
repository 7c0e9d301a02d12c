"""Runs a program in a process of its own, with a deadline and a limit of output, and ends processes together with their children.

What a process that reads untrusted data does to confine itself is in ``sandbox``.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, cast

_BLOCK_BYTES = 1 << 20


class LateError(Exception):
    """A program took too long or wrote too much, and was killed."""


def run(command: Sequence[str], data: bytes, *, seconds: float, max_bytes: int, environment: Mapping[str, str]) -> tuple[int, bytes]:
    """The exit code of a program (the negative number of the signal that ended it), and its output. Large input and output never hold
    Python's global lock for long. ``data``: its input. ``environment``: all variables that it has. Its standard error is dropped, because
    it may quote the input.

    Raises:
        OSError: it could not be started.
        LateError: it took longer than ``seconds``, or wrote more than ``max_bytes``. It was killed, with its children.
    """
    with memory_file(data) as file:
        process = subprocess.Popen(  # noqa: S603 - our own programs: no argument comes from the input
            command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environment), start_new_session=True
        )
    end = time.monotonic() + seconds
    output = bytearray()
    try:
        for block in _blocks(cast(IO[bytes], process.stdout), end):
            output += block
            if len(output) > max_bytes:
                raise LateError
        return process.wait(max(end - time.monotonic(), 0.1)), bytes(output)
    except subprocess.TimeoutExpired:
        raise LateError from None
    finally:
        if process.returncode is None:
            kill_group(process.pid)
        process.wait()


def _blocks(stream: IO[bytes], end: float) -> Iterator[bytes]:
    """What a program writes, until it closes its output. Raises LateError at ``end``, in seconds of the monotonic clock."""
    with stream:
        waiting = select.poll()
        waiting.register(stream, select.POLLIN | select.POLLHUP)
        while (left := end - time.monotonic()) > 0:
            if waiting.poll(left * 1000):
                if not (block := os.read(stream.fileno(), _BLOCK_BYTES)):
                    return
                yield block
    raise LateError


@contextlib.contextmanager
def memory_file(data: bytes) -> Iterator[IO[bytes]]:
    """A file in memory with this content, if the system supports it, so that uploads are not written to disk."""
    with open(os.memfd_create("file"), "w+b", 0) if hasattr(os, "memfd_create") else tempfile.TemporaryFile(buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.seek(0)
        yield file


def kill_group(leader: int) -> None:
    """Kill a process that leads a group, and all processes of that group. Call it before the process was waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
