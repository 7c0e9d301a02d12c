"""Synthetic exports of the products, with a SECRET in every place that must be hidden."""

import io
import json
import zipfile
from typing import Any

from chatui.transfer.other_products.conversation_tree import DroppedKind
from tests.support import foreign_exports

S = "SECRET-"
"""Begins every word that must stay hidden."""


def gpt_message(role: str, *parts: Any, kind: str = "text", **more: Any) -> dict[str, Any]:
    """A message of ChatGPT. ``content`` adds to its content."""
    content = {"content_type": kind, "parts": list(parts)} | more.pop("content", {})
    message = {"id": "m", "author": {"role": role, "name": None, "metadata": {}}, "content": content, "create_time": 1_700_000_000.5}
    return message | {"status": "finished_successfully", "weight": 1.0, "metadata": {}, "recipient": "all", "channel": None} | more


def gpt_mapping(*chain: dict[str, Any] | None) -> dict[str, Any]:
    """Messages, each under the one before it; the root is empty, as it is there."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for number, message in enumerate(chain):
        key = f"n{number}"
        mapping[key] = {"id": key, "message": message, "parent": parent, "children": []}
        parent = key
    return mapping


HIDDEN = {"is_visually_hidden_from_conversation": True}

CHATGPT: dict[str, Any] = {
    "title": "Baking bread",
    "create_time": 1_700_000_000.0,
    "update_time": 1_700_003_600.0,
    "default_model_slug": "gpt-5",
    "mapping": gpt_mapping(
        gpt_message("system", f"{S}system", weight=0.0, metadata=HIDDEN),
        gpt_message("user", kind="user_editable_context", content={"user_profile": f"{S}profile", "user_instructions": f"{S}custom"}),
        gpt_message("user", f"{S}marked", metadata=HIDDEN),
        gpt_message(
            "user",
            {"content_type": "image_asset_pointer", "asset_pointer": f"file-service://{S}pointer"},
            {"content_type": "audio_transcription", "text": "What do you see,", "direction": "in"},
            "and how do I bake it?",
            kind="multimodal_text",
        ),
        gpt_message("assistant", kind="thoughts", content={"thoughts": [{"summary": f"{S}gist", "content": f"{S}thought"}]}),
        gpt_message("assistant", kind="reasoning_recap", content={"content": f"{S}recap"}),
        gpt_message("assistant", f"{S}analysis", channel="analysis"),
        gpt_message("assistant", f"{S}commentary", channel="commentary"),
        gpt_message("assistant", kind="code", recipient="python", content={"language": "python", "text": f"print('{S}code')"}),
        gpt_message("tool", kind="execution_output", content={"text": f"{S}output"}),
        gpt_message("assistant", f"{S}call", recipient="browser"),
        gpt_message("tool", kind="tether_browsing_display", content={"result": f"{S}display", "summary": f"{S}page"}),
        gpt_message(
            "tool", {"content_type": "image_asset_pointer", "metadata": {"dalle": {"prompt": f"{S}dalle"}}}, kind="multimodal_text"
        ),
        gpt_message("assistant", f"{S}weightless", weight=0),
        gpt_message("assistant", f"{S}kind", kind="something_new"),
        gpt_message("oracle", f"{S}role"),
        gpt_message("assistant", f"{S}recipient", recipient=["all"]),
        gpt_message("assistant", "A fine loaf.\ue200cite\ue202SECRET-search0\ue201 Bake it at 230 degrees.", channel="final"),
    ),
    "current_node": "n17",
}

FOLDED = f"""<details type="reasoning" done="true" duration="4">
<summary>Thought for 4 seconds</summary>
> {S}details, which speak of <details type="x"> and
> </details> and go on: {S}after
> </details>
</details>
</details>
The loaf is ready.

<details type="tool_calls" done="true" id="c1" name="search" arguments="{S}arguments" result="{S}result">
<summary>Tool Executed</summary>
</details>

<details type="code_interpreter" done="true">
<summary>Analyzed</summary>
```python
{S}interpreter
```
</details>

Enjoy it warm."""

OPEN_WEBUI: dict[str, Any] = {
    "id": "c1",
    "user_id": f"{S}user",
    "title": "Bread again",
    "created_at": 1_700_000_000,
    "updated_at": 1_700_003_600,
    "chat": {
        "id": "c1",
        "title": "Bread again",
        "models": ["gpt-oss:20b"],
        "params": {"system": f"{S}params"},
        "history": {
            "currentId": "a1",
            "messages": {
                "s": {"id": "s", "parentId": None, "childrenIds": ["q"], "role": "system", "content": f"{S}system"},
                "q": {
                    "id": "q",
                    "parentId": "s",
                    "role": "user",
                    "content": "Is the bread done?",
                    "files": [{"type": "image", "url": f"data:{S}image"}, {"type": "file", "name": f"{S}file"}],
                },
                "a1": {
                    "id": "a1",
                    "parentId": "q",
                    "role": "assistant",
                    "content": FOLDED,
                    "reasoning_content": f"{S}field",
                    "done": True,
                    "timestamp": 1_700_000_100,
                    "statusHistory": [{"description": f"{S}status"}],
                    "sources": [{"document": [f"{S}source"]}],
                    "output": [{"type": "reasoning", "content": [{"text": f"{S}item"}]}],
                    "tool_calls": [{"function": {"arguments": f"{S}call"}}],
                    "error": {"content": f"{S}error"},
                },
                "a2": {"id": "a2", "parentId": "q", "role": "assistant", "content": "Give it five more minutes."},
                "t": {"id": "t", "parentId": "a1", "role": "tool", "content": f"{S}tool"},
                "x": {"id": "x", "parentId": "t", "role": "assistant", "content": f"<think>{S}inner</think>Anything else?"},
            },
        },
        "messages": [{"role": "assistant", "content": f"{S}copy"}],
        "tags": [f"{S}tag"],
    },
}

LIBRECHAT: dict[str, Any] = {
    "conversationId": "lc-1",
    "endpoint": "custom",
    "title": "Bread, once more",
    "exportAt": "12:00:00 GMT+0000",
    "branches": True,
    "recursive": False,
    "options": {"model": "gpt-oss-120b", "promptPrefix": f"{S}prefix", "instructions": f"{S}instructions"},
    "messages": [
        {
            "messageId": "1",
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "sender": "User",
            "isCreatedByUser": True,
            "text": "Why is my crust soft?",
            "createdAt": "2024-01-02T10:00:00.000Z",
            "files": [{"type": "image/png", "filepath": f"{S}path"}, {"type": "application/pdf", "text": f"{S}pdf"}],
        },
        {
            "messageId": "2",
            "parentMessageId": "1",
            "sender": "gpt-oss",
            "isCreatedByUser": False,
            "model": "gpt-oss-120b",
            "text": f":::thinking\n{S}thinking, which speaks of\n::: colons {S}colons\n:::\n\nThere is too much steam.",
            "createdAt": "2024-01-02T10:00:09.000Z",
        },
        {
            "messageId": "3",
            "parentMessageId": "1",
            "sender": "gpt-oss",
            "isCreatedByUser": False,
            "text": f"{S}text",
            "content": [
                {"type": "think", "think": f"{S}part"},
                {"type": "text", "text": {"value": "Open the door of the oven"}},
                {"type": "tool_call", "tool_call": {"name": f"{S}name", "args": f"{S}args", "output": f"{S}output"}},
                {"type": "image_file", "image_file": {"filepath": f"{S}file"}},
                {"type": "agent_update", "agent_update": {"runId": f"{S}run"}},
                {"type": "text", "text": "for the last five minutes."},
            ],
            "attachments": [{"type": "web_search", "web_search": f"{S}search"}],
        },
        {"messageId": "4", "parentMessageId": "3", "sender": "gpt-oss", "isCreatedByUser": False, "error": True, "text": f"{S}error"},
        {"messageId": "5", "parentMessageId": "3", "sender": "System", "isCreatedByUser": False, "text": f"{S}sender"},
        {"messageId": "6", "parentMessageId": "3", "sender": "gpt-oss", "isCreatedByUser": False, "text": f":::thinking {S}unclosed"},
    ],
}

CLAUDE: dict[str, Any] = {
    "uuid": "c-1",
    "name": "Bread at last",
    "summary": f"{S}summary",
    "created_at": "2024-01-02T10:00:00.000000Z",
    "updated_at": "2024-01-02T10:01:00Z",
    "account": {"uuid": f"{S}account"},
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": f"{S}copy",
            "content": [{"type": "text", "text": "May I freeze the dough?"}, {"type": f"{S}new", "text": f"{S}kind"}],
            "created_at": "2024-01-02T10:00:00Z",
            "attachments": [{"file_name": f"{S}name", "file_type": "txt", "extracted_content": f"{S}pasted"}],
            "files": [{"file_name": f"{S}picture", "file_kind": "image"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": f"{S}copy",
            "content": [
                {"type": "thinking", "thinking": f"{S}thinking", "summaries": [{"summary": f"{S}summary"}]},
                {"type": "redacted_thinking", "data": f"{S}redacted"},
                {"type": "text", "text": f"<antThinking>{S}inside</antThinking>You may.<antArtifact title='x'>", "citations": []},
                {"type": "tool_use", "name": "web_search", "input": {"query": f"{S}query"}},
                {"type": "tool_result", "content": [{"type": "text", "text": f"{S}result"}]},
                {"type": "tool_use", "name": "artifacts", "input": {"command": "update", "old_str": f"{S}old", "new_str": f"{S}new"}},
                {"type": "text", "text": f"{S}labelled", "channel": "analysis"},
                {"type": "text", "text": f"Wrap it well.\n<antThinking>{S}unclosed"},
            ],
            "created_at": "2024-01-02T10:00:10Z",
        },
        {"uuid": "m3", "sender": f"{S}sender", "text": f"{S}of nobody"},
    ],
}

DEEPSEEK: dict[str, Any] = {
    "id": "d1",
    "title": "Bread in the east",
    "inserted_at": "2024-01-02T10:00:00+08:00",
    "updated_at": "2024-01-02T10:01:00+08:00",
    "mapping": {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": {
            "id": "1",
            "parent": "root",
            "message": {
                "files": [{"file_name": f"{S}file"}],
                "inserted_at": "2024-01-02T10:00:00+08:00",
                "fragments": [{"type": "REQUEST", "content": "How long does it rise?"}],
            },
        },
        "2": {
            "id": "2",
            "parent": "1",
            "message": {
                "model": "deepseek-reasoner",
                "inserted_at": "2024-01-02T10:00:10+08:00",
                "fragments": [
                    {"type": "THINK", "content": f"{S}think"},
                    {"type": "SEARCH", "content": f"{S}search"},
                    {"type": "TOOL_SEARCH", "content": f"{S}call"},
                    {"type": "TOOL_OPEN", "content": f"{S}open"},
                    {"type": "READ_LINK", "content": f"{S}link"},
                    {"type": f"{S}NEW", "content": f"{S}new"},
                    {"type": "RESPONSE", "content": f"{S}labelled", "channel": "analysis"},
                    {"type": "RESPONSE", "content": f"<think>{S}inner</think>Two hours."},
                ],
            },
        },
        "3": {"id": "3", "parent": "2", "message": {"fragments": f"{S}no list"}},
        "4": {"id": "4", "parent": "2", "message": {"content": f"{S}content", "role": f"{S}role"}},
    },
}

VISIBLE = {
    "chatgpt": ("What do you see,", "and how do I bake it?", "A fine loaf. Bake it at 230 degrees."),
    "open_webui": ("Is the bread done?", "The loaf is ready.", "Enjoy it warm.", "Anything else?"),
    "librechat": ("Why is my crust soft?", "Open the door of the oven", "for the last five minutes."),
    "claude": ("May I freeze the dough?", "You may.", "Wrap it well."),
    "deepseek": ("How long does it rise?", "Two hours."),
}
EXPORTS: dict[str, Any] = {
    "chatgpt": [CHATGPT],
    "open_webui": [OPEN_WEBUI],
    "librechat": LIBRECHAT,
    "claude": [CLAUDE],
    "deepseek": [DEEPSEEK],
}


def as_json(value: Any) -> bytes:
    """The bytes of an export."""
    return json.dumps(value).encode()


def read(export: Any) -> Any:
    """What is read of an export's one conversation: its nodes with their frames and what was left out, or why it cannot be read."""
    [found] = foreign_exports.found(export if isinstance(export, bytes) else as_json(export))
    return found if isinstance(found, DroppedKind) else found.read()


def as_zip(**files: bytes) -> bytes:
    """A zip with these files; ``__`` in a name is a dot, and ``___`` a hyphen."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("___", "-").replace("__", "."), data)
    return buffer.getvalue()
