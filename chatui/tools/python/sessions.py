"""The interpreters of this process: one per conversation, limited in number, and closed when idle.

An interpreter's state is only in memory, so nothing of a conversation is left after it is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from chatui.tools.python.data_files import CopiedFiles
from chatui.tools.python.executors import CodeOutcome, CodeRequest
from chatui.tools.python.interpreter import Interpreter, InterpreterEndedError
from chatui.tools.python.launch import CannotLaunchError
from chatui.tools.tool import ToolError


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The maximum number of interpreters, in all and per person, how long one may be idle, and how many bytes of files it is given."""

    most: int
    max_of_person: int
    idle_seconds: float
    max_copied_bytes: int = 0


@dataclass(slots=True, eq=False)
class _Session:
    """The state of a conversation's interpreter. ``files_inside``: the names of the files that were copied into it; None before the first
    attempt."""

    person_id: UUID
    used_at: float
    interpreter: Interpreter | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    idle: asyncio.TimerHandle | None = None
    files_inside: dict[UUID, str] | None = None


class Sessions:
    """An ``Executor`` with interpreters in this process. Use it on one event loop."""

    def __init__(self, start: Callable[[], Awaitable[Interpreter]], limits: SessionLimits) -> None:
        self._start = start
        self._limits = limits
        self._sessions: dict[UUID, _Session] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def run(self, asked: CodeRequest) -> CodeOutcome:
        """See ``Executor``. The calls of one conversation run one after the other."""
        session = self._session(asked)
        session.waiting += 1
        try:
            async with session.lock:
                return await self._run(session, asked)
        finally:
            session.waiting -= 1
            self._keep_idle(asked.conversation_id, session)

    async def forget(self, conversation_id: UUID) -> None:
        """See ``Executor``."""
        if session := self._sessions.get(conversation_id):
            self._end(conversation_id, session)

    async def delete_files(self, conversation_id: UUID, names: Sequence[str]) -> None:
        """See ``Executor``. Any variable may hold data from a file, so the interpreter is killed."""
        await self.forget(conversation_id)

    def has(self, conversation_id: UUID) -> bool:
        """See ``Executor``."""
        return conversation_id in self._sessions

    async def close(self) -> None:
        """End all interpreters, and wait for them."""
        for conversation_id, session in list(self._sessions.items()):
            self._end(conversation_id, session)
        await asyncio.gather(*self._ending)

    async def _run(self, session: _Session, asked: CodeRequest) -> CodeOutcome:
        is_new = session.interpreter is None or not session.interpreter.is_alive
        if is_new:
            await self._begin(session, asked)
        before = session.interpreter
        about = await self._copy_files_in(session, asked) if asked.files else CodeOutcome("")
        interpreter = session.interpreter
        assert interpreter is not None  # noqa: S101 - it was just started
        about = replace(about, is_new=is_new or interpreter is not before)
        try:
            answer = await interpreter.run(asked.code, asked.seconds, asked.max_chars)
        except InterpreterEndedError as error:
            return replace(about, text=error.answer.text, has_failed=True, ended=str(error))
        copied = await interpreter.take(asked.max_files, asked.max_file_bytes) if asked.files else CopiedFiles()
        return replace(about, text=answer.text, has_failed=answer.has_failed, files=answer.files, copied_out=copied)

    async def _begin(self, session: _Session, asked: CodeRequest) -> None:
        self._kill_interpreter(session)
        session.files_inside = None
        try:
            session.interpreter = await self._start()
        except CannotLaunchError:
            raise ToolError("Python cannot be used at the moment.") from None
        self._check(session, asked)

    async def _copy_files_in(self, session: _Session, asked: CodeRequest) -> CodeOutcome:
        """Copy the conversation's files into the interpreter: all of them into a new one, those uploaded since into an old one. First,
        delete the files that the person deleted, because another file with that name may follow.

        Returns an outcome with what was copied. If this ends the interpreter, it is repeated with a new one. If it ends a new one, the code
        runs in another one without the files.
        """
        assert asked.files is not None  # noqa: S101 - asked by the caller
        assert session.interpreter is not None  # noqa: S101 - it was just started
        deleted_ids = await asked.files.deleted(session.files_inside) if session.files_inside else ()
        names = {session.files_inside[key] for key in deleted_ids} if session.files_inside else set()
        remaining = None if session.files_inside is None else {key: name for key, name in session.files_inside.items() if name not in names}
        files = await asked.files.of_conversation(self._limits.max_copied_bytes, remaining)
        copied_in: tuple[str, ...] = ()
        try:
            await session.interpreter.delete(sorted(names))
            copied_in = await session.interpreter.copy_in(files)
        except InterpreterEndedError:
            is_first = session.files_inside is None
            await self._begin(session, asked)
            if not is_first:
                return await self._copy_files_in(session, asked)
        self._check(session, asked)
        session.files_inside = {**(remaining or {}), **{file.id: file.name for file in files}}
        not_copied_in = tuple(file.name for file in files if file.name not in copied_in)
        deleted = tuple(sorted(names.difference(copied_in)))
        return CodeOutcome("", copied_in=copied_in, not_copied_in=not_copied_in, deleted=deleted)

    def _check(self, session: _Session, asked: CodeRequest) -> None:
        if self._sessions.get(asked.conversation_id) is not session:
            raise ToolError("The interpreter of this conversation was ended.")

    def _session(self, asked: CodeRequest) -> _Session:
        """The conversation's session, or a new one. If there are too many, the one that was idle longest is ended."""
        if found := self._sessions.get(asked.conversation_id):
            return found
        own = {key for key, session in self._sessions.items() if session.person_id == asked.person_id}
        if len(own) >= self._limits.max_of_person:
            self._make_room(own)
        if len(self._sessions) >= self._limits.most:
            self._make_room(set(self._sessions))
        session = self._sessions[asked.conversation_id] = _Session(asked.person_id, _now())
        return session

    def _make_room(self, among: set[UUID]) -> None:
        idle = [(session.used_at, key) for key, session in self._sessions.items() if key in among and not session.waiting]
        if not idle:
            raise ToolError("Too many interpreters are at work. Try again later in this answer, or answer without Python.")
        _, key = min(idle)
        self._end(key, self._sessions[key])

    def _keep_idle(self, conversation_id: UUID, session: _Session) -> None:
        """After a call, keep a live interpreter for its idle time."""
        if session.waiting:
            return
        if self._sessions.get(conversation_id) is not session:
            # The session was ended while its interpreter was starting.
            self._kill_interpreter(session)
            return
        if session.interpreter is None or not session.interpreter.is_alive:
            self._end(conversation_id, session)
            return
        session.used_at = _now()
        if session.idle is not None:
            session.idle.cancel()
        session.idle = asyncio.get_running_loop().call_later(self._limits.idle_seconds, self._end_if_idle, conversation_id, session)

    def _end_if_idle(self, conversation_id: UUID, session: _Session) -> None:
        if not session.waiting:
            self._end(conversation_id, session)

    def _end(self, conversation_id: UUID, session: _Session) -> None:
        if self._sessions.get(conversation_id) is session:
            del self._sessions[conversation_id]
        if session.idle is not None:
            session.idle.cancel()
        self._kill_interpreter(session)

    def _kill_interpreter(self, session: _Session) -> None:
        if session.interpreter is not None:
            session.interpreter.kill()
            ending = asyncio.get_running_loop().create_task(session.interpreter.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            session.interpreter = None


def _now() -> float:
    return asyncio.get_running_loop().time()
