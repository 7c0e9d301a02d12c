"""Writes the conversation history as the ``messages`` of a Chat Completions request. What is told of it is the same for Responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from chatui.backends.answer_format import function_call
from chatui.backends.base import GivenReasoning
from chatui.backends.speaker import defang
from renderer.frame_kinds import is_answer, is_preamble
from renderer.frames import Channel, Frame, Header, Role, Terminator

Message = dict[str, object]
_BESIDE_NO_TEXT = ("reasoning_content", "thinking")
"""Reasoning fields of servers that use gpt-oss's own template, which refuses a second text in the message of a call."""


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call with its reply. ``given``: the reasoning before it as the server gave it."""

    call_id: str | None
    name: str
    arguments: str = field(repr=False)
    reply: str = field(repr=False)
    given: GivenReasoning | None


ConversationPart = tuple[Literal["question", "reasoning", "preamble", "answer"], str] | AnsweredCall


def orders(frames: Iterable[Frame]) -> list[str]:
    """The texts of system and developer frames, with markers escaped."""
    return [defang(frame.body) for frame in frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]


def conversation_parts(frames: Sequence[Frame], given_back: Mapping[str, GivenReasoning]) -> Iterator[ConversationPart]:
    """The conversation in them, with markers escaped. Calls without a reply and replies without a call are left out."""
    replies = {frame.header.call_id: frame.body for frame in frames if frame.header.role == Role.TOOL}
    for frame in frames:
        header, text = frame.header, defang(frame.body)
        if header.role == Role.USER:
            yield "question", text
        elif header.role != Role.ASSISTANT:
            continue
        elif frame.terminator is not Terminator.CALL:
            yield from _assistant_part(header, text)
        elif header.call_id in replies and header.channel == Channel.COMMENTARY:
            name, arguments = function_call(frame)
            reply, given = defang(replies[header.call_id]), given_back.get(header.call_id or "")
            yield AnsweredCall(header.call_id, name, defang(arguments), reply, given)


def _assistant_part(header: Header, text: str) -> Iterator[ConversationPart]:
    if header.channel == Channel.ANALYSIS:
        yield "reasoning", text
    elif is_preamble(header):
        yield "preamble", text
    elif is_answer(header):
        yield "answer", text


def messages(
    frames: Sequence[Frame], cut_answer: Frame | None = None, given_back: Mapping[str, GivenReasoning] | None = None
) -> list[Message]:
    """One message for each question and answer, and one pair of messages for each call and its reply: gpt-oss templates support one call
    per message.

    System and developer frames become one ``system`` message, the only form that all servers accept. ``cut_answer``, the answer to be
    continued, is the last message. Reasoning is sent back only with that message, or with a call that has no answer yet, as
    ``reasoning_content`` or in the fields in which the server gave it (``given_back``, by call id). A preamble is joined to what follows
    it, because servers refuse a second text in a message with a call and reasoning.
    """
    written: list[Message] = [{"role": "system", "content": "\n\n".join(texts)}] if (texts := orders(frames)) else []
    preamble: list[str] = []
    reasoning: list[str] = []
    for each in conversation_parts(frames, given_back or {}):
        match each:
            case "reasoning", text:
                reasoning.append(text)
                continue
            case "preamble", text:
                preamble.append(text)
                continue
            case "question", text:
                written += [*_of_texts(preamble), {"role": "user", "content": text}]
            case "answer", text:
                written += _of_texts([*preamble, text])
            case AnsweredCall() as call:
                written += _of_call(call, reasoning, preamble)
        preamble, reasoning = [], []
    written += _of_texts([*preamble, *([defang(cut_answer.body)] if cut_answer else [])])
    if cut_answer and reasoning:
        written[-1]["reasoning_content"] = "\n\n".join(reasoning)
    return written


def _of_texts(texts: list[str]) -> list[Message]:
    return [{"role": "assistant", "content": "\n\n".join(texts)}] if texts else []


def _of_call(call: AnsweredCall, reasoning: list[str], preamble: list[str]) -> list[Message]:
    function = {"name": call.name, "arguments": call.arguments}
    message: Message = {"role": "assistant", "tool_calls": [{"id": call.call_id, "type": "function", "function": function}]}
    if call.given is not None:
        message |= _as_given(call.given, preamble)
    elif reasoning:
        message["reasoning_content"] = "\n\n".join([*reasoning, *preamble])
    elif preamble:
        message["content"] = "\n\n".join(preamble)
    return [message, {"role": "tool", "tool_call_id": call.call_id, "content": call.reply}]


def _as_given(given: GivenReasoning, preamble: list[str]) -> Message:
    """The reasoning in the server's own fields. Only text is defanged: a signed or encrypted part would become invalid."""
    fields: Message = {name: defang(value) if isinstance(value, str) else value for name, value in given.fields.items()}
    field = next((name for name in _BESIDE_NO_TEXT if name in fields), None)
    if not preamble:
        return fields
    if field is not None:
        return fields | {field: "\n\n".join([str(fields[field]), *preamble])}
    return fields | {"content": "\n\n".join(preamble)}
