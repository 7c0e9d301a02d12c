"""The tool ``python``: runs code in an interpreter that the conversation keeps between calls, and replies to the model with its output."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, partial
from typing import Any
from uuid import UUID

from chatui.env import environment
from chatui.tools import execution
from chatui.tools.file_access import FileNotStoredError, StoredFileInfo
from chatui.tools.python import availability
from chatui.tools.python.answers import CodeOutcome, CodeRequest
from chatui.tools.python.interpreter import GRACE_SECONDS, Interpreter
from chatui.tools.python.launch import MEBIBYTE
from chatui.tools.python.service import Service
from chatui.tools.python.sessions import SessionLimits, Sessions
from chatui.tools.tool import CallingTurn, Tool, ToolError
from renderer.characters import CONTROLS

_SILENT = "[No output. Only what is printed, and the value of the last expression, is output.]"
DIRECTORY = "/mnt/data"


_DIGEST_CHARS = 12
"""The characters of a file's digest to show: enough to identify the file, at few tokens."""
_NAME_CHARS = 80


def reply(outcome: CodeOutcome, stored: Sequence[StoredFileInfo] = (), left_out: Sequence[tuple[str, str]] = ()) -> str:
    """The output of the code, then notes in brackets. ``stored``: the call's files that the person has now. ``left_out``: the names of the
    others, each with the reason."""
    text = CONTROLS.sub("\ufffd", outcome.text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")
    parts = [text, *_notes_on_files(outcome, stored, left_out), *_notes_on_interpreter(outcome)]
    return "\n".join(filter(None, parts)) or _SILENT


def _notes_on_files(outcome: CodeOutcome, stored: Sequence[StoredFileInfo], left_out: Sequence[tuple[str, str]]) -> Iterator[str]:
    listed = {made.name for made in outcome.copied_out.made} | {name for name, _ in left_out}
    if others := [f"{name} ({size} bytes)" for name, size in outcome.files if name not in listed]:
        yield f"[Files made or changed in {DIRECTORY}: {', '.join(others)}]"
    if stored:
        named = ", ".join(f"{file.name} ({file.size} bytes, sha256 {file.sha256[:_DIGEST_CHARS]})" for file in stored)
        yield f"[The person now has these files: {named}]"
    if left_out:
        named = ", ".join(f"{CONTROLS.sub('?', name)[:_NAME_CHARS]} ({why})" for name, why in left_out)
        yield f"[The person does not get these files: {named}]"


def _notes_on_interpreter(outcome: CodeOutcome) -> Iterator[str]:
    if outcome.not_copied_in:
        yield f"[These files of the conversation could not be put into {DIRECTORY}: {', '.join(outcome.not_copied_in)}]"
    if outcome.deleted:
        yield f"[The person deleted these files, and they are not in {DIRECTORY} any more: {', '.join(outcome.deleted)}]"
    copied_in = ", ".join(outcome.copied_in)
    if outcome.ended:
        yield f"[The interpreter ended: {outcome.ended}. Its variables and files are lost; the next call begins with a new one.]"
    elif copied_in and outcome.is_new:
        yield f"[This call began with a new interpreter. In {DIRECTORY} were the conversation's files: {copied_in}]"
    elif copied_in:
        yield f"[New files from the person in {DIRECTORY}: {copied_in}]"
    elif outcome.is_new and outcome.has_failed:
        yield "[This call began with a new interpreter, without the variables and files of earlier calls.]"


_CODE = "code"
_NOTE_CHARS = 1500
"""The part of a reply that is reserved for notes beside the output."""
_SHARE_OF_CALL = 5 / 6
"""After which part of a call's time its code is interrupted."""
_MIN_SECONDS = 1.0
_INTERPRETERS_OF_PERSON = 2
"""How many interpreters of a process may be one person's."""
_IDLE_SECONDS = 600.0
"""How long an interpreter may be idle before it ends."""
_DESCRIPTION = (
    "Runs Python code in an interpreter that this conversation keeps between calls. The reply is what it prints, and the value of the "
    "last expression. Files in /mnt/data, and figures that plt.show() shows, go to the person; other files belong in /tmp. There is no "
    "internet access, and no other programs."
)
_SCHEMA = {
    "type": "object",
    "properties": {_CODE: {"type": "string", "description": "Python source code"}},
    "required": [_CODE],
    "additionalProperties": False,
}


async def run(turn: CallingTurn, arguments: Mapping[str, Any]) -> str:
    """The reply to a call. The settings are checked here again, not only where the tool is offered.

    Raises:
        ToolError: the code could not be started.
    """
    if not availability.is_on():
        raise ToolError("Python cannot be used at the moment.")
    env = environment()
    # The interrupt, which preserves the state, must come before the call's timeout, which does not.
    seconds = max(min(env.tool_seconds * _SHARE_OF_CALL, env.tool_seconds - 2 * GRACE_SECONDS), _MIN_SECONDS)
    max_chars = max(env.tool_reply_chars - _NOTE_CHARS, _NOTE_CHARS)
    max_bytes = env.file_mb * MEBIBYTE
    asked = CodeRequest(
        turn.conversation_id, turn.asked_by_id, arguments[_CODE], seconds, max_chars, turn.files, env.files_of_answer, max_bytes
    )
    outcome = await executor().run(asked)
    stored: list[StoredFileInfo] = []
    left_out = list(outcome.copied_out.left_out)
    for made in outcome.copied_out.made:
        try:
            stored += [await turn.files.store(made)] if turn.files else []
        except FileNotStoredError as error:
            left_out.append((made.name, str(error)))
    return reply(outcome, stored, left_out)


def _note() -> str:
    """What the model is told of the packages."""
    has = installed_packages()
    return f"Installed: {', '.join(has)}; no other packages can be installed." if has else ""


def installed_packages() -> tuple[str, ...]:
    """The packages that code can import, with their versions, as far as they are known. Does not wait."""
    return _packages_of_service() if environment().python_service_url else availability.packages()


def _packages_of_service() -> tuple[str, ...]:
    """The packages that the service has named; until it has answered, none."""
    asked = _asked_service()
    return asked.result() if asked.done() else ()


@cache
def _asked_service() -> Future[tuple[str, ...]]:
    env = environment()
    return execution.run_on_tools_loop(Service(env.python_service_url, env.python_service_key).packages())


@cache
def executor() -> Sessions | Service:
    """The executor of this process. It belongs to the event loop of the tools, on which it is created."""
    env = environment()
    if env.python_service_url:
        return Service(env.python_service_url, env.python_service_key)
    # Some space is left for files that the code creates itself.
    max_copied_bytes = env.python_data_mb * MEBIBYTE * 3 // 4
    limits = SessionLimits(env.python_interpreters, _INTERPRETERS_OF_PERSON, _IDLE_SECONDS, max_copied_bytes)
    return Sessions(lambda: Interpreter.start(availability.launch()), limits)


def forget_from_thread(*conversations: UUID) -> Sequence[Future[None]]:
    """End the interpreters of deleted conversations, in this process or at the service. Those of other processes end after their idle time.
    Returns what may be waited for."""
    return [execution.run_on_tools_loop(_forget(conversations))] if conversations and _may_be_kept() else ()


def forget_ended_from_thread(conversation_id: UUID) -> None:
    """End the interpreter for a program's finished conversation, if its code ever ran in this process."""
    if executor.cache_info().currsize and executor().has(conversation_id):
        execution.run_on_tools_loop(_forget([conversation_id]))


def forget_files_from_thread(conversation_id: UUID, names: Sequence[str]) -> None:
    """Remove files that a person has deleted from the conversation's interpreter, in this process or at the service."""
    if _may_be_kept():
        execution.run_on_tools_loop(executor().delete_files(conversation_id, tuple(names)))


def _may_be_kept() -> bool:
    """Whether there may be interpreters. A service has those of all processes, so a process that ran no code must notify it, too."""
    env = environment()
    return bool(executor.cache_info().currsize) or (bool(env.python_service_url) and availability.RECIPIENT in env.tools)


async def _forget(conversations: Sequence[UUID]) -> None:
    """Run this on the event loop of the tools, to which the executor belongs."""
    await asyncio.gather(*(executor().forget(each) for each in conversations))


PYTHON = Tool(
    "run_python",
    _DESCRIPTION,
    _SCHEMA,
    is_async=True,
    label="Working something out in Python",
    source="chatui",
    recipient="python",
    code_argument=_CODE,
    begin=lambda turn: partial(run, turn),
    is_ready=availability.is_on,
    note=_note,
    title="Run Python code",
    reads_private_data=False,
    sends_outside=False,
)
