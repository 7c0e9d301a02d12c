"""Scripted answers with text that a label marks as not the answer: every label, in every place of every wire format, and at every time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from chatui.operations.canary import scripts as canary_scripts
from chatui.operations.canary.scripts import Planter, Script, event, scattered

Label = Mapping[str, Any]
LABELS: dict[str, Label] = {
    **{f"role {role}": {"role": role} for role in ("tool", "system", "developer", "user", "function", "model", "Assistant")},
    "a role that is no text": {"role": ["assistant"]},
    "channel analysis": {"channel": "analysis"},
    "channel commentary": {"channel": "commentary"},
    "phase of a rehearsal": {"phase": "rehearsal"},
    "recipient": {"recipient": "functions.look"},
    "to": {"to": "functions.look"},
    "thought": {"thought": True},
    "is_reasoning": {"is_reasoning": True},
    "type reasoning": {"type": "reasoning"},
    "tool_call_id": {"tool_call_id": "c1"},
    "name": {"name": "critic"},
    "author": {"author": {"role": "tool"}},
    "extra of a provider": {"extra_content": {"google": {"thought": True}}},
    "field of a provider": {"provider_specific_fields": {"thought": True}},
    "metadata": {"metadata": {"channel": "analysis"}},
    "segment": {"segment": "thinking"},
    "content_type": {"content_type": "reasoning"},
    "status": {"status": "thinking"},
    "internal": {"internal": True},
}
_ENDS = ("completed", "failed", "incomplete")
_DONE = b"data: [DONE]\n\n"
_JSON = "application/json"
_NOT_OF_ITEMS = ("type reasoning",)
"""Labels that make no sense on items: an item of another type is not a message."""


class SubsetChooser(Protocol):
    """Chooses some of many scripts, for a short run."""

    def __call__(self, of: Sequence[canary_scripts.One], /) -> list[canary_scripts.One]: ...


def by_chat(planter: Planter, some: SubsetChooser, chooser: random.Random) -> list[Script]:
    """For a Chat Completions server. Labels that hide at once share one answer; complete messages and late labels have their own."""
    singles = [_whole(planter, name, label) for name, label in LABELS.items()]
    singles += [_late(planter, name, label, place, chooser) for name, label in LABELS.items() for place in ("delta", "choice")]
    return [_at_once(planter, chooser), _in_other_fields(planter, chooser), _whole_parts(planter), *some(singles)]


def by_items(planter: Planter, some: SubsetChooser, chooser: random.Random) -> list[Script]:
    """For a Responses server."""
    late = [_late_item(planter, name, label, place, chooser) for name, label in LABELS.items() for place in ("item", "part", "response")]
    return [_items(planter, chooser), _whole_items(planter), *some(late)]


def by_ids(planter: Planter, ids_of: Callable[[str], list[int]]) -> list[Script]:
    """For a server that sends token ids: a label for another author than the assistant ends the answer."""
    scripts: list[Script] = []
    for name, label in LABELS.items():
        ids = ids_of(f"<|channel|>final<|message|>{planter.text(f'ids with the label {name}')}<|return|>")
        text = planter.text(f"text beside ids with the label {name}")
        chunk = {"choices": [{"index": 0, "text": text, "token_ids": ids, "finish_reason": None, **label}]}
        scripts.append(Script(f"ids with {name}", (event(chunk), _DONE), ends=("failed", "interrupted", "completed", "incomplete")))
    return scripts


def _at_once(planter: Planter, chooser: random.Random) -> Script:
    shown = planter.show("answer after labelled text")
    steps: list[bytes] = []
    for name, label in LABELS.items():
        steps += [_chunk({"role": "assistant"}), _chunk({"content": planter.text(f"{name} on a delta"), **label})]
        steps += [_chunk({"role": "assistant"}), _chunk({"content": planter.text(f"{name} on a choice")}, **label)]
        part = {"type": "text", "text": planter.text(f"{name} on a part"), **label}
        steps += [_chunk({"role": "assistant"}), _chunk({"content": [part]})]
        steps += [_chunk({"role": "assistant"}), _chunk({"content": "", **label}), _chunk({"content": planter.text(f"{name} ahead")})]
        steps += [_chunk({"role": "assistant"}), _chunk({"refusal": planter.text(f"{name} on a refusal"), **label})]
    # What follows such a tag is shown when the answer is complete, and only then.
    steps += [_chunk({"role": "assistant"}), _chunk({"refusal": f"<think>{planter.text('think tag in a refusal')}</think>"})]
    steps += [_chunk({"role": "assistant", "content": f"Answer {shown}."}), _chunk({}, finish="stop"), _DONE]
    return Script("labels", tuple(scattered(steps, chooser)), (shown,))


def _in_other_fields(planter: Planter, chooser: random.Random) -> Script:
    """Other fields that a server sends, and values in the answer field that are not plain text."""
    shown, text = planter.show("answer among other fields"), planter.text
    thought = text("the same words in both fields")
    deltas: list[dict[str, Any]] = [
        {"reasoning_content": thought, "content": thought},
        {"content": [{"type": "text", "text": [{"type": "thinking", "text": text("list in a part")}]}]},
        {"content": [{"type": "text", "text": {"type": "reasoning", "content": text("object in a part")}}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text("parts of a thought")}]}]},
        {"content": [{"type": "redacted_thinking", "data": text("redacted thought")}, {"text": text("part without a type")}]},
        {"content": {"type": "reasoning", "text": text("object in the answer field")}},
        {"content": [{"type": "text", "text": "", "annotations": [{"title": text("annotation of a part")}]}]},
        {"refusal": [{"type": "reasoning", "text": text("refusal that is a list")}]},
        {"refusal": {"text": text("refusal that is an object")}},
        {"audio": {"transcript": text("transcript"), "id": planter.word("id of audio")}},
        {"annotations": [{"type": "url_citation", "url_citation": {"title": text("citation"), "url": text("address of a citation")}}]},
        {"images": [{"image_url": {"url": f"data:{planter.word('image')}"}}], "files": [{"file_id": planter.word("id of a file")}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": text("thinking_blocks")}], "reasoning_text": text("reasoning_text")},
        {"thoughts": text("thoughts"), "reasoning_text_summary": text("summary of reasoning")},
        {"function_call": {"name": planter.word("function_call"), "arguments": text("arguments of a function_call")}},
    ]
    steps = [step for delta in deltas for step in (_chunk({"role": "assistant"}), _chunk(delta))]
    around = {"citations": [text("citations")], "model": planter.word("name of a model"), "object": planter.word("object")}
    choice = {"index": 0, "delta": {"role": "assistant", "content": f"Answer {shown}."}, "finish_reason": None}
    steps.append(event({"choices": [choice, {"index": 1, "delta": {"content": text("another choice")}}], **around}))
    steps += [_chunk({}, finish=planter.word("finish_reason"), stop_reason=text("stop_reason")), _DONE]
    # An end for a reason that nobody knows is no complete answer.
    return Script("other-fields", tuple(scattered(steps, chooser)), (shown,), ends=("failed",))


def _whole_parts(planter: Planter) -> Script:
    shown = planter.show("part among labelled parts")
    parts = [{"type": "text", "text": planter.text(f"{name} on a whole part"), **label} for name, label in LABELS.items()]
    message = {"role": "assistant", "content": [*parts, {"type": "text", "text": f"Answer {shown}."}]}
    return Script(
        "whole-parts", (_body({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}),), (shown,), content_type=_JSON
    )


def _whole(planter: Planter, name: str, label: Label) -> Script:
    message = {"role": "assistant", "content": planter.text(f"{name} on a whole message"), **label}
    body = _body({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    return Script(f"whole with {name}", (body,), ends=_ENDS, content_type=_JSON)


def _late(planter: Planter, name: str, label: Label, place: str, chooser: random.Random) -> Script:
    """The label arrives after the text, with the end of the answer."""
    hidden, of = planter.hide(f"{name} too late, on a {place}")
    last = _chunk(dict(label), finish="stop") if place == "delta" else _chunk({}, finish="stop", **label)
    steps = scattered([_chunk({"content": hidden[:9]}), _chunk({"content": hidden[9:]}), last, _DONE], chooser)
    return Script(f"late {name} on a {place}", tuple(steps), ends=_ENDS, withdrawn=(of,))


def _items(planter: Planter, chooser: random.Random) -> Script:
    """A message for each label on each of its parts, and a last one without."""
    shown = planter.show("message after labelled ones")
    labelled = list(_labelled_items(planter))
    answer = _message("answer", f"Answer {shown}.")
    steps = [step for at, (item, on_event) in enumerate([*labelled, (answer, {})]) for step in _item_events(at, item, on_event)]
    output = [item for item, _ in labelled] + [answer]
    steps.append(_event("response.completed", response={"status": "completed", "output": output}))
    return Script("labelled-items", tuple(scattered(steps, chooser)), (shown,))


def _labelled_items(planter: Planter) -> Iterator[tuple[dict[str, Any], Label]]:
    for name, label in LABELS.items():
        if name not in _NOT_OF_ITEMS:
            yield _message(f"i {name}", planter.text(f"{name} on an item"), **label), {}
            yield _message(f"e {name}", planter.text(f"{name} on an event")), label
        item = _message(f"p {name}", planter.text(f"{name} on a part of an item"))
        item["content"][0] |= label
        yield item, {"part": label}


def _whole_items(planter: Planter) -> Script:
    shown = planter.show("message after labelled ones, whole")
    output = [item for item, on_event in _labelled_items(planter) if on_event.keys() <= {"part"}]
    response = {"object": "response", "status": "completed", "output": [*output, _message("answer", f"Answer {shown}.")]}
    extra = {"output_text": planter.text("output_text of a response"), "title": planter.text("title of a response")}
    return Script("labelled-items-whole", (_body({**response, **extra}),), (shown,), content_type=_JSON)


def _late_item(planter: Planter, name: str, label: Label, place: str, chooser: random.Random) -> Script:
    hidden, of = planter.hide(f"{name} too late, on the {place}")
    item, labelled = _message("m", hidden), _message("m", hidden, **(label if place != "part" else {}))
    if place == "part":
        labelled["content"][0] |= label
    done = item if place == "response" else labelled
    steps = [*_item_events(0, item, {})[:-1], _event("response.output_item.done", output_index=0, item=done)]
    steps.append(_event("response.completed", response={"status": "completed", "output": [labelled]}))
    return Script(f"late {name} on the {place}", tuple(scattered(steps, chooser)), ends=_ENDS, withdrawn=(of,))


def _item_events(index: int, item: dict[str, Any], on_event: Label) -> list[bytes]:
    at = {"item_id": item["id"], "output_index": index, "content_index": 0}
    steps = [_event("response.output_item.added", output_index=index, item={**item, "content": []})]
    if "part" in on_event:
        part = {"type": "output_text", "text": "", **on_event["part"]}
        steps.append(_event("response.content_part.added", part=part, **at))
    text, label = item["content"][0]["text"], {name: value for name, value in on_event.items() if name != "part"}
    steps += [_event("response.output_text.delta", delta=piece, **at, **label) for piece in (text[:9], text[9:])]
    return [*steps, _event("response.output_item.done", output_index=index, item=item)]


def _message(key: str, text: str, **fields: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": key, "type": "message", "role": "assistant", "status": "completed", "content": [part], **fields}


def _chunk(delta: Label, *, finish: str | None = None, **choice: Any) -> bytes:
    return event({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **choice}]})


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _body(answer: Mapping[str, Any]) -> bytes:
    return json.dumps(answer).encode()
