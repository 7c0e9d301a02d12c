"""Reads a conversation of a DeepSeek export: a ``mapping`` of nodes as ChatGPT has, each message with ``fragments``.

Visible there: what the person asked (REQUEST) and the answer (RESPONSE). Everything else is hidden.
"""

from __future__ import annotations

from chatui.models.conversation import ImportSource
from chatui.transfer.other_products import frames
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, ExportedConversation, Node, Object, time_of
from renderer.frames import Frame
from renderer.strict_json import list_of, object_of, text_of


def is_conversation(value: Object) -> bool:
    return any(
        isinstance(object_of(object_of(node).get("message")).get("fragments"), list) for node in object_of(value.get("mapping")).values()
    )


def read(value: Object) -> ExportedConversation:
    counts = Counts()
    rows = [(key, object_of(node)) for key, node in object_of(value["mapping"]).items()]
    messages = [object_of(row.get("message")) for _, row in rows]
    nodes = [
        Node(key, text_of(row.get("parent")) or None, _frames(message, counts), at=time_of(message.get("inserted_at")))
        for (key, row), message in zip(rows, messages, strict=True)
    ]
    return ExportedConversation(
        source=ImportSource.DEEPSEEK,
        nodes=nodes,
        title=text_of(value.get("title")),
        model=next((model for message in reversed(messages) if (model := text_of(message.get("model")))), ""),
        created_at=time_of(value.get("inserted_at")),
        active_at=time_of(value.get("updated_at")),
        left_out=counts,
    )


def _frames(message: Object, counts: Counts) -> tuple[Frame, ...]:
    for file in list_of(message.get("files")):
        counts[frames.kind_of_file(object_of(file))] += 1
    if message and not isinstance(message.get("fragments"), list):
        counts[DroppedKind.UNREADABLE] += 1
    written = list[Frame]()
    for fragment in map(object_of, list_of(message.get("fragments"))):
        kind, text = text_of(fragment.get("type")), text_of(fragment.get("content"))
        if frames.is_labelled(fragment) or frames.is_labelled(message):
            written += frames.hidden(DroppedKind.REASONING, text, counts)
        elif kind == "REQUEST":
            written += frames.question(text)
        elif kind == "RESPONSE":
            written += frames.answer(text, counts)
        elif kind in _HIDDEN:
            written += frames.hidden(_HIDDEN[kind], text or kind, counts)
        else:
            counts[DroppedKind.UNKNOWN_PART] += 1
    return tuple(written)


_HIDDEN = {
    "THINK": DroppedKind.REASONING,
    "SEARCH": DroppedKind.TOOL_RESULT,
    "TOOL_SEARCH": DroppedKind.TOOL_CALL,
    "TOOL_OPEN": DroppedKind.TOOL_CALL,
    "READ_LINK": DroppedKind.TOOL_CALL,
}
