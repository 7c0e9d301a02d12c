"""Starts a sandbox's processes, and finds the id of its first process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterator
from typing import IO, Any

from chatui.tools.python.launch import CannotLaunchError, Launch

MAX_INFO_BYTES = 4000
MAX_WORDS = 500
READ_BYTES = 65_536


async def started(launch: Launch) -> tuple[asyncio.subprocess.Process, int]:
    """Start a sandbox. Returns bubblewrap's process, which leads its own process group and session, and the host's id of the first process
    in the sandbox.

    Raises:
        CannotLaunchError: bubblewrap or the kernel refused. The text contains the error message.
    """
    read_end, write_end = os.pipe()
    with contextlib.closing(os.fdopen(read_end, "rb", 0)) as info:
        try:
            with _given(launch.filter()) as filter_end:
                process = await _spawned(launch, filter_end, write_end)
        finally:
            os.close(write_end)
        try:
            received = await _all_of(info)
        except BaseException:
            await ended(process)
            raise
    try:
        return process, int(json.loads(received)["child-pid"])
    except (ValueError, KeyError, TypeError):
        words = await process.stdout.read(MAX_WORDS) if process.stdout else b""
        await ended(process)
        raise CannotLaunchError(words.decode("utf-8", "replace").strip() or "bubblewrap ended at once") from None


async def ended(process: asyncio.subprocess.Process) -> None:
    """Kill a sandbox, and wait until all its processes have ended. Nothing else may read its output meanwhile."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None and process.stdout is not None:
        process.stdin.close()
        while await process.stdout.read(READ_BYTES):
            pass
    await process.wait()


async def _all_of(pipe: IO[bytes]) -> bytes:
    """Bubblewrap's report on the sandbox: one JSON object, which arrives in pieces."""
    received = b""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while b"}" not in received and len(received) < MAX_INFO_BYTES and (data := await reader.read(MAX_INFO_BYTES)):
            received += data
    finally:
        transport.close()
    return received


async def _spawned(launch: Launch, filter_end: int, write_end: int) -> asyncio.subprocess.Process:
    spawning = asyncio.ensure_future(_create(launch, filter_end, write_end))
    try:
        return await asyncio.shield(spawning)
    except asyncio.CancelledError:
        # If this were cancelled halfway, asyncio would leave unconnected pipes open.
        with contextlib.suppress(OSError):
            await ended(await spawning)
        raise


async def _create(launch: Launch, filter_end: int, write_end: int) -> asyncio.subprocess.Process:
    identity: dict[str, Any] = {} if launch.user is None else {"user": launch.user, "group": launch.user, "extra_groups": []}
    return await asyncio.create_subprocess_exec(
        *launch.command(filter_end, write_end),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Bubblewrap's own environment can be read in the sandbox, even with --clearenv.
        env={},
        pass_fds=(filter_end, write_end),
        start_new_session=True,
        **identity,
    )


@contextlib.contextmanager
def _given(data: bytes) -> Iterator[int]:
    """A context manager with a file descriptor from which the data can be read once."""
    descriptor = os.memfd_create("filter", 0)
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
