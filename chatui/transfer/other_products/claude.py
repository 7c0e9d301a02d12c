"""Reads a conversation of a Claude export: ``chat_messages``, each with parts in ``content``.

Visible there: text, and documents that Claude wrote beside the conversation (artifacts). Thinking, tool calls and their results are hidden,
and so is everything of a kind that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatui.models.conversation import ImportSource
from chatui.transfer.other_products import artifacts, frames
from chatui.transfer.other_products.artifacts import ChangedArtifacts
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, ExportedConversation, Node, Object, is_set, time_of
from renderer.frames import Frame
from renderer.strict_json import JsonValue, list_of, object_of, text_of


def is_conversation(value: Object) -> bool:
    return isinstance(value.get("chat_messages"), list)


def read(value: Object) -> ExportedConversation:
    counts = Counts()
    messages = [object_of(message) for message in list_of(value["chat_messages"])]
    keys = [text_of(message.get("uuid")) or f"#{number}" for number, message in enumerate(messages)]
    parents = list(_parents(messages, keys))
    changed = artifacts.changed(messages, keys, parents)
    nodes = [
        Node(key, parent, _frames(message, number, changed, counts), at=time_of(message.get("created_at")))
        for number, (key, parent, message) in enumerate(zip(keys, parents, messages, strict=True))
    ]
    return ExportedConversation(
        source=ImportSource.CLAUDE,
        nodes=nodes,
        current=text_of(value.get("current_leaf_message_uuid")),
        title=text_of(value.get("name")),
        model=text_of(value.get("model")),
        created_at=time_of(value.get("created_at")),
        active_at=time_of(value.get("updated_at")),
        left_out=counts,
        is_pinned=is_set(value.get("is_starred")),
        folder=text_of(object_of(value.get("project")).get("name")),
    )


def _parents(messages: list[Object], keys: list[str]) -> Iterator[str | None]:
    known = {text_of(message.get("uuid")) for message in messages}
    for number, message in enumerate(messages):
        # Older exports do not say which message is answered: their messages are in order.
        above = text_of(message.get("parent_message_uuid"))
        yield above if above in known else None if above or not number else keys[number - 1]


def _frames(message: Object, number: int, changed: ChangedArtifacts, counts: Counts) -> tuple[Frame, ...]:
    sender = text_of(message.get("sender"))
    if sender not in ("human", "assistant"):
        counts[DroppedKind.UNREADABLE] += 1
        return ()
    for file in (*list_of(message.get("attachments")), *list_of(message.get("files")), *list_of(message.get("files_v2"))):
        counts[frames.kind_of_file(object_of(file))] += 1
    parts = list_of(message.get("content"))
    hidden, texts = list[Frame](), list[str]()
    if not parts:
        hidden += _text(text_of(message.get("text")), texts, counts)
    for at, part in enumerate(map(object_of, parts)):
        if artifacts.is_call(part):
            artifacts.put(part, changed.get((number, at)), texts, counts)
        else:
            hidden += _part(part, texts, counts)
    text = frames.joined(texts)
    if sender == "human":
        return (*hidden, *frames.question(text))
    if frames.is_labelled(message):
        return (*hidden, *frames.hidden(DroppedKind.REASONING, text, counts))
    return (*hidden, *frames.answer(text, counts))


def _part(part: Object, texts: list[str], counts: Counts) -> tuple[Frame, ...]:
    """The hidden frames of one part; its visible text is added to ``texts``."""
    match text_of(part.get("type")):
        case "text" if not frames.is_labelled(part):
            links = [link for each in list_of(part.get("citations")) if (link := _citation(object_of(each)))]
            hidden = _text(text_of(part.get("text")), texts, counts)
            texts += [f"({', '.join(dict.fromkeys(links))})"] if links else []
            return hidden
        case "thinking" | "redacted_thinking":
            return frames.hidden(DroppedKind.REASONING, text_of(part.get("thinking")) or text_of(part.get("data")), counts)
        case "tool_use":
            return frames.hidden(DroppedKind.TOOL_CALL, _call_text(part), counts)
        case "tool_result":
            return frames.hidden(DroppedKind.TOOL_RESULT, _texts_in(part.get("content")), counts)
        case "token_budget":  # a number
            return ()
        case kind:
            counts[DroppedKind.IMAGE if "image" in kind else DroppedKind.UNKNOWN_PART] += 1
            return ()


def _call_text(call: Object) -> str:
    return frames.joined((text_of(call.get("name")), *map(text_of, object_of(call.get("input")).values()))) or "call"


def _citation(citation: Object) -> str:
    details = object_of(citation.get("details"))
    return frames.link(text_of(citation.get("url")) or text_of(details.get("url")), text_of(citation.get("title")))


# Claude wrote its thoughts about artifacts into the text, and its page left them out.
_THOUGHT = re.compile(r"<antThinking\b([^>]*+)(?:>(.*?)(?:</antThinking\s*>|\Z)|\Z)", re.IGNORECASE | re.DOTALL)
_ARTIFACT = re.compile(r"</?antArtifact\b[^>]*+>", re.IGNORECASE)


def _text(text: str, texts: list[str], counts: Counts) -> tuple[Frame, ...]:
    """Add the visible text; returns frames with the thoughts in it."""
    thoughts = [found[2] if found[2] is not None else found[1] for found in _THOUGHT.finditer(text)]
    texts.append(_ARTIFACT.sub("", _THOUGHT.sub("", text)))
    return tuple(frame for thought in thoughts for frame in frames.hidden(DroppedKind.REASONING, thought, counts))


def _texts_in(value: JsonValue) -> str:
    return text_of(value) or frames.joined(text_of(object_of(part).get("text")) or "result" for part in list_of(value))
