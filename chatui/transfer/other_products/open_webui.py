"""Reads a conversation of an Open WebUI export: ``chat`` with a ``history`` of messages, or in old exports a list of them."""

from __future__ import annotations

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
from renderer.strict_json import JsonValue, list_of, object_of, text_of


def is_conversation(value: Object) -> bool:
    chat = object_of(value.get("chat"))
    return isinstance(object_of(chat.get("history")).get("messages"), dict) or isinstance(chat.get("messages"), list)


def read(value: Object) -> ExportedConversation:
    chat, counts = object_of(value["chat"]), Counts()
    history = object_of(chat.get("history"))
    messages = object_of(history.get("messages"))
    nodes = (
        [_node(key, message, counts) for key, message in messages.items()] if messages else _chain(list_of(chat.get("messages")), counts)
    )
    frames.hidden(DroppedKind.INSTRUCTIONS, text_of(object_of(chat.get("params")).get("system")) or text_of(chat.get("system")), counts)
    return ExportedConversation(
        source=ImportSource.OPEN_WEBUI,
        nodes=nodes,
        current=text_of(history.get("currentId")) if messages else (nodes[-1].key if nodes else ""),
        title=text_of(chat.get("title")) or text_of(value.get("title")),
        model=next(map(text_of, list_of(chat.get("models"))), ""),
        created_at=time_of(value.get("created_at")) or time_of(chat.get("timestamp")),
        active_at=time_of(value.get("updated_at")),
        left_out=counts,
    )


def _chain(messages: list[JsonValue], counts: Counts) -> list[Node]:
    """The messages of an export without a history, each the parent of the next."""
    nodes: list[Node] = []
    for number, message in enumerate(messages):
        node = _node(str(number), message, counts)
        nodes.append(Node(node.key, nodes[-1].key if nodes else None, node.frames, node.is_complete, node.at))
    return nodes


def _node(key: str, value: JsonValue, counts: Counts) -> Node:
    message = object_of(value)
    parent = text_of(message.get("parentId")) or None
    return Node(key, parent, _frames(message, counts), message.get("done") is not False, time_of(message.get("timestamp")))


def _frames(message: Object, counts: Counts) -> tuple[Frame, ...]:
    role, text = text_of(message.get("role")), _text(message.get("content"), counts)
    if role not in _HIDDEN_ROLES and role not in ("user", "assistant"):
        counts[DroppedKind.UNREADABLE] += 1
        return ()
    for file in list_of(message.get("files")):
        counts[DroppedKind.IMAGE if text_of(object_of(file).get("type")) == "image" else DroppedKind.FILE] += 1
    if role in _HIDDEN_ROLES:
        return frames.hidden(_HIDDEN_ROLES[role], text, counts)
    if is_set(message.get("hidden")) or (role == "user" and frames.is_labelled({"visible": message.get("visible")})):
        return frames.hidden(DroppedKind.HIDDEN, text, counts)
    if role == "user":
        return frames.question(text)
    if frames.is_labelled(message):
        return frames.hidden(DroppedKind.REASONING, text, counts)
    thought = frames.hidden(DroppedKind.REASONING, text_of(message.get("reasoning_content")) or text_of(message.get("reasoning")), counts)
    counts[DroppedKind.TOOL_CALL] += len(list_of(message.get("tool_calls")))
    return (*thought, *frames.answer(text, counts))


def _text(content: JsonValue, counts: Counts) -> str:
    """The text of a message, whose content may be a list of parts, as in requests to model servers."""
    if isinstance(content, str):
        return content
    texts = list[str]()
    for part in map(object_of, list_of(content)):
        kind = text_of(part.get("type"))
        if kind == "text" and not frames.is_labelled(part):
            texts.append(text_of(part.get("text")))
        else:
            counts[DroppedKind.IMAGE if "image" in kind else DroppedKind.UNKNOWN_PART] += 1
    if not isinstance(content, list) and content is not None:
        counts[DroppedKind.UNREADABLE] += 1
    return frames.joined(texts)


_HIDDEN_ROLES = {
    "system": DroppedKind.INSTRUCTIONS,
    "developer": DroppedKind.INSTRUCTIONS,
    "tool": DroppedKind.TOOL_RESULT,
    "function": DroppedKind.TOOL_RESULT,
}
