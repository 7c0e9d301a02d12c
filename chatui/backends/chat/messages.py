"""Writes the conversation history as the ``messages`` of a Chat Completions request, with markers escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chatui.backends.answer_format import function_call
from chatui.backends.base import GivenReasoning
from chatui.backends.speaker import defang
from renderer.frame_kinds import is_answer, is_preamble
from renderer.frames import Channel, Frame, Role, Terminator

Message = dict[str, object]
_BESIDE_NO_TEXT = ("reasoning_content", "thinking")
"""Reasoning fields of servers that use gpt-oss's own template, which refuses a second text in the message of a call."""


def messages(
    frames: Iterable[Frame], cut_answer: Frame | None = None, given_back: Mapping[str, GivenReasoning] | None = None
) -> list[Message]:
    """One message for each question and answer, and one pair of messages for each call and its reply.

    System and developer frames become one ``system`` message, the only form that all servers accept. ``cut_answer``, the answer to be
    continued, is the last message. Reasoning is sent back only with that message, or with a call that has no answer yet, as
    ``reasoning_content`` or in the fields in which the server gave it (``given_back``, by call id). A preamble is joined to what follows
    it, because servers refuse a second text in a message with a call and reasoning. Calls without a reply and replies without a call are
    left out.
    """
    writer = _Writer(frames, given_back or {})
    return writer.write(cut_answer)


class _Writer:
    def __init__(self, frames: Iterable[Frame], given_back: Mapping[str, GivenReasoning]) -> None:
        self._frames = tuple(frames)
        self._given_back = given_back
        self._replies = {frame.header.call_id: frame for frame in self._frames if frame.header.role == Role.TOOL}
        self._instructions: list[str] = []
        self._messages: list[Message] = []
        self._preamble: list[str] = []
        self._reasoning: list[str] = []

    def write(self, cut_answer: Frame | None) -> list[Message]:
        for frame in self._frames:
            self._take(frame)
        if cut_answer is not None:
            self._open_answer(cut_answer)
        self._flush_preamble()
        if not self._instructions:
            return self._messages
        return [{"role": "system", "content": "\n\n".join(self._instructions)}, *self._messages]

    def _take(self, frame: Frame) -> None:
        match frame.header.role:
            case Role.SYSTEM | Role.DEVELOPER:
                self._instructions.append(defang(frame.body))
            case Role.USER:
                self._flush_preamble()
                self._reasoning.clear()
                self._messages.append({"role": "user", "content": defang(frame.body)})
            case Role.ASSISTANT:
                self._take_assistant(frame)

    def _take_assistant(self, frame: Frame) -> None:
        header = frame.header
        if frame.terminator is Terminator.CALL:
            self._take_call(frame)
        elif header.channel == Channel.ANALYSIS:
            self._reasoning.append(defang(frame.body))
        elif is_preamble(header):
            self._preamble.append(defang(frame.body))
        elif is_answer(header):
            self._preamble.append(defang(frame.body))
            self._flush_preamble()
            self._reasoning.clear()

    def _take_call(self, frame: Frame) -> None:
        """Each call is followed by its own reply: gpt-oss templates support one call per message."""
        header = frame.header
        reply = self._replies.get(header.call_id)
        if reply is None or header.channel != Channel.COMMENTARY:
            return
        name, arguments = function_call(frame)
        function = {"name": name, "arguments": defang(arguments)}
        call: Message = {"role": "assistant", "tool_calls": [{"id": header.call_id, "type": "function", "function": function}]}
        given = self._given_back.get(header.call_id or "")
        if given is not None:
            call |= _as_given(given, self._preamble)
        elif self._reasoning:
            call["reasoning_content"] = "\n\n".join([*self._reasoning, *self._preamble])
        elif self._preamble:
            call["content"] = "\n\n".join(self._preamble)
        self._reasoning, self._preamble = [], []
        self._messages += [call, {"role": "tool", "tool_call_id": header.call_id, "content": defang(reply.body)}]

    def _open_answer(self, cut_answer: Frame) -> None:
        answer: Message = {"role": "assistant", "content": "\n\n".join([*self._preamble, defang(cut_answer.body)])}
        if self._reasoning:
            answer["reasoning_content"] = "\n\n".join(self._reasoning)
        self._messages.append(answer)
        self._preamble = []

    def _flush_preamble(self) -> None:
        if self._preamble:
            self._messages.append({"role": "assistant", "content": "\n\n".join(self._preamble)})
            self._preamble = []


def _as_given(given: GivenReasoning, preamble: list[str]) -> Message:
    """The reasoning in the server's own fields. Only text is defanged: a signed or encrypted part would become invalid."""
    fields: Message = {name: defang(value) if isinstance(value, str) else value for name, value in given.fields.items()}
    joined = next((name for name in _BESIDE_NO_TEXT if name in fields), None)
    if not preamble:
        return fields
    if joined is not None:
        return fields | {joined: "\n\n".join([str(fields[joined]), *preamble])}
    return fields | {"content": "\n\n".join(preamble)}
