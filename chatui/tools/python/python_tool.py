"""The tool ``python`` as a model calls it: code in, what it wrote out, in an interpreter that a conversation keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Any
from uuid import UUID

from chatui.env import environment
from chatui.tools import execution
from chatui.tools.python import availability, wording
from chatui.tools.python.executors import Asked, Executor
from chatui.tools.python.interpreter import GRACE_SECONDS, Interpreter
from chatui.tools.python.service import Service
from chatui.tools.python.sessions import Room, Sessions
from chatui.tools.tool import CallingTurn, Tool, ToolError

_CODE = "code"
_NOTE_CHARS = 1500
"""Of a reply, for what is said beside the output."""
_LEAST_SECONDS = 1.0
_DESCRIPTION = (
    "Runs Python code in an interpreter that this conversation keeps between calls. The reply is what it prints, and the value of the "
    "last expression. Files go to /mnt/data. There is no internet access, and no other programs can be run."
)
_SCHEMA = {
    "type": "object",
    "properties": {_CODE: {"type": "string", "description": "Python source code"}},
    "required": [_CODE],
    "additionalProperties": False,
}


async def run(turn: CallingTurn, arguments: Mapping[str, Any]) -> str:
    """The reply to a call of a turn. The settings are checked here, not only where the tool is offered.

    Raises:
        ToolError: it could not be begun.
    """
    if not availability.is_on():
        raise ToolError("Python cannot be used at the moment.")
    env = environment()
    # So that an interrupt, which keeps the state, comes before the end of the call, which cannot.
    seconds = max(min(env.python_seconds, env.tool_seconds - 2 * GRACE_SECONDS), _LEAST_SECONDS)
    most_chars = max(env.tool_reply_chars - _NOTE_CHARS, _NOTE_CHARS)
    asked = Asked(turn.conversation_id, turn.asked_by_id, arguments[_CODE], seconds, most_chars)
    return wording.reply(await executor().run(asked))


@cache
def executor() -> Executor:
    """The one of this process. It belongs to the event loop of the tools, from which it is first asked."""
    env = environment()
    if env.python_service_url:
        return Service(env.python_service_url, env.python_service_key)
    room = Room(env.python_interpreters, env.python_interpreters_of_person, env.python_idle_minutes * 60)
    return Sessions(_start, room)


def forget_from_thread(conversation_id: UUID) -> None:
    """End what this process keeps for a conversation that was deleted. What another process keeps ends when it was idle for long enough."""
    if executor.cache_info().currsize:
        execution.soon(executor().forget(conversation_id))


async def _start() -> Interpreter:
    return await Interpreter.start(availability.launch())


def _begin(turn: CallingTurn) -> Callable[[Mapping[str, Any]], Awaitable[str]]:
    return partial(run, turn)


def _without_turn(arguments: Mapping[str, Any]) -> str:
    raise ToolError("Python can only be used in a conversation.")


PYTHON = Tool(
    "run_python",
    _DESCRIPTION,
    _SCHEMA,
    _without_turn,
    is_async=True,
    label="Working something out in Python",
    source="chatui",
    recipient="python",
    code_argument=_CODE,
    begin=_begin,
    is_ready=availability.is_on,
    title="Python",
    reads_private_data=False,
    sends_outside=False,
)
