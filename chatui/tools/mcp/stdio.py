"""MCP over stdio, with a server that is a local program: it is started on first use, shared by all calls, and restarted if it has ended.

Its environment has only a PATH and the variables that the operator named. Its standard error is dropped. It is killed with all its child
processes if it floods us with output, writes an invalid message, or the product exits.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chatui.tools.mcp import messages
from chatui.tools.mcp.messages import ServerRefusedError
from chatui.tools.remote.offers import ServerError

MAX_LINE_BYTES = 4_000_000
MAX_IDLE_BYTES = 8_000_000
"""The maximum number of bytes accepted since the last expected response."""
MAX_UNREAD_BYTES = 1_000_000
GRACE_SECONDS = 1.0

_running: set[int] = set()


@atexit.register
def _end_all() -> None:
    for pid in list(_running):
        _kill(pid)


class StdioPeer:
    """An MCP server that runs as a local program. Used on one event loop."""

    def __init__(self, command: Sequence[str], environment: Callable[[], Mapping[str, str]], directory: Path | None) -> None:
        """``environment``: a function that returns the program's variables. It is called at each start, since credentials may change."""
        self._command = command
        self._environment = environment
        self._directory = directory
        self._program: _Program | None = None
        self._is_starting = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """See ``HttpPeer``."""
        program = await self._started()
        return await program.ask(method, messages.stateless(params) if program.is_stateless else params)

    async def close(self) -> None:
        """End the program. It ends even if the caller is cancelled meanwhile."""
        program, self._program = self._program, None
        if program is not None:
            ending = asyncio.create_task(program.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        if self._ending:
            await asyncio.wait(self._ending)  # unlike ``gather``, it does not cancel the tasks together with the caller

    async def _started(self) -> _Program:
        async with self._is_starting:
            if self._program is None or self._program.has_ended:
                await self.close()
                program = self._program = await _start(self._command, self._environment(), self._directory)
                try:
                    await program.introduce()
                except BaseException:
                    await self.close()
                    raise
                return program
            return self._program


async def _start(command: Sequence[str], environment: Mapping[str, str], directory: Path | None) -> _Program:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **environment},
            cwd=directory,
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    except (OSError, ValueError) as error:
        raise ServerError(f"the program could not be started ({type(error).__name__})") from None
    return _Program(process)


class _Program:
    """One run of the program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.is_stateless = False
        self._process = process
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._idle_bytes = 0
        _running.add(process.pid)
        self._reading = asyncio.create_task(self._read())

    @property
    def has_ended(self) -> bool:
        return self._reading.done()

    async def introduce(self) -> None:
        """Perform the handshake. If the server supports only the newer generation, set ``is_stateless``.

        Raises:
            ServerError: the server refused the handshake in another way.
        """
        try:
            messages.agreed(await self.ask("initialize", messages.hello()))
            await self._write(messages.notification("notifications/initialized", {}))
        except ServerRefusedError as error:
            if error.code != messages.UNSUPPORTED_VERSION:
                raise ServerError("the server refused the handshake") from None
            self.is_stateless = True

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if self.has_ended:
            raise ServerError("the program has ended")
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._write(messages.request(number, method, params))
            return messages.result_of(await waiting)
        except asyncio.CancelledError:
            with suppress(ServerError):
                self._send(messages.notification("notifications/cancelled", {"requestId": number, "reason": "stopped"}))
            raise
        finally:
            del self._waiting[number]

    async def _write(self, message: Mapping[str, Any]) -> None:
        self._send(message)
        with suppress(ConnectionError):
            await self._stdin.drain()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._stdin.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self._reading.cancel()
            raise ServerError("the program does not read its input")
        self._stdin.write(json.dumps(message).encode() + b"\n")

    @property
    def _stdin(self) -> asyncio.StreamWriter:
        if self._process.stdin is None:
            raise ServerError("the program has no input")
        return self._process.stdin

    async def _read(self) -> None:
        """Read messages until the program ends or must be killed; then all waiting requests fail."""
        try:
            while line := await self._line():
                self._idle_bytes += len(line)
                if self._idle_bytes > MAX_IDLE_BYTES:
                    return
                self._take(messages.read(line))
                # Reading a buffered line does not yield: without this, a flood would block every other tool.
                await asyncio.sleep(0)
        except (ServerError, ValueError, OSError):
            return  # invalid messages: treat the program as ended
        finally:
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(ServerError("the program ended, or wrote an invalid message"))
            _kill(self._process.pid)
            _running.discard(self._process.pid)

    async def _line(self) -> bytes:
        return await self._process.stdout.readline() if self._process.stdout else b""

    def _take(self, message: Mapping[str, Any]) -> None:
        if messages.is_request(message):
            self._send(messages.declined(message))
            return
        number = message.get("id")
        waiting = self._waiting.get(number) if type(number) is int else None
        if waiting is not None and not waiting.done():
            self._idle_bytes = 0
            waiting.set_result(message)

    async def end(self) -> None:
        """Shut the program down as the protocol requires: close its input, and kill it with its child processes if it is still running."""
        with suppress(ServerError, ConnectionError):
            self._stdin.close()
        await asyncio.wait({self._reading}, timeout=GRACE_SECONDS)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        # ``wait`` also waits for the end of both pipes, which never comes while reading is paused because too much was written, or while
        # a process that left the group has them open.
        transport = self._process._transport  # type: ignore[attr-defined]
        if (pipe := transport.get_pipe_transport(0)).get_write_buffer_size():
            pipe.abort()
        transport.get_pipe_transport(1).close()
        await self._process.wait()
        transport.close()


def _kill(pid: int) -> None:
    """Kill the program and its children, which form a process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
