"""The interpreters of this process: one per conversation, limited in number, and closed when idle.

An interpreter's state is only in memory, so nothing of a conversation is left after it is deleted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from chatui.tools.file_access import TurnFiles
from chatui.tools.program_pool import PooledProgram, ProgramPool
from chatui.tools.python.answers import CodeOutcome, CodeRequest
from chatui.tools.python.data_files import CopiedFiles
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


Session = PooledProgram[Interpreter]
"""A conversation's place, and its interpreter."""


class Sessions:
    """Runs code in interpreters of this process, with state that lasts between the calls of a conversation. Use it on one event loop."""

    def __init__(self, start: Callable[[], Awaitable[Interpreter]], limits: SessionLimits) -> None:
        self._start = start
        self._limits = limits
        self._pool: ProgramPool[Interpreter] = ProgramPool()
        self._sessions = self._pool.by_key

    async def run(self, asked: CodeRequest) -> CodeOutcome:
        """Run code. The calls of one conversation run one after the other. If this is cancelled, the code ends within a second.

        Raises:
            ToolError: the code could not be started. The text is for the model.
        """
        session = self._session(asked)
        session.waiting += 1
        try:
            async with session.lock:
                return await self._run(session, asked)
        finally:
            self._pool.release(session, self._limits.idle_seconds)

    async def forget(self, conversation_id: UUID) -> None:
        """End the interpreter of a conversation. Never raises."""
        self._pool.forget(conversation_id)

    async def delete_files(self, conversation_id: UUID, names: Sequence[str]) -> None:
        """Remove files that the person has deleted. Any variable may hold data from one, so the interpreter is killed. Never raises."""
        await self.forget(conversation_id)

    def has(self, conversation_id: UUID) -> bool:
        """Whether this process may have an interpreter for that conversation. May be called in any thread."""
        return conversation_id in self._sessions

    async def close(self) -> None:
        await self._pool.close()

    async def _run(self, session: Session, asked: CodeRequest) -> CodeOutcome:
        before = session.program if session.is_alive else None
        interpreter = before or await self._begun(session, asked)
        about = CodeOutcome("")
        if asked.files is not None:
            interpreter, about = await self._with_files(session, interpreter, asked, asked.files)
        about = replace(about, is_new=interpreter is not before)
        try:
            answer = await interpreter.run(asked.code, asked.seconds, asked.max_chars)
        except InterpreterEndedError as error:
            return replace(about, text=error.answer.text, has_failed=True, ended=str(error))
        copied = await interpreter.take(asked.max_files, asked.max_file_bytes) if asked.files else CopiedFiles()
        return replace(about, text=answer.text, has_failed=answer.has_failed, files=answer.files, copied_out=copied)

    async def _begun(self, session: Session, asked: CodeRequest) -> Interpreter:
        self._pool.end(session)
        try:
            session.program = interpreter = await self._start()
        except CannotLaunchError:
            raise ToolError("Python cannot be used at the moment.") from None
        self._check(session, asked)
        return interpreter

    async def _with_files(
        self, session: Session, interpreter: Interpreter, asked: CodeRequest, stored: TurnFiles
    ) -> tuple[Interpreter, CodeOutcome]:
        """Copy the conversation's files into the interpreter: all of them into a new one, those uploaded since into an old one. First,
        delete the files that the person deleted, because another file with that name may follow.

        Returns the interpreter, and an outcome with what was copied. If this ends the interpreter, it is repeated with a new one. If it
        ends a new one, the code runs in another one without the files.
        """
        inside = interpreter.files_inside
        names = {inside[key] for key in await stored.deleted(inside)} if inside else set()
        remaining = None if inside is None else {key: name for key, name in inside.items() if name not in names}
        files = await stored.of_conversation(self._limits.max_copied_bytes, remaining)
        copied_in: tuple[str, ...] = ()
        try:
            await interpreter.delete(sorted(names))
            copied_in = await interpreter.copy_in(files)
        except InterpreterEndedError:
            interpreter = await self._begun(session, asked)
            if inside is not None:
                return await self._with_files(session, interpreter, asked, stored)
        self._check(session, asked)
        interpreter.files_inside = {**(remaining or {}), **{file.id: file.name for file in files}}
        not_copied_in = tuple(file.name for file in files if file.name not in copied_in)
        deleted = tuple(sorted(names.difference(copied_in)))
        return interpreter, CodeOutcome("", copied_in=copied_in, not_copied_in=not_copied_in, deleted=deleted)

    def _check(self, session: Session, asked: CodeRequest) -> None:
        if self._sessions.get(asked.conversation_id) is not session:
            raise ToolError("The interpreter of this conversation was ended.")

    def _session(self, asked: CodeRequest) -> Session:
        """The conversation's session, or a new one. If there are too many, the one that was idle longest is ended."""
        if found := self._sessions.get(asked.conversation_id):
            return found
        own = [session for session in self._sessions.values() if session.person_id == asked.person_id]
        is_own_full = len(own) >= self._limits.max_of_person and not self._pool.make_room(own)
        if is_own_full or (len(self._sessions) >= self._limits.most and not self._pool.make_room(self._sessions.values())):
            raise ToolError("Too many interpreters are at work. Try again later in this answer, or answer without Python.")
        return self._pool.add(Session(key=asked.conversation_id, person_id=asked.person_id))
