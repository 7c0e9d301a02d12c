"""Reads calls from the frames that a model wrote: which have no reply yet, and whether they can be carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatui.env import environment
from chatui.tools import arguments, replies
from chatui.tools.replies import Provenance, Reply
from chatui.tools.tool import Tool, ToolUnusableError
from renderer.errors import Code, OpenChatMLError
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.ocml.calls import FUNCTIONS, read_call

ARGUMENT_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class Requested:
    """A call that can be carried out: its frame, its tool, its arguments as they were checked, and how many seconds it may take."""

    frame: Frame = field(repr=False)
    tool: Tool
    arguments: Mapping[str, Any] = field(repr=False)
    seconds: float

    @property
    def call_id(self) -> str:
        """The id of the call."""
        return self.frame.header.call_id or ""

    def provenance(self, milliseconds: int | None = None) -> Provenance:
        """Where its reply comes from."""
        return Provenance(f"{self.tool.source}:{self.tool.name}", milliseconds)


def unanswered(frames: Sequence[Frame]) -> list[Frame]:
    """The calls among these frames that have no reply, in order."""
    replied = {frame.header.call_id for frame in frames if frame.header.role == Role.TOOL}
    return [frame for frame in frames if frame.terminator is Terminator.CALL and frame.header.call_id not in replied]


def requested(frame: Frame, tools: Mapping[str, Tool]) -> Requested | Reply:
    """The call in a frame; or a reply that says why it cannot be carried out, in words that the model can act on."""
    recipient = frame.header.recipient or ""
    tool = tools.get(recipient.removeprefix(FUNCTIONS)) if recipient.startswith(FUNCTIONS) else None
    if tool is None:
        return _refused(f"There is no tool {recipient}. {_named(tools)}")
    if frame.header.channel != Channel.COMMENTARY:
        return _refused("Functions are called on the commentary channel.")
    if len(frame.body) > ARGUMENT_CHARS:
        return _refused("The arguments are too long.")
    try:
        call = read_call(frame)
        if not isinstance(call.arguments, dict):
            return _refused("The arguments are no JSON object.")
        wrong = arguments.fault(tool.parameters, call.arguments)
    except OpenChatMLError as error:
        return _refused(f"The call could not be read: {error.hint}. The arguments must be one JSON object.")
    except ToolUnusableError:
        return _refused("This tool cannot be used at the moment.")
    if wrong:
        return _refused(f"The arguments do not fit the tool: {wrong}.")
    ceiling = environment().tool_seconds
    wanted = ceiling if call.deadline_ms is None else call.deadline_ms / 1000
    return Requested(frame, tool, call.arguments, min(ceiling, tool.seconds or ceiling, wanted))


def reply_frame(call: Header, reply: Reply) -> Frame:
    """The frame of a reply: it echoes the call's id and its channel (specification section 8.2; Harmony answers on the same channel)."""
    channel = call.channel if call.channel in (Channel.ANALYSIS, Channel.COMMENTARY) else Channel.COMMENTARY
    header = Header(Role.TOOL, channel, recipient=Role.ASSISTANT.value, call_id=call.call_id, name=call.recipient)
    return Frame(header, reply.text)


def _refused(sentence: str) -> Reply:
    return replies.failed(Code.CALL_SCHEMA, sentence, Provenance("chatui"))


def _named(tools: Mapping[str, Tool]) -> str:
    return f"The tools are: {', '.join(FUNCTIONS + name for name in tools)}." if tools else "No tools can be used here."
