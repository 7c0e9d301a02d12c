"""MCP over stdio, with a server that is a local program: it is started on first use, shared by all calls, and restarted if it has ended.

Its environment has only a PATH and the variables that the operator named. A line of its output that is no message, or is too long, is
skipped and counted. It is killed with all its child processes if it floods us with output, does not answer a ping, or the product exits.
The last lines of its standard error, and how it ended, are for the operator alone.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chatui.tools.mcp import messages
from chatui.tools.mcp.messages import ServerRefusedError
from chatui.tools.remote.offers import Moment, ServerError, sent, without_arguments

MAX_LINE_BYTES = 4_000_000
MAX_IDLE_BYTES = 40_000_000
"""The maximum number of bytes accepted since the last expected response."""
MAX_UNREAD_BYTES = 1_000_000
GRACE_SECONDS = 1.0
PING_SECONDS = 10.0
LAST_BYTES = 8000
LAST_LINES = 5
"""How much of the end of its standard error is kept."""
_END_BYTES = 200
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_BEGINS_ANSWER = re.compile(rb'\s*\{\s*(?:%b\s*,\s*)?(?:"id"\s*:\s*([0-9]{1,15})\s*,\s*)?"(?:result|error)"\s*:' % _VERSION)
_ENDS_ANSWER = re.compile(rb',\s*"id"\s*:\s*([0-9]{1,15})\s*(?:,\s*%b\s*)?\}\s*\Z' % _VERSION)
"""The two ends of an answer that is too long to be kept. Its id is found there only as a member of the message itself, never of what is in
it, which has other braces around it."""

_running: set[int] = set()


@atexit.register
def _end_all() -> None:
    for pid in list(_running):
        _kill(pid)


Tell = Callable[[str, Sequence[str]], None]
"""Gets a sentence for the operator, and lines of the program."""


def _nothing(event: str, words: Sequence[str]) -> None:
    """For nobody."""


class StdioPeer:
    """An MCP server that runs as a local program. Used on one event loop."""

    def __init__(
        self, command: Sequence[str], environment: Callable[[], Mapping[str, str]], directory: Path | None, tell: Tell = _nothing
    ) -> None:
        """``environment``: a function that returns the program's variables. It is called at each start, since credentials may change.
        ``tell``: tells the operator what happens to the program.
        """
        self._tell = tell
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

    async def ping(self) -> None:
        """See ``ToolServer``. A program that does not answer is killed, and whether the server is down is seen by starting it again."""
        if not await (await self._started()).answers_ping():
            await self._started()

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
                try:
                    with without_arguments():
                        program = self._program = await _start(self._command, self._environment(), self._directory, self._tell)
                        await program.introduce()
                except BaseException:
                    await self.close()
                    raise
                return program
            return self._program


async def _start(command: Sequence[str], environment: Mapping[str, str], directory: Path | None, tell: Tell) -> _Program:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **environment},
            cwd=directory,
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    except (OSError, ValueError) as error:
        raise ServerError(f"the program could not be started ({type(error).__name__})") from None
    return _Program(process, tell)


class _Program:
    """One run of the program."""

    def __init__(self, process: asyncio.subprocess.Process, tell: Tell) -> None:
        self.is_stateless = False
        self._process = process
        self._tell = tell
        self._end = "the program ended"
        self._is_closing = False
        self._skipped = 0
        self._last_words = bytearray()
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._idle_bytes = 0
        _running.add(process.pid)
        self._listening = asyncio.create_task(self._listen())
        self._reading = asyncio.create_task(self._read())
        self._reporting: asyncio.Task[None] | None = None

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
            with sent():
                return messages.result_of(await waiting)
        except asyncio.CancelledError:
            with suppress(ServerError):
                self._send(messages.notification("notifications/cancelled", {"requestId": number, "reason": "stopped"}))
            raise
        finally:
            del self._waiting[number]

    async def answers_ping(self) -> bool:
        """Whether the program answers, in any way. If not, it is killed."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self.ask("server/discover" if self.is_stateless else "ping", messages.stateless({}) if self.is_stateless else {})
        except ServerRefusedError:
            return True
        except (ServerError, TimeoutError) as error:
            if isinstance(error, ServerError) and error.moment is Moment.ANSWERED:
                return True
            self._end = self._end if self.has_ended else "the program did not answer a ping"
            self._reading.cancel()
            await asyncio.wait({self._reading})
            return False
        return True

    async def _write(self, message: Mapping[str, Any]) -> None:
        self._send(message)
        with suppress(ConnectionError):
            await self._stdin.drain()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._stdin.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            raise ServerError("the program does not read its input", Moment.UNREAD)
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
                try:
                    self._take(messages.read(line))
                except ServerError:
                    self._skip()
                # Reading a buffered line does not yield: without this, a flood would block every other tool.
                await asyncio.sleep(0)
        except OSError:
            return
        finally:
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(ServerError(self._end, Moment.LOST))
            _kill(self._process.pid)
            _running.discard(self._process.pid)
            if not self._is_closing:
                self._reporting = asyncio.create_task(self._report())

    async def _line(self) -> bytes:
        """The next line; empty at the end. One that is too long is read to its end and dropped, and fails the call that it answers."""
        head = tail = b""
        while piece := await self._piece():
            self._idle_bytes += len(piece)
            if self._idle_bytes > MAX_IDLE_BYTES:
                self._end = "the program wrote too much that nobody had asked for"
                return b""
            is_last = piece.endswith(b"\n")
            if is_last and not head:
                return piece
            head, tail = head or piece[:_END_BYTES], (tail + piece)[-_END_BYTES:]
            if is_last:
                self._refuse_long(head, tail)
                head = tail = b""
        return b""

    async def _piece(self) -> bytes:
        """A line, or a piece of one that is too long, which has no end of a line; empty at the end."""
        output = self._process.stdout
        try:
            return await output.readuntil(b"\n") if output else b""
        except asyncio.IncompleteReadError as error:
            return error.partial and error.partial + b"\n"
        except asyncio.LimitOverrunError as error:
            return await output.readexactly(error.consumed) if output else b""

    def _refuse_long(self, head: bytes, tail: bytes) -> None:
        self._skip()
        begins = _BEGINS_ANSWER.match(head)
        number = begins and (begins[1] or ((ends := _ENDS_ANSWER.search(tail)) and ends[1]))
        waiting = self._waiting.get(int(number)) if number else None
        if waiting is not None and not waiting.done():
            self._idle_bytes = 0
            waiting.set_exception(ServerError("the program's answer is too long", Moment.ANSWERED))

    def _skip(self) -> None:
        self._skipped += 1
        if self._skipped == 1:
            self._tell("its program wrote a line that is no message, or is too long; such lines are skipped", ())

    async def _listen(self) -> None:
        """Keep the end of what the program writes to its standard error."""
        while self._process.stderr is not None and (piece := await self._process.stderr.read(MAX_LINE_BYTES)):
            self._last_words = (self._last_words + piece)[-LAST_BYTES:]
            await asyncio.sleep(0.01)  # a program that floods it must not keep the tools' loop busy

    async def _report(self) -> None:
        """Tell the operator how the program ended. What it wrote is complete once nobody can write to it any more, or after a while."""
        await asyncio.wait({self._listening}, timeout=GRACE_SECONDS)
        for _ in range(100):
            if self._process.returncode is None:
                await asyncio.sleep(GRACE_SECONDS / 100)
        code = self._process.returncode
        skipped = f", {self._skipped} lines skipped" if self._skipped else ""
        words = bytes(self._last_words).decode("utf-8", "replace").splitlines()
        if len(self._last_words) == LAST_BYTES:
            words = words[1:]  # it may begin in the middle of a credential, which would then not be recognized
        self._tell(f"{self._end} (exit code {'not known' if code is None else code}{skipped})", words[-LAST_LINES:])

    def _take(self, message: Mapping[str, Any]) -> None:
        if messages.is_request(message):
            with suppress(ServerError):
                self._send(messages.declined(message))
            return
        number = message.get("id")
        waiting = self._waiting.get(number) if type(number) is int else None
        if waiting is not None and not waiting.done():
            self._idle_bytes = 0
            waiting.set_result(message)

    async def end(self) -> None:
        """Shut the program down as the protocol requires: close its input, and kill it with its child processes if it is still running."""
        self._is_closing = True
        with suppress(ServerError, ConnectionError):
            self._stdin.close()
        await asyncio.wait({self._reading}, timeout=GRACE_SECONDS)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        if self._reporting is not None:
            await asyncio.wait({self._reporting})
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        # ``wait`` also waits for the end of both pipes, which never comes while reading is paused because too much was written, or while
        # a process that left the group has them open.
        transport = self._process._transport  # type: ignore[attr-defined]
        if (pipe := transport.get_pipe_transport(0)).get_write_buffer_size():
            pipe.abort()
        transport.get_pipe_transport(1).close()
        transport.get_pipe_transport(2).close()
        await self._process.wait()
        transport.close()


def _kill(pid: int) -> None:
    """Kill the program and its children, which form a process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
