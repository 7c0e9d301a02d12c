"""The scripted answers, as rows: what a server of each kind says, with the places of all markers (``scripts`` says how they are written).

Some rows are played in every run; of those of every label and of the catalogue ``shapes.jsonl``, a run plays some.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatui.operations.canary.scripts import ENDS_OF_A_CALL, JSON, PAUSE, Event, Harmony, Planter, Script, Shape, Step, all_shapes
from renderer.activities.lines import TICKS
from renderer.harmony.vocabulary import MARKER_IDS
from renderer.tokens import Token

FAILED, BROKEN = ("failed",), ("failed", "interrupted")
_ENDS = ("completed", "failed", "incomplete")
"""A turn fails if nothing is left of its answer."""
_DONE = "data: [DONE]\n\n"
_NAMES = ("X-Reasoning", "X-Request-Id", "Server", "Set-Cookie", "Retry-After", "Content-Disposition")
_HEADERS = {name: f"word={{!header {name}}}" for name in _NAMES}
_ARGUMENTS = '{"query": "{?arguments of a call}"}'
_REFUSAL: Mapping[str, Any] = {"ends": FAILED, "content_type": JSON, "headers": _HEADERS}


def _chunk(delta: Event, finish: str | None = None, **choice: Any) -> Event:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **choice}]}


def _said(text: str, name: str = "content") -> Step:
    return text, _chunk({name: ...})


def _message_of_chat(**fields: Any) -> Event:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}]}


_STOP: tuple[Step, ...] = (_chunk({}, "stop"), _DONE)
_ROLE = _chunk({"role": "assistant"})
_FIELDS: tuple[Step, ...] = (
    _chunk({"role": "assistant", "content": ""}),
    *(_said(f"{{?{name}}}", name) for name in ("reasoning", "reasoning_content", "thinking", "analysis")),
    _chunk(
        {
            "reasoning_details": [
                {"type": "reasoning.text", "text": "{?reasoning_details text}"},
                {"type": "reasoning.summary", "summary": "{?reasoning_details summary}"},
                {"type": "reasoning.encrypted", "data": "{!reasoning_details encrypted}"},
            ]
        }
    ),
    *(_chunk({"channel": name, "content": f"{{?content on channel {name}}}"}) for name in ("analysis", "commentary", "nobody knows")),
    _chunk({"content": [{"type": "thinking", "thinking": "{?thinking part}"}, {"type": "text", "text": ""}]}),
    _chunk({"audio": {"transcript": "{?audio}"}, "annotations": [{"note": "{?annotation}"}]}),
    _chunk({"provider_specific_fields": {"reasoning": "{?field of a provider}"}, "encrypted_content": "{!encrypted_content}"}),
    {"choices": [{"index": 1, "delta": {"content": "{?second choice}"}}]},
    {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [{"token": "{!logprobs}"}]}}]},
    {"choices": [], "id": "{!id}", "system_fingerprint": "{!system_fingerprint}"},
    {"choices": [], "prompt": "{?echoed prompt}", "messages": [{"role": "developer", "content": "{?echo}"}]},
    ": {?comment line}\n\nevent: ping\ndata: {?line that is no JSON}\n\n",
    _said("Here is **{+answer after every hidden field}**."),
    _chunk({"tool_calls": [{"index": 0, "id": "{!id of a call}", "function": {"name": "{!name of a tool}", "arguments": _ARGUMENTS}}]}),
    _chunk({}, "stop"),
    {"choices": [], "usage": {"prompt_tokens": "{!usage}", "completion_tokens": 7}},
    _DONE,
)
# Answer fields of servers without channels: hidden text before or after the answer.
_LEAKS = {
    "think-tag": "<think>{hidden}</think>\n\n{shown}",
    "harmony-text": "<|channel|>analysis<|message|>{hidden}<|end|><|start|>assistant<|channel|>final<|message|>{shown}<|return|>",
    "collapsed": "analysis{hidden}assistantfinal{shown}",
    "disguised-tag": "\ufeff&lt;think&gt;{hidden}&lt;/think&gt;{shown}",
    "mistral-tag": "[THINK]{hidden}[/THINK]{shown}",
    "details": '<details type="reasoning" done="true">\n<summary>Thought</summary>\n{hidden}\n</details>\n\n{shown}',
    "tag-behind": "{shown}\n<thinking>{hidden}</thinking>",
    "harmony-behind": "{shown}<|end|><|start|>assistant<|channel|>analysis<|message|>{hidden}",
    "harmony-in-pieces": "{shown}\n<|channel|>\nanalysis\n<|message|>\n{hidden}",
    "full-width": "{shown}＜｜end｜＞＜｜start｜＞assistant＜｜channel｜＞analysis＜｜message｜＞{hidden}",
    "call-behind": "{shown}<|call|>{hidden}",
}


def chat(planter: Planter) -> list[Script]:
    row = planter.script
    whole = _message_of_chat(reasoning_content="{?reasoning of a whole answer}", content="Whole {+whole answer}.")
    return [
        row("fields", *_FIELDS, ends=ENDS_OF_A_CALL, headers=_HEADERS),
        row(
            "paused",
            _said("{?reasoning before a reload}", "reasoning_content"),
            PAUSE,
            _said("{?reasoning after a reload}", "reasoning_content"),
            _chunk({"content": "First {+before the pause}, "}),
            PAUSE,
            _chunk({"content": "then {+after the pause}."}),
            *_STOP,
        ),
        *(row(name, _said(_of_a_shape(name, text, f"{name} in the answer")), *_STOP) for name, text in _LEAKS.items()),
        # All at once: in pieces, the text before the tag would be shown until the tag arrives.
        row("closing-tag", _chunk({"content": "{?text before a closing tag}\n</think>\n\nAnswer {+answer after a closing tag}."}), *_STOP),
        row("whole", {**whole, "note": "{?field of a whole answer}"}, content_type=JSON),
        row(
            "cut",
            _chunk({"reasoning": "{?reasoning of a cut answer}"}),
            _chunk({"content": "Cut {+answer that was cut} and"}),
            _chunk({}, "length"),
            _DONE,
            ends=("incomplete",),
        ),
        row("stopped", _said("{?reasoning that was stopped}", "reasoning_content"), PAUSE, ends=()),
        row("broken-off", _chunk({"reasoning": "{?reasoning of a stream that broke}"}), ends=BROKEN),
        row(
            "error-inside",
            _chunk({"reasoning": "{?reasoning before an error}"}),
            _chunk({"content": "Half {+half an answer before an error} "}),
            {"error": {"message": "{?error inside a stream}", "code": 500, "type": "{!type of an error}"}},
            ends=BROKEN,
        ),
        row("refused", {"error": {"message": "{?body of a refusal}", "param": "{!refused parameter}"}}, status=400, **_REFUSAL),
        row("failing", "<html><title>{?title of an error page}</title></html>", ends=FAILED, status=500, content_type="text/html"),
    ]


def _of_a_shape(name: str, text: str, place: str, *, shows: bool = True) -> str:
    return Shape(name, text).filled(f"{{?{place}}}", f"Answer {{+{name}}}." if shows else "Answer forty-two.")


Item = dict[str, Any]


def _event(kind: str, **fields: Any) -> Event:
    return {"type": f"response.{kind}", **fields}


def _message(key: str, text: str, **fields: Any) -> Item:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": key, "type": "message", "role": "assistant", "status": "completed", "content": [part], **fields}


def _at_once(index: int, item: Item, **begun: Any) -> list[Step]:
    """An item as it begins, with other fields, and as it ends."""
    added = _event("output_item.added", output_index=index, item={**item, **begun})
    return [added, _event("output_item.done", output_index=index, item=item)]


def _in_pieces(index: int, item: Item, on_event: Event | None = None) -> list[Step]:
    """A message. ``on_event``: labels of the events with its text; those of ``part`` are on the part that is added."""
    label = dict(on_event or {})
    at = {"item_id": item["id"], "output_index": index, "content_index": 0}
    added, done = _at_once(index, item, content=[], status="in_progress")
    part = label.pop("part", None)
    parts = [_event("content_part.added", part={"type": "output_text", "text": "", **part}, **at)] if part else []
    return [added, *parts, (item["content"][0]["text"], _event("output_text.delta", delta=..., **at, **label)), done]


def _response(output: Sequence[Item], **fields: Any) -> Event:
    return {"object": "response", "status": "completed", "output": output, **fields}


def _completed(*output: Item, **fields: Any) -> Event:
    return _event("completed", response=_response(output, **fields))


_REASONING: Item = {
    "id": "r1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "{?summary of a reasoning item}"}],
    "content": [
        {"type": "reasoning_text", "text": "{?content of a reasoning item}"},
        {"type": "output_text", "text": "{?reasoning that is called output_text}"},
    ],
    "encrypted_content": "{!encrypted_content}",
}
_CALL: Item = {"id": "f1", "type": "function_call", "call_id": "{!call_id}", "name": "{!name of a tool}", "arguments": _ARGUMENTS}
# Tools of the server's own, messages with unknown roles or phases, and message parts that are not text.
_ODD: list[Item] = [
    {"id": "o1", "type": "mcp_call", "output": "{?output of a server's tool}"},
    {"id": "o2", "type": "function_call_output", "call_id": "c", "output": "{?reply of a tool}"},
    {"id": "o3", "type": "web_search_call", "action": {"query": "{?query of a search}"}},
    _message("o4", "{?message of a role that nobody knows}", role="critic"),
    _message("o5", "{?developer message}", role="developer"),
    _message("o6", "{?message of a phase that nobody knows}", phase="rehearsal"),
    _message("o7", "{?message on the analysis channel}", channel="analysis"),
    _message("o9", "{?message to a tool}", recipient="functions.look"),
    _message("o10", "{?message with a label that nobody knows}", x_segment="thinking"),
    _message("o8", "") | {"content": [{"type": "reasoning_text", "text": "{?reasoning part of a message}"}]},
]
_MESSAGES = [
    _message("m1", "I look at {+message of the phase commentary}.", phase="commentary"),
    _message("m2", "Here is **{+message after every hidden item}**.", phase="final_answer"),
]


def _items() -> Iterator[Step]:
    echo = {"instructions": "{?echoed instructions}", "metadata": {"note": "{?metadata}"}}
    yield _event("created", response={"id": "{!id of a response}", "status": "in_progress", **echo})
    at = {"item_id": "r1", "output_index": 0, "content_index": 0, "summary_index": 0}
    added, done = _at_once(0, _REASONING, summary=[], content=[])
    yield added
    yield "{?content of a reasoning item}", _event("reasoning_text.delta", **at, delta=...)
    yield "{?summary of a reasoning item}", _event("reasoning_summary_text.delta", **at, delta=...)
    yield "{?reasoning.delta}", _event("reasoning.delta", **at, delta=...)
    yield _event("reasoning_summary_part.done", **at | {"summary_index": 1}, part={"type": "summary_text", "text": "{?summary part}"})
    yield done
    for index, item in enumerate(_ODD, 1):
        yield from _at_once(index, item)
    for index, item in enumerate(_MESSAGES, 1 + len(_ODD)):
        yield from _in_pieces(index, item)
    # The last one: text after a call without a reply is hidden.
    last = 1 + len(_ODD) + len(_MESSAGES)
    added, done = _at_once(last, _CALL, arguments="")
    yield added
    yield _ARGUMENTS, _event("function_call_arguments.delta", item_id="f1", output_index=last, delta=...)
    yield done
    yield _event("debug.delta", delta="{?event that nobody knows}")
    usage = {"note": "{!usage}", "output_tokens": 9}
    yield _completed(_REASONING, *_ODD, *_MESSAGES, _CALL, **echo, usage=usage)


def responses(planter: Planter) -> list[Script]:
    row = planter.script
    tagged = _message("m1", "<think>{?think tag in a message}</think>Answer {+message after a think tag}.")
    parts = [
        {"type": "output_text", "text": "{?label on a part}", "thought": True},
        {"type": "output_text", "text": "Answer {+part after a labelled one}."},
    ]
    half = _message("m1", "") | {"content": parts}
    thought = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "{?summary of a whole response}"}]}
    begun: tuple[Step, ...] = (
        _event("output_item.added", output_index=0, item={"id": "r1", "type": "reasoning", "summary": []}),
        _event("reasoning_text.delta", item_id="r1", output_index=0, delta="{?reasoning before a failure}"),
    )
    error = {"code": "server_error", "message": "{?message of a failed response}"}
    return [
        row("items", *_items(), ends=ENDS_OF_A_CALL, headers=_HEADERS),
        row("think-tag", *_in_pieces(0, tagged), _completed(tagged)),
        row("labelled-part", *_at_once(0, half), _completed(half)),
        row("whole", _response([thought, _message("m1", "Whole {+whole response}.")]), content_type=JSON),
        row("failed", *begun, _event("failed", response={"status": "failed", "error": error}), ends=FAILED),
        row("error-event", *begun, {"type": "error", "message": "{?error event}", "code": "{!code of an error}"}, ends=BROKEN),
        row("refused", {"error": {"message": "{?body of a refusal}", "type": "{!type of a refusal}"}}, status=429, **_REFUSAL),
    ]


def _tokens(ids: Harmony, last: Token = Token.RETURN, beside: str = "") -> list[Step]:
    """Events as vLLM sends them: a few ids at a time, with text ``beside`` them, which must be ignored."""
    choice = {"index": 0, "text": beside, "token_ids": ..., "finish_reason": None}
    end = {"index": 0, "text": beside, "token_ids": [], "finish_reason": "stop", "stop_reason": MARKER_IDS[last]}
    return [(ids, {"choices": [choice]}), {"choices": [end]}, _DONE]


_CHANNELS = [
    ("analysis", "{?analysis}"),
    ("commentary", "I look at {+preamble}."),
    ("commentary", '{"query": "{?call whose header was lost}"}'),
    ("nobody", "{?channel that nobody knows}"),
    ("analysis to=functions.look", "{?call on the analysis channel}"),
    ("final to=functions.look", "{?final that is addressed to a tool}"),
    ("analysis", "{?analysis before the final}"),
]
_FINAL = "<|start|>assistant<|channel|>final<|message|>"


def harmony(planter: Planter) -> list[Script]:
    frames = "<|start|>assistant".join(f"<|channel|>{name}<|message|>{text}<|end|>" for name, text in _CHANNELS)
    # A final header that the model quotes in its reasoning is ordinary text.
    quoted = f"<|end|>{_FINAL}{{?quoted final}}"
    answered = f"<|end|>{_FINAL}Answer {{+final after a quoted final}}.<|return|>"
    called = (
        "<|channel|>analysis<|message|>{?analysis before a call}<|end|>"
        f"<|start|>assistant<|channel|>commentary to=functions.{{!name of a tool}} <|constrain|>json<|message|>{_ARGUMENTS}<|call|>"
    )
    refused = {"object": "error", "message": "{?body of a refusal}"}
    row = planter.script
    return [
        row(
            "channels",
            *_tokens(Harmony(f"{frames}{_FINAL}Here is **{{+final}}**.<|return|>"), beside="{?text beside the token ids}"),
            headers=_HEADERS,
        ),
        row("quoted", *_tokens(Harmony("<|channel|>analysis<|message|>", quoted, answered))),
        row("call", *_tokens(Harmony(called), Token.CALL), ends=("failed", *ENDS_OF_A_CALL)),
        row("refused", refused, status=400, **_REFUSAL),
    ]


_LOOKS = "First I compare the options from one side and then from the other. I weigh each option before I choose one. " * 5
"""Reasoning of which the product can say what kind of work it is."""
_FIRST_LINE_SECONDS = TICKS[0] + 1.0
"""How long an answer thinks so that people have seen a line."""
COPIER = "copier"
"""The model that is asked about the other model's reasoning."""
_HEADINGS = {
    "a heading": "Comparing {} with the options",
    "a quoted name in a heading": 'Working out what "{}" means',
    "a file in a heading": "Reading {}.pdf",
    "the newest heading": "Comparing {} and the train",
}
"""Headings of which the product can say what kind of work they are, with a hidden word each."""


def summarized(planter: Planter) -> list[Script]:
    """For a Chat Completions server with ``summaries = "model"``: long reasoning, and a summarizer that answers with a number and with
    hidden words wherever there is room for some."""
    word = "{!reasoning that a summarizer copies}"
    copied = f'{{"kind": 1, "about": ["{word}"], "line": "Kept {word} to myself"}}'
    return [
        planter.script(
            "summarized",
            _said(f"{_LOOKS}What does {word} mean? {word} is a secret. {_LOOKS}", "reasoning"),
            PAUSE,
            _chunk({"content": "Answer {+answer after a summary}."}),
            _chunk({}, "stop"),
            asides=(COPIER,),
            thinks_seconds=_FIRST_LINE_SECONDS,
        ),
        planter.script(COPIER, _chunk({"content": copied}), _chunk({}, "stop"), is_aside=True),
    ]


def trusting(planter: Planter) -> list[Script]:
    """For a Responses server with ``summaries = "server"``: reasoning sent as a summary, and headings with hidden words."""
    raw = f"{_LOOKS}We should keep {{!reasoning that a server calls a summary}} to ourselves, whoever asks."
    words = {place: f"{{!{place} of a server's summary}}" for place in _HEADINGS}
    headings = "\n\n".join(f"**{heading.format(words[place])}**\n\n{_LOOKS}" for place, heading in _HEADINGS.items())
    rows = {"trusted": (raw, raw), "trusted-headings": (f"{_LOOKS}Think of {', '.join(words.values())}.", headings)}
    return [
        planter.script(name, *_with_summary(thought, text, name), thinks_seconds=_FIRST_LINE_SECONDS)
        for name, (thought, text) in rows.items()
    ]


def _with_summary(thought: str, text: str, name: str) -> Iterator[Step]:
    item = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
    message = _message("m1", f"Answer {{+message after a server's summary, {name}}}.")
    added, done = _at_once(0, item, summary=[])
    at = {"item_id": "r1", "output_index": 0, "summary_index": 0}
    yield from (added, (thought, _event("reasoning_text.delta", **at, delta=...)))
    yield from ((text, _event("reasoning_summary_text.delta", **at, delta=...)), done, PAUSE)
    yield from (*_at_once(1, message), _completed(item, message))


LABELS: dict[str, Event] = {
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
"""Labels that mark text as not the answer."""
_NOT_OF_ITEMS = ("type reasoning",)
"""Labels that make no sense on items: an item of another type is not a message."""
# Other fields that a server sends, and values in the answer field that are not plain text.
_OTHER_FIELDS: list[Event] = [
    {"reasoning_content": "{?the same words in both fields}", "content": "{?the same words in both fields}"},
    {"content": [{"type": "text", "text": [{"type": "thinking", "text": "{?list in a part}"}]}]},
    {"content": [{"type": "text", "text": {"type": "reasoning", "content": "{?object in a part}"}}]},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "{?parts of a thought}"}]}]},
    {"content": [{"type": "redacted_thinking", "data": "{?redacted thought}"}, {"text": "{?part without a type}"}]},
    {"content": {"type": "reasoning", "text": "{?object in the answer field}"}},
    {"content": [{"type": "text", "text": "", "annotations": [{"title": "{?annotation of a part}"}]}]},
    {"refusal": [{"type": "reasoning", "text": "{?refusal that is a list}"}]},
    {"refusal": {"text": "{?refusal that is an object}"}},
    {"audio": {"transcript": "{?transcript}", "id": "{!id of audio}"}},
    {"annotations": [{"type": "url_citation", "url_citation": {"title": "{?citation}", "url": "{?address of a citation}"}}]},
    {"images": [{"image_url": {"url": "data:{!image}"}}], "files": [{"file_id": "{!id of a file}"}]},
    {"thinking_blocks": [{"type": "thinking", "thinking": "{?thinking_blocks}"}], "reasoning_text": "{?reasoning_text}"},
    {"thoughts": "{?thoughts}", "reasoning_text_summary": "{?summary of reasoning}"},
    {"function_call": {"name": "{!function_call}", "arguments": "{?arguments of a function_call}"}},
]


def chat_shapes(planter: Planter) -> list[Script]:
    """Labels and shapes for a Chat Completions server. Labels that hide at once share one answer; whole messages and late labels have their
    own."""
    row = planter.script
    around = {"citations": ["{?citations}"], "model": "{!name of a model}", "object": "{!object}"}
    last = {"index": 0, "delta": {"role": "assistant", "content": "Answer {+answer among other fields}."}, "finish_reason": None}
    parts = [{"type": "text", "text": f"{{?{name} on a whole part}}", **label} for name, label in LABELS.items()]
    parts.append({"type": "text", "text": "Answer {+part among labelled parts}."})
    return [
        row("labels", *_labelled_chunks()),
        row(
            "other-fields",
            *itertools.chain(*((_ROLE, _chunk(delta)) for delta in _OTHER_FIELDS)),
            {"choices": [last, {"index": 1, "delta": {"content": "{?another choice}"}}], **around},
            # An end for a reason that nobody knows is no complete answer.
            _chunk({}, "{!finish_reason}", stop_reason="{?stop_reason}"),
            _DONE,
            ends=FAILED,
        ),
        row("whole-parts", _message_of_chat(content=parts), content_type=JSON),
        *(_labelled_chat(planter, *one) for one in planter.some([*itertools.product(LABELS, ("message", "delta", "choice"))])),
        *(_shaped_chat(planter, shape) for shape in planter.some(all_shapes())),
    ]


def _labelled_chunks() -> Iterator[Step]:
    """Each label on a delta, a choice, a part and a refusal, and ahead of the text."""
    for name, label in {**LABELS, "phase commentary": {"phase": "commentary"}}.items():
        part = {"type": "text", "text": f"{{?{name} on a part}}", **label}
        yield from (_ROLE, _chunk({"content": f"{{?{name} on a delta}}", **label}))
        yield from (_ROLE, _chunk({"content": f"{{?{name} on a choice}}"}, **label))
        yield from (_ROLE, _chunk({"content": [part]}))
        yield from (_ROLE, _chunk({"content": "", **label}), _chunk({"content": f"{{?{name} ahead}}"}))
        yield from (_ROLE, _chunk({"refusal": f"{{?{name} on a refusal}}", **label}))
    # What follows such a tag is shown when the answer is complete, and only then.
    yield from (_ROLE, _chunk({"refusal": "<think>{?think tag in a refusal}</think>"}))
    yield from (_chunk({"role": "assistant", "content": "Answer {+answer after labelled text}."}), *_STOP)


def _labelled_chat(planter: Planter, name: str, place: str) -> Script:
    """A label on a whole message, or after the text, with the end of the answer."""
    label = LABELS[name]
    if place == "message":
        message = _message_of_chat(content=f"{{?{name} on a whole message}}", **label)
        return planter.script(f"whole with {name}", message, ends=_ENDS, content_type=JSON)
    late, last = f"{name} too late, on a {place}", _chunk(label, "stop") if place == "delta" else _chunk({}, "stop", **label)
    return planter.script(f"late {name} on a {place}", _said(f"{{?{late}}}"), last, _DONE, ends=_ENDS, withdrawn=late)


def _shaped_chat(planter: Planter, shape: Shape) -> Script:
    text = _of_a_shape(shape.name, shape.text, shape.name, shows=shape.shows)
    if planter.chooser.random() < 0.2:
        return planter.script(shape.name, _message_of_chat(content=text), ends=_ENDS, content_type=JSON)
    return planter.script(shape.name, _chunk({"role": "assistant", "content": ""}), _said(text), *_STOP, ends=_ENDS)


def responses_shapes(planter: Planter) -> list[Script]:
    """Labels and shapes for a Responses server. Each shape has its response, because all messages of a response are judged together."""
    row, labelled = planter.script, [*_labelled_items()]
    last, whole = _message("answer", "Answer {+message after labelled ones}."), "Answer {+message after labelled ones, whole}."
    output = [*(item for item, on_event in labelled if on_event.keys() <= {"part"}), _message("answer", whole)]
    extra = {"output_text": "{?output_text of a response}", "title": "{?title of a response}"}
    return [
        row(
            "labelled-items",
            *itertools.chain(*(_in_pieces(at, *one) for at, one in enumerate([*labelled, (last, {})]))),
            _completed(*(item for item, _ in labelled), last),
        ),
        row("labelled-items-whole", _response(output, **extra), content_type=JSON),
        *(_late_item(planter, *one) for one in planter.some([*itertools.product(LABELS, ("item", "part", "response"))])),
        *(_shaped_item(planter, number, shape) for number, shape in enumerate(planter.some(all_shapes()))),
    ]


def _labelled_items() -> Iterator[tuple[Item, Event]]:
    """A message for each label on each of its parts, and the labels of its events."""
    for name, label in LABELS.items():
        if name not in _NOT_OF_ITEMS:
            yield _message(f"i {name}", f"{{?{name} on an item}}", **label), {}
            yield _message(f"e {name}", f"{{?{name} on an event}}"), label
        yield _on_its_part(_message(f"p {name}", f"{{?{name} on a part of an item}}"), label), {"part": label}


def _on_its_part(item: Item, label: Event) -> Item:
    return {**item, "content": [{**item["content"][0], **label}]}


def _late_item(planter: Planter, name: str, place: str) -> Script:
    label, late = LABELS[name], f"{name} too late, on the {place}"
    item = _message("m", f"{{?{late}}}")
    labelled = _on_its_part(item, label) if place == "part" else {**item, **label}
    *steps, _ = _in_pieces(0, item)
    done = _event("output_item.done", output_index=0, item=item if place == "response" else labelled)
    return planter.script(f"late {name} on the {place}", *steps, done, _completed(labelled), ends=_ENDS, withdrawn=late)


def _shaped_item(planter: Planter, number: int, shape: Shape) -> Script:
    item = _message("m0", _of_a_shape(shape.name, shape.text, shape.name, shows=shape.shows))
    if not number % 3:
        return planter.script(f"items-{number}", _response([item]), ends=_ENDS, content_type=JSON)
    return planter.script(f"items-{number}", *_in_pieces(0, item), _completed(item), ends=_ENDS)


_SHAPES_OF_IDS = 20
_MORE = " — größer, 大きい, ❤️."
"""Characters of several bytes, so that cuts fall inside some of them."""


def harmony_shapes(planter: Planter) -> list[Script]:
    """For a server that sends token ids. A label for another author than the assistant ends the answer. Each shape is reasoning in ordinary
    tokens, and the answer follows on its own channel."""
    scripts = []
    for name in planter.some([*LABELS]):
        ids = Harmony(f"<|channel|>final<|message|>{{?ids with the label {name}}}<|return|>")
        choice = {"index": 0, "text": f"{{?text beside ids with the label {name}}}", "token_ids": ids, "finish_reason": None}
        scripts.append(planter.script(f"ids with {name}", {"choices": [{**choice, **LABELS[name]}]}, _DONE, ends=("interrupted", *_ENDS)))
    shapes = planter.some(all_shapes())
    for number, at in enumerate(range(0, len(shapes), _SHAPES_OF_IDS)):
        parts = ["<|channel|>analysis<|message|>"]
        for shape in shapes[at : at + _SHAPES_OF_IDS]:
            parts += [shape.filled(f"{{?{shape.name}}}", f"{{?{shape.name}, its answer}}") + _MORE]
            parts += ["<|end|><|start|>assistant<|channel|>analysis<|message|>"]
        parts[-1] = f"<|end|>{_FINAL}Answer {{+final after thoughts {number}}}{_MORE}<|return|>"
        scripts.append(planter.script(f"thoughts-{number}", *_tokens(Harmony(*parts))))
    return scripts


@dataclass(frozen=True, slots=True)
class Played:
    """A model server that is played: the kind by which the product knows it, its answers, and the source of reasoning summaries with the
    model that writes them."""

    kind: str
    scripts: Callable[[Planter], list[Script]]
    summaries: tuple[str, str] = ("built-in", "")


SERVERS = {
    "chat": Played("chat", chat),
    "responses": Played("responses", responses),
    "summarized": Played("chat", summarized, ("model", COPIER)),
    "trusting": Played("responses", trusting, ("server", "")),
    "harmony": Played("harmony-vllm", harmony),
    "chat-shapes": Played("chat", chat_shapes),
    "responses-shapes": Played("responses", responses_shapes),
    "harmony-shapes": Played("harmony-vllm", harmony_shapes),
}
"""The played servers by name."""
