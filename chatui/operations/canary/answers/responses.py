"""Scripted Responses answers, with a marker in each hidden place."""

from __future__ import annotations

import json
from typing import Any

from chatui.operations.canary.scripts import ENDS_OF_A_CALL, Planter, Script, cut, event, headers

_JSON = "application/json"


def scripts(planter: Planter) -> list[Script]:
    """All scripts, in the order in which they are requested."""
    return [_items(planter), _in_the_message(planter), _labelled_part(planter), _whole(planter), *_failures(planter)]


def _items(planter: Planter) -> Script:
    shown, preamble = planter.show("message after every hidden item"), planter.show("message of the phase commentary")
    hidden, call = [_reasoning(planter), *_odd_items(planter)], _call(planter)
    messages = [_message("m1", f"I look at {preamble}.", phase="commentary"), _message("m2", f"Here is **{shown}**.", phase="final_answer")]
    echo = {"instructions": planter.text("echoed instructions"), "metadata": {"note": planter.text("metadata")}}
    steps = [_event("response.created", response={"id": planter.word("id of a response"), "status": "in_progress", **echo})]
    steps += _reasoning_events(planter, hidden[0])
    for index, item in enumerate(hidden[1:], 1):
        steps += _item_events(index, item)
    for index, item in enumerate(messages, len(hidden)):
        steps += [_event("response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})]
        steps += [
            _event("response.output_text.delta", item_id=item["id"], output_index=index, content_index=0, delta=piece)
            for piece in cut(item["content"][0]["text"])
        ]
        steps += [_event("response.output_item.done", output_index=index, item=item)]
    # The last one: text after a call without a reply is hidden.
    steps += _call_events(len(hidden) + len(messages), call)
    steps += [_event("response.debug.delta", delta=planter.text("event that nobody knows"))]
    output = {
        "status": "completed",
        "output": [*hidden, *messages, call],
        **echo,
        "usage": {"note": planter.word("usage"), "output_tokens": 9},
    }
    steps += [_event("response.completed", response=output)]
    return Script("items", tuple(steps), (shown, preamble), ENDS_OF_A_CALL, headers=headers(planter))


def _reasoning(planter: Planter) -> dict[str, Any]:
    return {
        "id": "r1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": planter.text("summary of a reasoning item")}],
        "content": [
            {"type": "reasoning_text", "text": planter.text("content of a reasoning item")},
            {"type": "output_text", "text": planter.text("reasoning that is called output_text")},
        ],
        "encrypted_content": planter.word("encrypted_content"),
    }


def _call(planter: Planter) -> dict[str, Any]:
    return {
        "id": "f1",
        "type": "function_call",
        "call_id": planter.word("call_id"),
        "name": planter.word("name of a tool"),
        "arguments": json.dumps({"query": planter.text("arguments of a call")}),
    }


def _odd_items(planter: Planter) -> list[dict[str, Any]]:
    """Tools of the server's own, messages with unknown roles or phases, and message parts that are not text."""
    parts = [{"type": "reasoning_text", "text": planter.text("reasoning part of a message")}]
    return [
        {"id": "o1", "type": "mcp_call", "output": planter.text("output of a server's tool")},
        {"id": "o2", "type": "function_call_output", "call_id": "c", "output": planter.text("reply of a tool")},
        {"id": "o3", "type": "web_search_call", "action": {"query": planter.text("query of a search")}},
        _message("o4", planter.text("message of a role that nobody knows"), role="critic"),
        _message("o5", planter.text("developer message"), role="developer"),
        _message("o6", planter.text("message of a phase that nobody knows"), phase="rehearsal"),
        _message("o7", planter.text("message on the analysis channel"), channel="analysis"),
        _message("o9", planter.text("message to a tool"), recipient="functions.look"),
        _message("o10", planter.text("message with a label that nobody knows"), x_segment="thinking"),
        {"id": "o8", "type": "message", "role": "assistant", "content": parts},
    ]


def _reasoning_events(planter: Planter, item: dict[str, Any]) -> list[bytes]:
    fields = {"item_id": item["id"], "output_index": 0}
    steps = [_event("response.output_item.added", output_index=0, item={**item, "summary": [], "content": []})]
    streams = {
        "response.reasoning_text.delta": item["content"][0]["text"],
        "response.reasoning_summary_text.delta": item["summary"][0]["text"],
        "response.reasoning.delta": planter.text("reasoning.delta"),
    }
    for kind, text in streams.items():
        steps += [_event(kind, **fields, content_index=0, summary_index=0, delta=piece) for piece in cut(text)]
    part = {"type": "summary_text", "text": planter.text("summary part")}
    steps += [_event("response.reasoning_summary_part.done", **fields, summary_index=1, part=part)]
    return [*steps, _event("response.output_item.done", output_index=0, item=item)]


def _call_events(index: int, item: dict[str, Any]) -> list[bytes]:
    steps = [_event("response.output_item.added", output_index=index, item={**item, "arguments": ""})]
    fields = {"item_id": item["id"], "output_index": index}
    steps += [_event("response.function_call_arguments.delta", **fields, delta=piece) for piece in cut(item["arguments"])]
    return [*steps, _event("response.output_item.done", output_index=index, item=item)]


def _item_events(index: int, item: dict[str, Any]) -> list[bytes]:
    return [_event(f"response.output_item.{step}", output_index=index, item=item) for step in ("added", "done")]


def _in_the_message(planter: Planter) -> Script:
    shown = planter.show("message after a think tag")
    text = f"<think>{planter.text('think tag in a message')}</think>Answer {shown}."
    item = _message("m1", text)
    steps = [_event("response.output_item.added", output_index=0, item={**item, "content": []})]
    steps += [_event("response.output_text.delta", item_id="m1", output_index=0, content_index=0, delta=piece) for piece in cut(text)]
    steps += [_event("response.output_item.done", output_index=0, item=item)]
    steps += [_event("response.completed", response={"status": "completed", "output": [item]})]
    return Script("think-tag", tuple(steps), (shown,))


def _labelled_part(planter: Planter) -> Script:
    """A message with two text parts, one of which has a label that marks it as reasoning."""
    shown = planter.show("part after a labelled one")
    thought = planter.text("label on a part")
    item = _message("m1", "")
    item["content"] = [{"type": "output_text", "text": thought, "thought": True}, {"type": "output_text", "text": f"Answer {shown}."}]
    steps = [_event(f"response.output_item.{step}", output_index=0, item=item) for step in ("added", "done")]
    return Script("labelled-part", (*steps, _event("response.completed", response={"status": "completed", "output": [item]})), (shown,))


def _whole(planter: Planter) -> Script:
    shown = planter.show("whole response")
    thought = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": planter.text("summary of a whole response")}]}
    body = {"object": "response", "status": "completed", "output": [thought, _message("m1", f"Whole {shown}.")]}
    return Script("whole", (json.dumps(body).encode(),), (shown,), content_type=_JSON)


def _failures(planter: Planter) -> list[Script]:
    thought = _event("response.reasoning_text.delta", item_id="r1", output_index=0, delta=planter.text("reasoning before a failure"))
    added = _event("response.output_item.added", output_index=0, item={"id": "r1", "type": "reasoning", "summary": []})
    error = {"code": "server_error", "message": planter.text("message of a failed response")}
    failed = _event("response.failed", response={"status": "failed", "error": error})
    error_event = event({"type": "error", "message": planter.text("error event"), "code": planter.word("code of an error")}, "error")
    body = json.dumps({"error": {"message": planter.text("body of a refusal"), "type": planter.word("type of a refusal")}}).encode()
    return [
        Script("failed", (added, thought, failed), ends=("failed",)),
        Script("error-event", (added, thought, error_event), ends=("failed", "interrupted")),
        Script("refused", (body,), ends=("failed",), status=429, content_type=_JSON, headers=headers(planter)),
    ]


def _message(key: str, text: str, **fields: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": key, "type": "message", "role": "assistant", "status": "completed", "content": [part], **fields}


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)
