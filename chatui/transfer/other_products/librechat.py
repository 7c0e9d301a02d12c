"""Reads a LibreChat export: one conversation, its messages in a list with ``parentMessageId``, or each with its ``children``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatui.models.conversation import ImportSource
from chatui.transfer.other_products import frames
from chatui.transfer.other_products.conversation_tree import (
    Counts,
    DroppedKind,
    ExportedConversation,
    Node,
    Object,
    is_set,
    time_of,
)
from renderer.frames import Frame
from renderer.strict_json import JsonValue, list_of, loads, object_of, text_of


def is_conversation(value: Object) -> bool:
    has_messages = isinstance(value.get("messages"), list) or isinstance(value.get("messagesTree"), list)
    return "conversationId" in value and "header" not in value and has_messages


def read(value: Object) -> ExportedConversation:
    counts, options = Counts(), object_of(value.get("options"))
    rows = list(_flat(list_of(value.get("messages")) or list_of(value.get("messagesTree"))))
    nodes = [
        Node(text_of(row.get("messageId")), parent, _frames(row, counts), not is_set(row.get("unfinished")), time_of(row.get("createdAt")))
        for row, parent in rows
    ]
    for name in ("promptPrefix", "system", "instructions", "additional_instructions"):
        frames.hidden(DroppedKind.INSTRUCTIONS, text_of(options.get(name)), counts)
    times = [node.at for node in nodes if node.at]
    return ExportedConversation(
        source=ImportSource.LIBRECHAT,
        nodes=nodes,
        title=text_of(value.get("title")),
        model=text_of(options.get("model")) or next((found for row, _ in rows if (found := text_of(row.get("model")))), ""),
        created_at=min(times, default=None),
        active_at=max(times, default=None),
        left_out=counts,
    )


def _flat(messages: list[JsonValue]) -> Iterator[tuple[Object, str | None]]:
    """Each message with the key of its parent: the message that contains it, or else its ``parentMessageId``."""
    waiting: list[tuple[JsonValue, str | None]] = [(message, None) for message in reversed(messages)]
    while waiting:
        message, parent = waiting.pop()
        row = object_of(message)
        yield row, parent or text_of(row.get("parentMessageId")) or None
        key = text_of(row.get("messageId")) or None
        waiting += [(child, key) for child in reversed(list_of(row.get("children")))]


def _frames(message: Object, counts: Counts) -> tuple[Frame, ...]:
    by_user, sender = message.get("isCreatedByUser"), text_of(message.get("sender")).casefold()
    if not isinstance(by_user, bool) or is_set(message.get("error")):
        counts[DroppedKind.UNREADABLE] += 1
        return ()
    for file in (*list_of(message.get("files")), *list_of(message.get("attachments"))):
        counts[DroppedKind.IMAGE if "image" in text_of(object_of(file).get("type")) else DroppedKind.FILE] += 1
    if sender in ("system", "developer"):
        return frames.hidden(DroppedKind.INSTRUCTIONS, text_of(message.get("text")), counts)
    hidden, texts = list[Frame](), list[str]()
    written = text_of(message.get("text"))
    if not message.get("content") and not by_user and _LIST.match(written) and _HIDDEN_PART.search(written):
        parts = _parts_in(written)
        if parts is None:
            return frames.hidden(DroppedKind.REASONING, written, counts)
    else:
        parts = list_of(message.get("content"))
    for part in parts:
        hidden += _part(object_of(part), texts, counts)
    text = frames.joined(texts) if parts else written
    is_thought = sender != text_of(message.get("model")).casefold() and frames.is_named_for_reasoning(sender)
    if not by_user and (is_thought or frames.is_labelled(message)):
        return (*hidden, *frames.hidden(DroppedKind.REASONING, text, counts))
    return (*hidden, *(frames.question(text) if by_user else frames.answer(text, counts)))


_LIST = re.compile(r"\s*\[\s*\{")
_HIDDEN_PART = re.compile(r"""["']type["']\s*:\s*["'](?:think|thinking|reasoning|tool_call)["']""")
"""In a text that begins as the parts of a message do, written out."""


def _parts_in(text: str) -> list[JsonValue] | None:
    """The parts that are written out as this text; None if it holds anything else."""
    try:
        return list_of(loads(text)) or None
    except ValueError:
        return None


def _part(part: Object, texts: list[str], counts: Counts) -> tuple[Frame, ...]:
    """The hidden frames of one part; its visible text is added to ``texts``."""
    kind = text_of(part.get("type"))
    match kind:
        case "text" | "output_text" if not frames.is_labelled(part):
            texts.append(_words(part.get("text")))
        case "think" | "thinking" | "reasoning":
            return frames.hidden(DroppedKind.REASONING, _words(part.get(kind)) or _words(part.get("text")), counts)
        case "tool_call":
            call = object_of(part.get("tool_call"))
            return (
                *frames.hidden(DroppedKind.TOOL_CALL, frames.joined((text_of(call.get("name")), _words(call.get("args")))), counts),
                *frames.hidden(DroppedKind.TOOL_RESULT, _words(call.get("output")), counts),
            )
        case _:
            counts[DroppedKind.IMAGE if "image" in kind else DroppedKind.UNKNOWN_PART] += 1
    return ()


def _words(value: JsonValue) -> str:
    """Text, given directly or in an object under ``value``."""
    return text_of(value) or text_of(object_of(value).get("value"))
