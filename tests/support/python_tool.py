"""The tool ``python`` as turns call it: in this machine's sandbox, or at a service of the operator's.

Whoever changes how code is run for a turn changes it here, and in no test.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from chatui.tools.file_access import ConversationFile, CreatedFile, StoredFileInfo
from chatui.tools.python import availability, tool
from chatui.tools.python.interpreter import Interpreter, InterpreterEndedError
from chatui.tools.python.launch import CannotLaunchError
from tests.support import environment
from tests.support.new_process import forget as as_new_process
from tests.support.sandbox import is_there, sandbox, use
from tests.support.tool_calls import ToolTurn
from tests.support.tool_servers import on_tools_loop


class Files:
    """The ``TurnFiles`` of a conversation with these ``texts``, by name. ``stored``: what its person was given."""

    def __init__(self, **texts: bytes) -> None:
        self.attached = [ConversationFile(uuid4(), name.replace("_", "."), data) for name, data in texts.items()]
        self.stored: dict[str, bytes] = {}

    async def store(self, made: CreatedFile) -> StoredFileInfo:
        self.stored[made.name] = made.data
        return StoredFileInfo(made.name, len(made.data), "0" * 64)

    async def of_conversation(self, max_bytes: int, known: Collection[UUID] | None = None) -> Sequence[ConversationFile]:
        return [each for each in self.attached if each.id not in (known or ())]

    async def deleted(self, known: Collection[UUID]) -> Collection[UUID]:
        return ()


def conversation(person: UUID | None = None, files: Files | None = None) -> ToolTurn:
    """A turn of a new conversation, in which ``python`` can be called."""
    return ToolTurn(tools={"run_python": tool.PYTHON}, person_id=person or uuid4(), files=files)


def code_of(turn: ToolTurn, code: str, seconds: float = 60) -> Any:
    """Awaitable: what the model is told of this code."""
    return turn.call("python", seconds, code=code)


@contextmanager
def in_sandbox(**settings: Any) -> Iterator[pytest.MonkeyPatch]:
    """Calls run in the sandbox of this machine, which is not tested first. All interpreters end with the block."""
    with pytest.MonkeyPatch.context() as patch:
        use(patch, sandbox)
        is_there(patch)
        environment.change(patch, {"tools": {"python": ()}, "backend_url": "http://127.0.0.1:9", **settings})
        as_new_process(tool)
        try:
            yield patch
        finally:
            executor: Any = tool.executor()
            on_tools_loop(executor.close())
            as_new_process(tool)


@contextmanager
def at_service(url: str, key: str = "k" * 20, **settings: Any) -> Iterator[pytest.MonkeyPatch]:
    """Calls run at the service with this address, in a process that has run no code yet."""
    with pytest.MonkeyPatch.context() as patch:
        values = {"python_service_url": url, "python_service_key": key, "tools": {"python": ()}, "backend_url": "http://127.0.0.1:9"}
        environment.change(patch, {**values, **settings})
        as_new_process(availability, tool)
        try:
            yield patch
        finally:
            as_new_process(availability, tool)


async def named_by_service() -> tuple[str, ...]:
    """The packages that can be imported, once the service has answered."""
    tool.installed_packages()
    await asyncio.wrap_future(tool._asked_service())
    return tool.installed_packages()


def told_of_packages() -> str:
    """What a model is told of them."""
    return tool.PYTHON.definition.note


def shown_executor() -> str:
    """What a log or a traceback shows of what runs the code, and of all that it keeps."""
    return f"{tool.executor()!r}"


def forget(*turns: ToolTurn) -> None:
    """These conversations are deleted. Waits until their interpreters were told to end."""
    wait(tool.forget_from_thread(*(turn.conversation_id for turn in turns)), 20)


def forget_ended(turn: ToolTurn) -> None:
    """A program's conversation is over."""
    tool.forget_ended_from_thread(turn.conversation_id)


def take_away(turn: ToolTurn, *names: str) -> None:
    """The person deletes these files."""
    tool.forget_files_from_thread(turn.conversation_id, names)


def starts(patch: pytest.MonkeyPatch) -> list[None]:
    """One for each interpreter whose start has begun from now on."""
    begun, start = list[None](), Interpreter.start

    async def started(*given: Any) -> Interpreter:
        begun.append(None)
        return await start(*given)

    patch.setattr(Interpreter, "start", started)
    return begun


def cannot_start(patch: pytest.MonkeyPatch, why: str) -> None:
    """From now on, no interpreter starts, though the sandbox was tested."""

    async def refused(*_: Any) -> Interpreter:
        raise CannotLaunchError(why)

    patch.setattr(Interpreter, "start", refused)


def die_of_files(patch: pytest.MonkeyPatch, deaths: int) -> None:
    """The first interpreters that are given files from now on die of it."""
    copy_in, died = Interpreter.copy_in, list[Interpreter]()

    async def dies(self: Interpreter, files: Sequence[ConversationFile]) -> tuple[str, ...]:
        if files and len(died) < deaths:
            died.append(self)
            self.kill()
            raise InterpreterEndedError("it died")
        return await copy_in(self, files)

    patch.setattr(Interpreter, "copy_in", dies)
