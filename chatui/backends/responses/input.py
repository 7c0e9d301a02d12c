"""Writes the conversation history as the ``input`` and ``instructions`` of a Responses request, with markers escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chatui.backends.base import GivenReasoning
from chatui.backends.defang import defang
from chatui.backends.responses.tools import function_call
from renderer.frame_kinds import is_answer, is_preamble
from renderer.frames import Channel, Frame, Intent, Role, Terminator

InputItem = dict[str, object]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The conversation as request fields.

    ``items``: the conversation, oldest first. ``instructions``: the text of system and developer frames; empty if there are none.
    """

    items: list[InputItem] = field(repr=False)
    instructions: str = field(repr=False)


def prompt(frames: Iterable[Frame], given_back: Mapping[str, GivenReasoning] | None = None) -> Prompt:
    """One item for each question, answer, preamble, call and reply.

    Reasoning goes back only before a call that has its reply and no answer yet; a final message or a new question drops it. Calls without a
    reply, replies without a call, and text for people or staff are left out. ``given_back``: the reasoning items before a call as the
    server gave them, which are sent back unchanged instead of items made from frames.
    """
    writer = _Writer(frames, given_back or {})
    return writer.write()


class _Writer:
    def __init__(self, frames: Iterable[Frame], given_back: Mapping[str, GivenReasoning]) -> None:
        self._frames = tuple(frames)
        self._given_back = given_back
        self._replies = {frame.header.call_id: frame for frame in self._frames if frame.header.role == Role.TOOL}
        self._instructions: list[str] = []
        self._items: list[InputItem] = []
        # Items since the last question, answer or call: sent back complete if a call follows, else without reasoning.
        self._loose: list[InputItem] = []

    def write(self) -> Prompt:
        for frame in self._frames:
            self._take(frame)
        self._settle()
        return Prompt(self._items, "\n\n".join(self._instructions))

    def _take(self, frame: Frame) -> None:
        match frame.header.role:
            case Role.SYSTEM | Role.DEVELOPER:
                self._instructions.append(defang(frame.body))
            case Role.USER:
                self._settle()
                self._items.append({"type": "message", "role": "user", "content": defang(frame.body)})
            case Role.ASSISTANT:
                self._take_assistant(frame)

    def _take_assistant(self, frame: Frame) -> None:
        header = frame.header
        if header.name or header.intent in (Intent.STATUS, Intent.DEBUG):
            return
        if frame.terminator is Terminator.CALL:
            self._take_call(frame)
        elif header.channel == Channel.ANALYSIS:
            self._loose.append(_reasoning(frame, len(self._items) + len(self._loose)))
        elif is_preamble(header):
            self._loose.append(_message_item(frame, "commentary"))
        elif is_answer(header):
            self._loose.append(_message_item(frame, None))
            self._settle()

    def _take_call(self, frame: Frame) -> None:
        header = frame.header
        reply = self._replies.get(header.call_id)
        if reply is None or header.channel != Channel.COMMENTARY:
            return
        name, arguments = function_call(frame)
        call: InputItem = {"type": "function_call", "call_id": header.call_id, "name": name, "arguments": defang(arguments)}
        output: InputItem = {"type": "function_call_output", "call_id": header.call_id, "output": defang(reply.body)}
        if given := self._given_back.get(header.call_id or ""):
            self._loose = [*given.items, *(item for item in self._loose if item["type"] != "reasoning")]
        self._items += [*self._loose, call, output]
        self._loose = []

    def _settle(self) -> None:
        """No call follows: reasoning is dropped, preambles stay."""
        self._items += [item for item in self._loose if item["type"] != "reasoning"]
        self._loose = []


def _message_item(frame: Frame, phase: str | None) -> InputItem:
    content = [{"type": "output_text", "text": defang(frame.body)}]
    item: InputItem = {"type": "message", "role": "assistant", "content": content}
    return {**item, "phase": phase} if phase else item


def _reasoning(frame: Frame, number: int) -> InputItem:
    """Some servers require an id. With ``store: false`` they know none of their own, so it only has to be unique."""
    content = [{"type": "reasoning_text", "text": defang(frame.body)}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "content": content}
