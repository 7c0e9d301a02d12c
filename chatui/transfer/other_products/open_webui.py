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
    folder = text_of(object_of(value.get("folder")).get("name"))
    counts[DroppedKind.FOLDER] += not folder and is_set(value.get("folder_id"))
    counts[DroppedKind.TAG] += len(
        {*map(text_of, list_of(object_of(value.get("meta")).get("tags"))), *map(text_of, list_of(chat.get("tags")))}
    )
    return ExportedConversation(
        source=ImportSource.OPEN_WEBUI,
        nodes=nodes,
        current=text_of(history.get("currentId")) if messages else (nodes[-1].key if nodes else ""),
        title=text_of(chat.get("title")) or text_of(value.get("title")),
        model=next(map(text_of, list_of(chat.get("models"))), ""),
        created_at=time_of(value.get("created_at")) or time_of(chat.get("timestamp")),
        active_at=time_of(value.get("updated_at")),
        left_out=counts,
        is_archived=is_set(value.get("archived")),
        is_pinned=is_set(value.get("pinned")),
        folder=folder,
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
        counts[frames.kind_of_file(object_of(file))] += 1
    counts[DroppedKind.ERROR] += is_set(message.get("error"))
    counts[DroppedKind.UNKNOWN_PART] += is_set(message.get("merged"))
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
    return (*thought, *frames.answer(frames.joined((text, _sources(message, counts))), counts))


def _sources(message: Object, counts: Counts) -> str:
    """The list of the answer's sources, which its numbers in brackets mean."""
    lines = list[str]()
    for number, source in enumerate(map(object_of, list_of(message.get("sources")) or list_of(message.get("citations"))), 1):
        about = object_of(source.get("source"))
        name = text_of(about.get("name"))
        addresses = [text_of(about.get("url")), *(text_of(object_of(each).get("source")) for each in list_of(source.get("metadata"))), name]
        links = filter(None, (frames.link(address, name) for address in addresses))
        if entry := next(links, "") or frames.plain(name):
            lines.append(f"{number}. {entry}")
        else:
            counts[DroppedKind.CITATION] += 1
    return "\n".join(lines)


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
