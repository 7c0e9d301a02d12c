"""Reads a conversation of a ChatGPT export: a ``mapping`` of nodes, each with a message, and the ``current_node``.

Visible there: text of people, and text of the assistant to the recipient ``all``, on no channel or ``final``, with a weight other than 0,
that is not marked as hidden. Everything else is hidden here.
"""

from __future__ import annotations

import re

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
    return isinstance(value.get("mapping"), dict)


def read(value: Object) -> ExportedConversation:
    counts = Counts()
    # A project has an id that begins like this, and the file has no name of it. Other ids are those of assistants.
    counts[DroppedKind.FOLDER] += text_of(value.get("conversation_template_id")).startswith("g-p-")
    nodes = [_node(key, object_of(node), counts) for key, node in object_of(value["mapping"]).items()]
    return ExportedConversation(
        source=ImportSource.CHATGPT,
        nodes=nodes,
        current=text_of(value.get("current_node")),
        title=text_of(value.get("title")),
        model=text_of(value.get("default_model_slug")),
        created_at=time_of(value.get("create_time")),
        active_at=time_of(value.get("update_time")),
        left_out=counts,
        is_archived=is_set(value.get("is_archived")),
        is_pinned=is_set(value.get("is_starred")) or is_set(value.get("pinned_time")),
    )


def _node(key: str, node: Object, counts: Counts) -> Node:
    parent, message = text_of(node.get("parent")) or None, node.get("message")
    if message is None:
        return Node(key, parent)
    if not isinstance(message, dict):
        counts[DroppedKind.UNREADABLE] += 1
        return Node(key, parent)
    is_complete = text_of(message.get("status")) in ("", "finished_successfully")
    return Node(key, parent, _frames(message, counts), is_complete, time_of(message.get("create_time")))


def _frames(message: Object, counts: Counts) -> tuple[Frame, ...]:
    content, role = object_of(message.get("content")), text_of(object_of(message.get("author")).get("role"))
    kind, text = text_of(content.get("content_type")), _all_text(content)
    if role not in ("user", "assistant", "system", "tool") or not kind:
        counts[DroppedKind.UNREADABLE] += 1
        return ()
    why = _why_hidden(message, role, kind)
    if why is None or role == "tool":  # an image-generating tool replies with images
        _count_parts(content, counts)
    # Calls are on the channel commentary, and what they wrote into the canvas was shown beside the conversation all the same.
    is_call = role == "assistant" and kind in ("code", "text") and message.get("channel") in (None, "commentary")
    if why is DroppedKind.TOOL_CALL and is_call and not _is_marked({**message, "channel": None}, role):
        if written := _document(text_of(message.get("recipient")), text_of(content.get("text"))):
            return frames.answer(written, counts)
        why = DroppedKind.DOCUMENT_CHANGE if text_of(message.get("recipient")).startswith(_CANVAS) else why
    if why is not None:
        return frames.hidden(why, text, counts)
    shown = frames.joined(_visible_text(part) for part in list_of(content.get("parts")))
    # Text in a place where none is known may be anything.
    counts[DroppedKind.UNKNOWN_PART] += not content.get("parts") and bool(text.strip())
    metadata = object_of(message.get("metadata"))
    if role == "assistant":
        return frames.answer(_with_links(shown, metadata, counts), counts)
    counts.update(_attachments(metadata, content))
    return frames.question(frames.joined((frames.quoted(text_of(metadata.get("targeted_reply")), counts), shown)))


_CANVAS = "canmore."


def _document(recipient: str, call: str) -> str:
    """The document that a call wrote into the canvas, where people read it; empty for any other call, and for a change of some lines."""
    try:
        given = object_of(loads(call)) if recipient.startswith(_CANVAS) else {}
    except ValueError:
        return ""
    if recipient == f"{_CANVAS}create_textdoc":
        kind = text_of(given.get("type"))
        language = kind.rpartition("/")[2] if kind.startswith("code") else ""
        return frames.document(text_of(given.get("name")), text_of(given.get("content")), language)
    updates = [object_of(update) for update in list_of(given.get("updates"))]
    is_whole = recipient == f"{_CANVAS}update_textdoc" and len(updates) == 1 and updates[0].get("pattern") == ".*"
    return frames.document("", text_of(updates[0].get("replacement"))) if is_whole else ""


def _attachments(metadata: Object, content: Object) -> Counts:
    """The files of a question. Its pictures are parts of it as well, and are counted there."""
    found = Counts(frames.kind_of_file(object_of(file)) for file in list_of(metadata.get("attachments")))
    has_pictures = any("image" in text_of(object_of(part).get("content_type")) for part in list_of(content.get("parts")))
    return Counts({kind: count for kind, count in found.items() if not (has_pictures and kind is DroppedKind.IMAGE)})


def _with_links(text: str, metadata: Object, counts: Counts) -> str:
    """The text with a link in the place of each citation whose address the file has."""
    references = {text_of(each.get("matched_text")): each for each in map(object_of, list_of(metadata.get("content_references")))}

    def linked(found: re.Match[str]) -> str:
        if not found["mark"]:
            return ""
        links = _links(references.get(found["mark"], {}))
        counts[DroppedKind.CITATION] += not links
        return f" ({', '.join(links)})" if links else ""

    return _CITATION.sub(linked, text)


def _links(reference: Object) -> list[str]:
    """The links of a citation, each once."""
    items = [object_of(item) for item in list_of(reference.get("items"))]
    items += [object_of(site) for item in items for site in list_of(item.get("supporting_websites"))]
    found = {text_of(each.get("url")): text_of(each.get("title")) for each in (*items, reference)}
    named = {address: frames.link(address, name) for address, name in found.items() if address}
    bare = {address: frames.link(address) for address in map(text_of, list_of(reference.get("safe_urls")))}
    return [link for link in (named or bare).values() if link][:_MAX_LINKS]


def _why_hidden(message: Object, role: str, kind: str) -> DroppedKind | None:
    """The reason why a message is hidden; None if it was shown to people."""
    if role == "system" or "context" in kind:
        return DroppedKind.INSTRUCTIONS
    if kind in ("thoughts", "reasoning_recap"):
        return DroppedKind.REASONING
    if role == "tool":
        return DroppedKind.TOOL_RESULT
    if text_of(message.get("channel")) == "analysis" and _is_for_all(message):
        return DroppedKind.REASONING
    if not _is_for_all(message) or kind == "code":
        return DroppedKind.TOOL_CALL
    return DroppedKind.HIDDEN if _is_marked(message, role) or kind not in ("text", "multimodal_text") else None


def _is_for_all(message: Object) -> bool:
    return message.get("recipient") == "all"


def _is_marked(message: Object, role: str) -> bool:
    """Whether the message is marked as hidden there, or is on a channel that is not for people."""
    metadata, weight = message.get("metadata", {}), message.get("weight", 1)
    if not isinstance(metadata, dict):
        return True
    marks = [
        metadata.get(mark) for mark in ("is_visually_hidden_from_conversation", "is_user_system_message", "is_contextual_answers_message")
    ]
    has_weight = isinstance(weight, int | float) and weight > 0
    channels = (None, "final") if role == "assistant" else (None,)
    author = text_of(object_of(message.get("author")).get("name")) if role == "assistant" else ""
    has_ended = metadata.get("reasoning_status") in (None, "reasoning_ended")
    is_thought = frames.is_labelled(metadata) or frames.is_named_for_reasoning(author) or not has_ended
    return any(map(is_set, marks)) or not has_weight or message.get("channel") not in channels or is_thought


def _visible_text(part: JsonValue) -> str:
    """The text of one part of a visible message."""
    if isinstance(part, str):
        return part
    part = object_of(part)
    return text_of(part.get("text")) if part.get("content_type") == "audio_transcription" else ""


def _count_parts(content: Object, counts: Counts) -> None:
    for part in list_of(content.get("parts")):
        kind = text_of(object_of(part).get("content_type"))
        if isinstance(part, str) or kind == "audio_transcription":
            continue
        counts[next((found for word, found in _PARTS.items() if word in kind), DroppedKind.UNKNOWN_PART)] += 1


def _all_text(content: Object) -> str:
    """The whole text of a hidden message, for debugging."""
    texts = [text_of(value) for key, value in content.items() if key not in ("content_type", "language", "response_format_name")]
    for part in (*list_of(content.get("parts")), *list_of(content.get("thoughts"))):
        texts += [part] if isinstance(part, str) else [text_of(value) for key, value in object_of(part).items() if key != "content_type"]
    return frames.joined(texts)


_PARTS = {"image": DroppedKind.IMAGE, "audio": DroppedKind.RECORDING, "video": DroppedKind.RECORDING, "file": DroppedKind.FILE}
# References that ChatGPT's page shows as footnotes: names of tool results, between private-use characters.
_CITATION = re.compile(" ?(?P<mark>\ue200[^\ue200\ue201]{0,2000}\ue201)|[\ue200-\ue206]")
_MAX_LINKS = 8
