"""Calls of a program's own functions and their results, as programs send them back, in both formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatui.api.errors import invalid, unsupported
from chatui.api.requests.messages import ParsedMessages, text_of
from chatui.tools.callers import NAME, model_name
from chatui.turns.requests.by_program import EarlierCall, EarlierReply

CALL_ID_CHARS = 128


def take_call(read: ParsedMessages, call_id: object, function: object, where: str) -> None:
    """A call: ``function`` has its name and its arguments."""
    name = function.get("name") if isinstance(function, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise invalid("A call has to have the name of a function.", param=f"{where}.name")
    if not isinstance(arguments, str):
        raise invalid("The arguments of a call have to be JSON as text.", param=f"{where}.arguments")
    read.calls.add(_id(call_id, where))
    read.messages.append(EarlierCall(_id(call_id, where), model_name(name), arguments))


def take_reply(read: ParsedMessages, call_id: object, output: Any, where: str) -> None:
    """The output of a function."""
    read.messages.append(EarlierReply(_id(call_id, where), text_of(output, where)))


def take_tool_calls(read: ParsedMessages, calls: object, where: str) -> None:
    """The calls in an assistant message of Chat Completions."""
    if not isinstance(calls, list):
        raise invalid("The calls have to be a list.", param=where)
    for place, call in enumerate(calls):
        at = f"{where}[{place}]"
        if not isinstance(call, Mapping) or call.get("type", "function") != "function":
            raise unsupported(at, "Only calls of functions can be gone on from.")
        take_call(read, call.get("id"), call.get("function"), at)


def _id(call_id: object, where: str) -> str:
    if not isinstance(call_id, str) or not 0 < len(call_id) <= CALL_ID_CHARS:
        raise invalid(f"A call has to have an id of at most {CALL_ID_CHARS} characters.", param=where)
    return call_id
