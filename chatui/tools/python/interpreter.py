"""One interpreter in its sandbox: starts it, runs code, interrupts it, pauses it between calls, and kills it.

Use it on one event loop. The processes of the sandbox form one process group, which they cannot leave, so signals to the group reach all of
them. They end with the thread that started them, and so with the product, even if it is killed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any
from uuid import UUID

from chatui.processes import kill_group, memory_file
from chatui.tools.file_access import ConversationFile
from chatui.tools.python.answers import AnswerReader, CodeOutcome
from chatui.tools.python.data_files import CopiedFiles, DataFiles
from chatui.tools.python.launch import MEBIBYTE, CannotLaunchError, SandboxLaunch

MAX_INFO_BYTES = 4000
MAX_WORDS = 500
READ_BYTES = 65_536


async def started(launch: SandboxLaunch) -> tuple[asyncio.subprocess.Process, int]:
    """Start a sandbox. Returns bubblewrap's process, which leads its own process group and session, and the host's id of the first process
    in the sandbox.

    Raises:
        CannotLaunchError: bubblewrap or the kernel refused. The text contains the error message.
    """
    read_end, write_end = os.pipe()
    with contextlib.closing(os.fdopen(read_end, "rb", 0)) as info:
        try:
            with memory_file(launch.filter()) as file:
                process = await _spawned(launch, file.fileno(), write_end)
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
        kill_group(process.pid)
    if process.stdin is not None and process.stdout is not None:
        if process.stdin.transport.get_write_buffer_size():
            process.stdin.transport.abort()  # closing would wait for somebody to read what was written last
        process.stdin.close()
        while await process.stdout.read(READ_BYTES):
            pass
        with contextlib.suppress(OSError):
            await process.stdin.wait_closed()
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


async def _spawned(launch: SandboxLaunch, filter_end: int, write_end: int) -> asyncio.subprocess.Process:
    identity: dict[str, Any] = {} if launch.user is None else {"user": launch.user, "group": launch.user, "extra_groups": []}
    creating = asyncio.create_subprocess_exec(
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
    spawning = asyncio.ensure_future(creating)
    try:
        return await asyncio.shield(spawning)
    except asyncio.CancelledError:
        # If this were cancelled halfway, asyncio would leave unconnected pipes open.
        with contextlib.suppress(OSError):
            await ended(await spawning)
        raise


GRACE_SECONDS = 2.0
"""The time between interrupting the code, which preserves the state, and killing the interpreter."""
START_SECONDS = 20.0
LOOK_SECONDS = 0.1
MAX_INODES = 10_000
"""The maximum number of files, directories and links. The sandbox's size limits do not count the memory for their names."""
FLOOD_PAUSE_SECONDS = 0.01
"""The pause after each piece of excess output, so that reading it costs next to nothing: 6 MB a second."""
NICENESS = 10
PIECE_BYTES = 1024 * 1024
"""The maximum number of bytes of a file in one request."""
_DATA = "/proc/{}/root/{}"
_DIRECTORIES = ("tmp", "mnt/data")


class InterpreterEndedError(Exception):
    """The interpreter has ended, with all its state. ``answer``: its output so far. The text gives the reason, for the model."""

    def __init__(self, why: str, answer: CodeOutcome | None = None) -> None:
        super().__init__(why)
        self.answer = answer or CodeOutcome("")


@dataclass(slots=True, eq=False)
class Interpreter:
    """A sandboxed interpreter, created by ``start``."""

    process: asyncio.subprocess.Process
    first_process: int
    """The host's process id of the sandbox's first process."""
    max_taken_bytes: int
    """The limit for all files that are copied out after one call."""
    inodes: int = 0
    is_alive: bool = True
    """It is not known to have ended."""
    files_inside: dict[UUID, str] | None = None
    """The names of the conversation's files that it has; None before the first attempt to copy them in."""
    _data: DataFiles | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    async def start(cls, launch: SandboxLaunch) -> Interpreter:
        """Start a sandbox with an interpreter that waits for code. Takes about 50 ms.

        Raises:
            CannotLaunchError: bubblewrap or the kernel refused. The text contains the error message.
        """
        try:
            async with asyncio.timeout(START_SECONDS):
                interpreter = cls(*await started(launch), launch.data_mebibytes * MEBIBYTE)
                await interpreter._begin()
        except TimeoutError:
            raise CannotLaunchError(f"the sandbox did not start within {START_SECONDS:g} seconds") from None
        except OSError as error:
            raise CannotLaunchError(f"bubblewrap cannot be started ({type(error).__name__})") from None
        return interpreter

    async def run(self, code: str, seconds: float, max_chars: int) -> CodeOutcome:
        """Run code with a time limit. Code that takes longer is interrupted; the interpreter keeps its state.

        Raises:
            InterpreterEndedError: the interpreter died, or had to be killed.
        """
        reader = AnswerReader(max_chars)
        late = f"it took longer than {seconds:g} seconds and could not be interrupted"
        async with self._awake(seconds + GRACE_SECONDS, late, reader):
            return await self._watched(code, reader, seconds)

    @contextlib.asynccontextmanager
    async def _awake(self, seconds: float, late: str, reader: AnswerReader | None = None) -> AsyncIterator[None]:
        """A block in which the interpreter is awake. If it fails or takes longer than ``seconds``, the interpreter is killed."""
        self._signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(seconds):
                yield
        except BaseException as error:
            self.kill()
            if isinstance(error, TimeoutError):
                raise InterpreterEndedError(late, reader.finish() if reader else None) from None
            raise
        # Threads that the code left running are paused between calls.
        self._signal(signal.SIGSTOP)

    async def copy_in(self, files: Sequence[ConversationFile]) -> tuple[str, ...]:
        """Copy files into ``/mnt/data``; the program inside writes them. Returns the names of those that fit.

        Raises:
            InterpreterEndedError: the interpreter died, or does not accept the files.
        """
        if not files:
            return ()
        async with self._awake(START_SECONDS, "it did not accept its files"):
            copied_in = tuple([file.name for file in files if await self._copied_in(file)])
        await self.take(0, 0)
        return copied_in

    async def _copied_in(self, file: ConversationFile) -> bool:
        """Write a file into the sandbox. Returns whether that succeeded. It is sent in pieces, because the interpreter needs several times
        the memory of a request, and its memory may be nearly full."""
        for at in range(0, len(file.data) or 1, PIECE_BYTES):
            piece = base64.b64encode(file.data[at : at + PIECE_BYTES]).decode()
            if (await self._ask({"write": file.name, "data": piece, "is_first": at == 0})).has_failed:
                return False
        return True

    async def delete(self, names: Sequence[str]) -> None:
        """Delete files from ``/mnt/data``; the program inside does it.

        Raises:
            InterpreterEndedError: the interpreter died, or a file still exists.
        """
        if not names:
            return
        async with self._awake(START_SECONDS, "it did not accept its files"):
            for name in names:
                if (await self._ask({"delete": name})).has_failed:
                    raise InterpreterEndedError("it did not delete its files")

    async def take(self, max_files: int, max_bytes: int) -> CopiedFiles:
        """The files that the last call created or changed. Call it between two calls. See ``DataFiles``."""
        if self._data is None:
            return CopiedFiles()
        return await asyncio.to_thread(self._data.take, max_files, max_bytes, self.max_taken_bytes)

    def kill(self) -> None:
        self.is_alive = False
        self._signal(signal.SIGKILL)

    async def end(self) -> None:
        """Kill the interpreter, and wait until all its processes have ended."""
        self.kill()
        async with self._reading:
            await ended(self.process)
        if self._data is not None:
            await asyncio.to_thread(self._data.close)

    async def _begin(self) -> None:
        """Wait for the program in the sandbox. Error messages of bubblewrap arrive the same way."""
        try:
            await self._ask({"code": ""})
            os.setpriority(os.PRIO_PGRP, self.process.pid, NICENESS)
            self.inodes = self._inodes()
            self._data = DataFiles(_DATA.format(self.first_process, "mnt/data"))
        except InterpreterEndedError as error:
            await self.end()
            raise CannotLaunchError(error.answer.text.strip() or "the sandbox ended at once") from None
        except OSError as error:
            await self.end()
            raise CannotLaunchError(f"the sandbox cannot be watched ({type(error).__name__})") from None
        except BaseException:
            await self.end()
            raise
        self._signal(signal.SIGSTOP)

    async def _watched(self, code: str, reader: AnswerReader, seconds: float) -> CodeOutcome:
        asked = asyncio.create_task(self._ask({"code": code}, reader))
        until = asyncio.get_running_loop().time() + seconds
        is_interrupted = False
        try:
            while not asked.done():
                await asyncio.wait({asked}, timeout=LOOK_SECONDS)
                with contextlib.suppress(OSError):  # if the process has ended meanwhile, its output ends, too
                    if not asked.done() and self._inodes() - self.inodes > MAX_INODES:
                        raise InterpreterEndedError(f"it created more than {MAX_INODES} files", reader.finish())
                if not is_interrupted and asyncio.get_running_loop().time() > until:
                    is_interrupted = True
                    self._write({"interrupt": True})
            answer = await asked
        finally:
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        return replace(answer, text=f"{answer.text}\n[Interrupted after {seconds:g} seconds.]") if is_interrupted else answer

    async def _ask(self, request: dict[str, Any], reader: AnswerReader | None = None) -> CodeOutcome:
        reader = reader or AnswerReader()
        self._write({"mark": reader.mark, **request})
        output = self.process.stdout
        async with self._reading:
            while output is not None and (data := await output.read(READ_BYTES)):
                if reader.feed(data):
                    return reader.finish()
                if reader.is_too_much:
                    await asyncio.sleep(FLOOD_PAUSE_SECONDS)
        raise InterpreterEndedError("it ended by itself, or was killed because it exceeded its memory or time", reader.finish())

    def _write(self, request: dict[str, Any]) -> None:
        if self.process.stdin is not None:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")

    def _inodes(self) -> int:
        """The number of inodes in the writable directories."""
        about = [os.statvfs(_DATA.format(self.first_process, path)) for path in _DIRECTORIES]
        return sum(each.f_files - each.f_ffree for each in about)

    def _signal(self, number: signal.Signals) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
