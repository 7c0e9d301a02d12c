"""MCP over stdio, with a server that is a local program: it is started on first use, and restarted if it has ended. ``ServerPrograms``
runs one for each conversation or person, bounded in number, and ends those that are idle.

Its environment has only a PATH and the variables that the operator named. A line of its output that is no message, or is too long, is
skipped and counted. It is killed with all its child processes if it floods us with output, does not answer a ping, or the product exits.
The last lines of its standard error, and how it ended, are for the operator alone.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import itertools
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4
from weakref import WeakSet

from chatui.processes import kill_group
from chatui.tools.mcp import messages
from chatui.tools.mcp.beside import NOBODY, Beside
from chatui.tools.mcp.messages import KeptSession, ServerRefusedError
from chatui.tools.program_pool import PooledProgram, ProgramPool
from chatui.tools.remote.definition import PRIVATE
from chatui.tools.remote.offers import Moment, ResponseTooLongError, ServerError, sent, without_arguments
from chatui.tools.tool import ToolError

MAX_LINE_BYTES = 4_000_000
MAX_IDLE_BYTES = 40_000_000
"""The maximum number of bytes accepted since the last expected response."""
MAX_UNREAD_BYTES = 1_000_000
MAX_REQUESTS = 20
"""The most requests of a program's that wait for a response; it gets none to others."""
GRACE_SECONDS = 1.0
PING_SECONDS = 10.0
LAST_BYTES = 8000
LAST_LINES = 5
"""How much of the end of its standard error is kept."""
_END_BYTES = 200
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_BEGINS_ANSWER = re.compile(rb'\s*\{\s*(?:%b\s*,\s*)?(?:"id"\s*:\s*([0-9]{1,15})\s*,\s*)?"(?:result|error)"\s*:' % _VERSION)
_ENDS_ANSWER = re.compile(rb',\s*"id"\s*:\s*([0-9]{1,15})\s*(?:,\s*%b\s*)?\}\s*\Z' % _VERSION)
"""The two ends of an answer that is too long to be kept, or cannot be read. Its id is found there only as a member of the message itself,
never of what is in it, which has other braces around it."""
_TOO_LONG = "the program's answer is too long"
_BEGINS_MESSAGE = re.compile(rb'\{\s*"(?:jsonrpc|id|result|error)"\s*:')

_running: dict[int, ServerProgram] = {}
"""All programs, by their process ids."""


@atexit.register
def _end_all() -> None:
    for pid in list(_running):
        kill_group(pid)
    if _home.cache_info().currsize:
        _delete(_home())


Tell = Callable[[str, Sequence[str]], None]
"""Gets a sentence for the operator, and lines of the program."""


@dataclass(frozen=True, slots=True)
class ProgramLaunch:
    """How a program is started."""

    command: Sequence[str]
    environment: Callable[[], Mapping[str, str]]
    """Returns its variables. It is called at each start, since credentials may change."""
    directory: Path | None
    tell: Tell
    """Tells the operator what happens to the program."""
    beside: Beside = NOBODY
    """What is done with what the program sends while it is asked nothing."""

    async def begin(self) -> ServerProgram:
        """A program that has been started, and has answered the handshake.

        Raises:
            ServerError: it could not be started, or refused the handshake.
        """
        with without_arguments():
            program = await self._start()
            try:
                await program.introduce()
            except BaseException:
                await program.end()
                raise
            return program

    async def _start(self) -> ServerProgram:
        environment = self.environment()
        texts = (*self.command, *environment.values())
        place = tempfile.mkdtemp(dir=_home()) if any(PRIVATE in text for text in texts) else ""
        variables = {name: text.replace(PRIVATE, place) for name, text in environment.items()}
        try:
            process = await asyncio.create_subprocess_exec(
                *(text.replace(PRIVATE, place) for text in self.command),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **variables},
                cwd=self.directory,
                start_new_session=True,
                limit=MAX_LINE_BYTES,
            )
        except BaseException as error:
            _delete(place)
            if not isinstance(error, (OSError, ValueError)):
                raise
            raise ServerError(f"the program could not be started ({type(error).__name__})") from None
        return ServerProgram(process, place, self.tell, self.beside)


class StdioPeer:
    """An MCP server that runs as one local program, started when it is asked. Used on one event loop."""

    def __init__(self, launch: ProgramLaunch) -> None:
        self._launch = launch
        self._program: ServerProgram | None = None
        self._is_starting = asyncio.Lock()

    @property
    def run(self) -> str:
        """The id of the run; empty if the program is not running."""
        return self._program.run if self._program is not None and self._program.is_alive else ""

    async def ask(self, method: str, params: Mapping[str, Any], beside: Beside = NOBODY) -> dict[str, Any]:
        return await (await self._started()).ask(method, params, beside)

    async def capabilities(self) -> Mapping[str, Any] | None:
        """See ``messages.capabilities_of``. Raises ServerError."""
        return (await self._started()).capabilities

    async def ping(self) -> None:
        """See ``McpServer``. A program that does not answer is killed, and whether the server is down is seen by starting it again."""
        async with self._is_starting:
            program = self._program
        if program is None or not await program.answers_ping():
            await self._started()

    async def close(self) -> None:
        if self._program is not None:
            await self._program.end()

    async def _started(self) -> ServerProgram:
        async with self._is_starting:
            if self._program is None or not self._program.is_alive:
                await self.close()
                self._program = await self._launch.begin()
            return self._program


class ServerProgram:
    """One run of a program. ``place``: its private directory, if it has one."""

    def __init__(self, process: asyncio.subprocess.Process, place: str, tell: Tell, beside: Beside) -> None:
        self.run = uuid4().hex
        self.capabilities: Mapping[str, Any] | None = None
        self._is_stateless = False
        self._place = place
        self._beside = beside
        self._process = process
        self._stdin = cast(asyncio.StreamWriter, process.stdin)
        self._stdout, self._stderr = cast(asyncio.StreamReader, process.stdout), cast(asyncio.StreamReader, process.stderr)
        self._tell = tell
        self._end = "the program ended"
        self._skipped = 0
        self._last_output = bytearray()
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._besides: dict[int, Beside] = {}
        self._answering: dict[asyncio.Task[None], Beside] = {}
        self._numbers = itertools.count(1)
        self._idle_bytes = 0
        _running[process.pid] = self
        self._listening = asyncio.create_task(self._listen())
        self._reading = asyncio.create_task(self._read())
        self._reporting: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        return not self._reading.done() and self._ending is None

    async def introduce(self) -> None:
        """Perform the handshake, unless the server supports only the newer generation.

        Raises:
            ServerError: the server refused the handshake in another way.
        """
        try:
            result = await self.ask("initialize", messages.hello(asks=self._beside.may_speak))
            messages.agreed(result)
            self.capabilities = messages.capabilities_of(result)
            await self._write(messages.INITIALIZED)
        except ServerRefusedError as error:
            if error.code != messages.UNSUPPORTED_VERSION:
                raise ServerError("the server refused the handshake") from None
            self._is_stateless = True

    async def ask(self, method: str, params: Mapping[str, Any], beside: Beside = NOBODY) -> dict[str, Any]:
        """Send a request, and return its result. ``beside``: what is done with what comes beside it.

        Raises:
            ServerError: the program has ended, or refused.
        """
        if not self.is_alive:
            raise ServerError("the program has ended")
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._besides[number] = beside
        sent_params = messages.stateless(params, asks=self._beside.may_speak) if self._is_stateless else params
        try:
            await self._write(messages.request(number, method, sent_params, wants_progress=beside.wants_progress))
            with sent():
                return messages.result_of(await waiting)
        except asyncio.CancelledError:
            with suppress(ServerError):
                self._send(messages.cancelled(number))
            raise
        finally:
            del self._waiting[number], self._besides[number]
            for task in [task for task, answers_to in self._answering.items() if answers_to is beside]:
                task.cancel()  # nobody is asked for a call that is over

    async def answers_ping(self) -> bool:
        """Whether the program answers, in any way. If not, it is killed."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self.ask("server/discover" if self._is_stateless else "ping", {})
        except ServerRefusedError:
            return True
        except (ServerError, TimeoutError) as error:
            if isinstance(error, ServerError) and error.moment is Moment.ANSWERED:
                return True
            self._end = "the program did not answer a ping" if self.is_alive else self._end
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

    async def _read(self) -> None:
        """Read messages until the program ends or must be killed; then all waiting requests fail."""
        try:
            while line := await self._line():
                self._take(line)
                # Reading a buffered line does not yield: without this, a flood would block every other tool.
                await asyncio.sleep(0)
        except OSError:
            return
        finally:
            for task in list(self._answering):
                task.cancel()
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(ServerError(self._end, Moment.LOST))
            kill_group(self._process.pid)
            del _running[self._process.pid]
            _delete(self._place)
            if self._ending is None:
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
                self._skip()
                self._refuse(head, tail, ResponseTooLongError(_TOO_LONG, Moment.ANSWERED))
                head = tail = b""
        return b""

    async def _piece(self) -> bytes:
        """A line, or a piece of one that is too long, which has no end of a line; empty at the end."""
        try:
            return await self._stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial and error.partial + b"\n"
        except asyncio.LimitOverrunError as error:
            return await self._stdout.readexactly(error.consumed)

    def _refuse(self, head: bytes, tail: bytes, error: ServerError) -> None:
        """Fail the call that a line answers which cannot be taken, if its two ends say which call that is."""
        begins = _BEGINS_ANSWER.match(head)
        if begins and (number := begins[1] or ((ends := _ENDS_ANSWER.search(tail)) and ends[1])):
            self._settle(int(number), error)

    def _skip(self) -> None:
        self._skipped += 1
        if self._skipped == 1:
            self._tell("its program wrote a line that is no message, or is too long; such lines are skipped", ())

    async def _listen(self) -> None:
        """Keep the end of what the program writes to its standard error."""
        while piece := await self._stderr.read(MAX_LINE_BYTES):
            self._last_output = (self._last_output + piece)[-LAST_BYTES:]
            await asyncio.sleep(0.01)  # a program that floods it must not keep the tools' loop busy

    async def _report(self) -> None:
        """Tell the operator how the program ended. What it wrote is complete once nobody can write to it any more, or after a while."""
        await asyncio.wait({self._listening}, timeout=GRACE_SECONDS)
        for _ in range(100):
            if self._process.returncode is None:
                await asyncio.sleep(GRACE_SECONDS / 100)
        code = self._process.returncode
        skipped = f", {self._skipped} lines skipped" if self._skipped else ""
        words = bytes(self._last_output).decode("utf-8", "replace").splitlines()
        if len(self._last_output) == LAST_BYTES:
            words = words[1:]  # it may begin in the middle of a credential, which would then not be recognized
        self._tell(f"{self._end} (exit code {'not known' if code is None else code}{skipped})", words[-LAST_LINES:])

    def _take(self, line: bytes) -> None:
        """Take the message in a line, or at the end of one that begins with something else, such as a progress bar without a line end."""
        try:
            message = messages.read(line)
        except ResponseTooLongError:
            self._skip()
            self._refuse(line[:_END_BYTES], line[-_END_BYTES:], ResponseTooLongError(_TOO_LONG, Moment.ANSWERED))
            return
        except ServerError:
            self._skip()
            begin = _BEGINS_MESSAGE.search(line)
            line = line[begin.start() :] if begin else b""
            try:
                message = messages.read(line)
            except ServerError as error:
                self._refuse(line[:_END_BYTES], line[-_END_BYTES:], ServerError(str(error), Moment.ANSWERED))
                return
        if messages.is_request(message):
            self._answer(message)
        elif messages.is_notice(message):
            self._notice(message)
        elif type(number := message.get("id")) is int:
            self._settle(number, message)

    def _answer(self, message: Mapping[str, Any]) -> None:
        """Respond to a request of the program's. It does not say in which call it makes the request."""
        if len(self._answering) == MAX_REQUESTS:
            return
        besides = list(self._besides.values())
        # Only if all calls are of one turn is it certain whom the request is for.
        beside = besides[0] if besides and all(each.person is besides[0].person for each in besides) else self._beside
        response = beside.response(message)
        if isinstance(response, Mapping):
            with suppress(ServerError):
                self._send(response)
        else:
            task = asyncio.create_task(self._respond_later(response))
            self._answering[task] = beside
            task.add_done_callback(self._answering.pop)

    async def _respond_later(self, response: Awaitable[Mapping[str, Any]]) -> None:
        with suppress(ServerError):
            self._send(await response)

    def _notice(self, message: Mapping[str, Any]) -> None:
        params = message.get("params")
        token = params.get("progressToken") if isinstance(params, Mapping) else None
        beside = self._besides.get(token, NOBODY) if type(token) is int else next(iter(self._besides.values()), self._beside)
        beside.notice(message)

    def _settle(self, number: int, answer: Mapping[str, Any] | ServerError) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        self._idle_bytes = 0
        if isinstance(answer, ServerError):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)

    async def end(self) -> None:
        """End the program. It ends even if the caller is cancelled meanwhile."""
        self._ending = self._ending or asyncio.create_task(self._shut_down())
        await asyncio.wait({self._ending})  # unlike ``gather``, it does not cancel the task together with the caller

    async def _shut_down(self) -> None:
        """As the protocol requires: close its input, and kill it with its child processes if it is still running."""
        with suppress(ConnectionError):
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
        _delete(self._place)  # again: until it was gone, the program may have written to it


_PREFIX = "chatui-tool-"
_YOUNG_SECONDS = 60.0


@cache
def _home() -> str:
    """The directory of this process for private directories, locked as long as the process lives. Those of killed processes, with what
    people had stored there, are deleted first."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is another user's, or a living process holds it
            found = left.lstat()
            if found.st_uid == os.getuid() and found.st_mtime < time.time() - _YOUNG_SECONDS:
                opened = _locked(str(left))
                _delete(str(left))
                os.close(opened)
    home = tempfile.mkdtemp(prefix=_PREFIX)
    _locked(home)
    return home


def _locked(place: str) -> int:
    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened


def _delete(place: str) -> None:
    if place:
        shutil.rmtree(place, ignore_errors=True)


IDLE_SECONDS = 600.0
MAX_IN_ALL = 60
"""The most programs of all servers in one process, apart from those that all people share."""
_SHARE = 3
"""One person may have the programs of this fraction of a server's limit."""
_FULL = "Too many programs of this tool are running, so the call was not made. Try again later in this answer, or go on without it."


_all: WeakSet[ProgramPool[ServerProgram]] = WeakSet()


class ServerPrograms:
    """The programs of one server: one for each conversation or person. Used on one event loop."""

    def __init__(self, launch: ProgramLaunch, limit: int) -> None:
        self._launch = launch
        self._limit = limit
        self._pool: ProgramPool[ServerProgram] = ProgramPool()
        _all.add(self._pool)

    async def ask(self, key: UUID, person_id: UUID, session: KeptSession, ask: tuple[str, Mapping[str, Any], Beside]) -> dict[str, Any]:
        """The result of a request (its method, its parameters, what is done beside it), of the program that this conversation or person
        (``key``) used last, or of a new one if that has ended or runs in another process. ``session``: where it is stored which one that
        is.

        Raises:
            ServerError: as ``HttpPeer.ask``.
            ToolError: too many programs are running.
        """
        async with session.lock:
            before = await session.last()
            kept = self._pool.by_key.get(key)
            if kept is None or kept.program is None or not kept.is_alive or kept.program.run != before:
                # A program that is not the last one has old state: another process has answered calls since.
                kept = await self._started(key, person_id, session, before)
            program = kept.program
            kept.waiting += 1
        try:
            if program is None:
                raise ServerError("the program has ended")
            return await program.ask(*ask)
        finally:
            self._pool.release(kept, IDLE_SECONDS)

    async def _started(self, key: UUID, person_id: UUID, session: KeptSession, before: str | None) -> PooledProgram[ServerProgram]:
        if old := self._pool.by_key.get(key):
            self._pool.drop(old)
        self._make_room(person_id)
        kept = self._pool.add(PooledProgram[ServerProgram](key=key, person_id=person_id, waiting=1))
        try:
            kept.program = await self._launch.begin()
            await session.replace(before, kept.program.run)
        except BaseException:
            self._pool.drop(kept, at_once=True)
            raise
        kept.waiting -= 1
        return kept

    def _make_room(self, person_id: UUID) -> None:
        """End the longest idle programs of the same person until there is room: nobody loses state because of somebody else."""
        while True:
            own = [each for each in self._pool.by_key.values() if each.person_id == person_id]
            is_full = len(self._pool.by_key) >= self._limit or sum(len(each.open) for each in _all) >= MAX_IN_ALL
            if not is_full and len(own) < max(1, self._limit // _SHARE):
                return
            if not self._pool.make_room(own):
                raise ToolError(_FULL)

    async def answers_ping(self, key: UUID) -> bool:
        """Whether the program of this conversation or person is running and answers. One that does not answer is killed, and no other."""
        kept = self._pool.by_key.get(key)
        if kept is None or kept.program is None:
            return False
        kept.waiting += 1
        try:
            return await kept.program.answers_ping()
        finally:
            self._pool.release(kept, IDLE_SECONDS)

    def end(self, key: UUID) -> None:
        """End the program of a conversation or person that is gone."""
        self._pool.forget(key)

    async def close(self) -> None:
        await self._pool.close()
