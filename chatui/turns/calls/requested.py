"""Reads tool calls from a model's frames: which have no reply yet, and whether they can be executed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chatui.env import environment
from chatui.json_schemas import UnusableError, fault, without_nulls
from chatui.tools import replies
from chatui.tools.replies import Provenance, ToolReply
from chatui.tools.tool import Tool
from renderer.errors import Code, OpenChatMLError
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.ocml.calls import FUNCTIONS, read_call

ARGUMENT_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class Requested:
    """A call that can be run: its frame, its tool, its checked arguments, how many seconds it may take, and who receives the arguments
    (``Foreseen``), once that was asked."""

    frame: Frame = field(repr=False)
    tool: Tool
    arguments: Mapping[str, Any] = field(repr=False)
    seconds: float
    receiver: str = ""

    @property
    def call_id(self) -> str:
        return self.frame.header.call_id or ""

    def provenance(self, milliseconds: int | None = None) -> Provenance:
        return Provenance(f"{self.tool.source}:{self.tool.name}", milliseconds)


def unanswered(frames: Sequence[Frame]) -> list[Frame]:
    """The calls among these frames that have no reply, in order."""
    replied = {frame.header.call_id for frame in frames if frame.header.role == Role.TOOL}
    return [frame for frame in frames if frame.terminator is Terminator.CALL and frame.header.call_id not in replied]


def requested(frame: Frame, tools: Mapping[str, Tool], *, over_ids: bool) -> Requested | ToolReply:
    """The call in a frame; or, if it cannot be run, a reply that says why, so that the model can correct it.

    ``over_ids``: the model reads prompts of token ids, in which a built-in tool has the name that it was trained with.
    """
    recipient = frame.header.recipient or ""
    tool = _called(recipient, tools)
    if tool is None:
        return _refused(f"There is no tool {recipient}. {_named(tools, over_ids=over_ids)}")
    if frame.header.channel not in _channels(recipient):
        return _refused(f"This tool is called on the {' or '.join(_channels(recipient))} channel.")
    if len(frame.body) > ARGUMENT_CHARS:
        return _refused("The arguments are too long.")
    try:
        call = read_call(_as_json(frame, tool))
        if not isinstance(call.arguments, dict):
            return _refused("The arguments are no JSON object.")
        arguments = call.arguments if tool.is_run_by_caller else without_nulls(tool.parameters, call.arguments)
        wrong = fault(tool.parameters, arguments) or (tool.fault(arguments) if tool.fault else None)
    except OpenChatMLError as error:
        return _refused(f"The call could not be read: {error.hint}. The arguments must be one JSON object.")
    except UnusableError:
        return _refused("This tool cannot be used at the moment.")
    if wrong:
        return _refused(f"The arguments do not fit the tool: {wrong}.")
    ceiling = environment().tool_seconds
    wanted = ceiling if call.deadline_ms is None else call.deadline_ms / 1000
    return Requested(frame, tool, arguments, min(ceiling, tool.seconds or ceiling, wanted))


def _called(recipient: str, tools: Mapping[str, Tool]) -> Tool | None:
    """The tool with this recipient. Servers differ: a built-in tool may be called as a function by its own name or by its trained name."""
    name = recipient.removeprefix(FUNCTIONS)
    if recipient.startswith(FUNCTIONS) and name in tools:
        return tools[name]
    return next((tool for tool in tools.values() if tool.recipient == name), None)


def _channels(recipient: str) -> tuple[str, ...]:
    """The channels for calls to this recipient: only commentary for functions, because a call on analysis would send reasoning away."""
    return (Channel.COMMENTARY,) if recipient.startswith(FUNCTIONS) else (Channel.ANALYSIS, Channel.COMMENTARY)


def _as_json(frame: Frame, tool: Tool) -> Frame:
    """The call with its arguments as JSON. gpt-oss sends built-in tools JSON that it declares as code, and sends ``python`` real code."""
    header = frame.header
    if (header.recipient or "").removeprefix(FUNCTIONS) != tool.recipient or (header.constrain or "").lower() == "json":
        return frame
    body = json.dumps({tool.code_argument: frame.body}) if tool.code_argument else frame.body
    return replace(frame, header=replace(header, constrain="json"), body=body)


def reply_frame(call: Header, reply: ToolReply) -> Frame:
    """The frame of a reply. It has the call's id and channel (specification section 8.2; Harmony replies on the same channel)."""
    channel = call.channel if call.channel in (Channel.ANALYSIS, Channel.COMMENTARY) else Channel.COMMENTARY
    header = Header(Role.TOOL, channel, recipient=Role.ASSISTANT.value, call_id=call.call_id, name=call.recipient)
    return Frame(header, reply.text)


def _refused(sentence: str) -> ToolReply:
    return replies.failed(Code.CALL_SCHEMA, sentence, Provenance("chatui"))


def _named(tools: Mapping[str, Tool], *, over_ids: bool) -> str:
    """A sentence that lists the tools by the names in the prompt: over token ids, built-in tools are not functions."""
    names = [(tool.recipient if over_ids else None) or FUNCTIONS + name for name, tool in tools.items()]
    return f"The tools are: {', '.join(names)}." if names else "No tools can be used here."
