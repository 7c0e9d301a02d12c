"""Scripted Chat Completions answers, with a marker in each hidden place."""

from __future__ import annotations

import json
from typing import Any

from chatui.operations.canary.scripts import ENDS_OF_A_CALL, Pause, Planter, Script, cut, event, headers

_DONE = b"data: [DONE]\n\n"
_JSON = "application/json"


def scripts(planter: Planter) -> list[Script]:
    """All scripts, in the order in which they are requested."""
    return [
        _fields(planter),
        _paused(planter),
        *(_in_the_answer(planter, name, text) for name, text in _LEAKS.items()),
        *(_after_the_answer(planter, name, text) for name, text in _AFTER_ANSWER.items()),
        _closing_tag(planter),
        _labelled(planter),
        _whole(planter),
        _cut_short(planter),
        _stopped(planter),
        _broken_off(planter),
        _error_inside(planter),
        *_refusals(planter),
    ]


def _fields(planter: Planter) -> Script:
    shown = planter.show("answer after every hidden field")
    chunks = [_chunk(role="assistant", content="")]
    for name in ("reasoning", "reasoning_content", "thinking", "analysis"):
        chunks += [_chunk(**{name: piece}) for piece in cut(planter.text(name))]
    details = [
        {"type": "reasoning.text", "text": planter.text("reasoning_details text")},
        {"type": "reasoning.summary", "summary": planter.text("reasoning_details summary")},
        {"type": "reasoning.encrypted", "data": planter.word("reasoning_details encrypted")},
    ]
    chunks.append(_chunk(reasoning_details=details))
    for channel in ("analysis", "commentary", "nobody knows"):
        chunks.append(_chunk(channel=channel, content=planter.text(f"content on channel {channel}")))
    chunks += [
        _chunk(content=[{"type": "thinking", "thinking": planter.text("thinking part")}, {"type": "text", "text": ""}]),
        _chunk(audio={"transcript": planter.text("audio")}, annotations=[{"note": planter.text("annotation")}]),
        _chunk(
            provider_specific_fields={"reasoning": planter.text("field of a provider")}, encrypted_content=planter.word("encrypted_content")
        ),
        event({"choices": [{"index": 1, "delta": {"content": planter.text("second choice")}}]}),
        event({"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [{"token": planter.word("logprobs")}]}}]}),
        event({"choices": [], "id": planter.word("id"), "system_fingerprint": planter.word("system_fingerprint")}),
        event(
            {"choices": [], "prompt": planter.text("echoed prompt"), "messages": [{"role": "developer", "content": planter.text("echo")}]}
        ),
        f": {planter.text('comment line')}\n\nevent: ping\ndata: {planter.text('line that is no JSON')}\n\n".encode(),
        *(_chunk(content=piece) for piece in cut(f"Here is **{shown}**.")),
        _chunk(tool_calls=[_call(planter)]),
        _chunk("stop"),
        event({"choices": [], "usage": {"prompt_tokens": planter.word("usage"), "completion_tokens": 7}}),
        _DONE,
    ]
    return Script("fields", tuple(chunks), (shown,), ENDS_OF_A_CALL, headers=headers(planter))


def _call(planter: Planter) -> dict[str, object]:
    arguments = json.dumps({"query": planter.text("arguments of a call")})
    return {"index": 0, "id": planter.word("id of a call"), "function": {"name": planter.word("name of a tool"), "arguments": arguments}}


# Answer fields of servers without channels: hidden text, then visible text.
_LEAKS = {
    "think-tag": "<think>{}</think>\n\n{}",
    "harmony-text": "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "collapsed": "analysis{}assistantfinal{}",
    "disguised-tag": "\ufeff&lt;think&gt;{}&lt;/think&gt;{}",
    "mistral-tag": "[THINK]{}[/THINK]{}",
    "details": '<details type="reasoning" done="true">\n<summary>Thought</summary>\n{}\n</details>\n\n{}',
}
# The same after a visible answer, which stays: visible text, then hidden text.
_AFTER_ANSWER = {
    "tag-behind": "{}\n<thinking>{}</thinking>",
    "harmony-behind": "{}<|end|><|start|>assistant<|channel|>analysis<|message|>{}",
    "harmony-in-pieces": "{}\n<|channel|>\nanalysis\n<|message|>\n{}",
    "full-width": "{}＜｜end｜＞＜｜start｜＞assistant＜｜channel｜＞analysis＜｜message｜＞{}",
    "call-behind": "{}<|call|>{}",
}
_LABELS: dict[str, dict[str, Any]] = {
    "role": {"role": "tool"},
    "phase": {"phase": "commentary"},
    "recipient": {"recipient": "functions.look"},
    "type": {"type": "reasoning"},
    "thought": {"thought": True},
    "tool_call_id": {"tool_call_id": "c1"},
    "extra of a provider": {"extra_content": {"google": {"thought": True}}},
}


def _in_the_answer(planter: Planter, name: str, text: str) -> Script:
    shown = planter.show(name)
    content = text.format(planter.text(f"{name} in the answer"), f"Answer {shown}.")
    return Script(name, (*(_chunk(content=piece) for piece in cut(content)), _chunk("stop"), _DONE), (shown,))


def _after_the_answer(planter: Planter, name: str, text: str) -> Script:
    shown = planter.show(name)
    content = text.format(f"Answer {shown}.", planter.text(f"{name} in the answer"))
    return Script(name, (*(_chunk(content=piece) for piece in cut(content)), _chunk("stop"), _DONE), (shown,))


def _closing_tag(planter: Planter) -> Script:
    """The opening tag is missing. It arrives all at once: in pieces, the text before the tag would be shown until the tag arrives."""
    shown = planter.show("answer after a closing tag")
    content = f"{planter.text('text before a closing tag')}\n</think>\n\nAnswer {shown}."
    return Script("closing-tag", (_chunk(content=content), _chunk("stop"), _DONE), (shown,))


def _labelled(planter: Planter) -> Script:
    """Text in the answer field with a label that marks it as something else: on the delta, the choice, or a part."""
    shown = planter.show("answer after labelled text")
    steps: list[bytes] = []
    for name, label in _LABELS.items():
        steps.append(_chunk(**{"content": planter.text(f"{name} on a delta"), **label}))
        choice = {"index": 0, "delta": {"content": planter.text(f"{name} on a choice")}, **label}
        part = {"type": "text", "text": planter.text(f"{name} on a part"), **label}
        steps += [_chunk(role="assistant"), event({"choices": [choice]}), _chunk(content=[part])]
    steps += [_chunk(role="tool"), _chunk(content=planter.text("text after a role")), _chunk(role="assistant", content=f"Answer {shown}.")]
    return Script("labelled", (*steps, _chunk("stop"), _DONE), (shown,))


def _paused(planter: Planter) -> Script:
    """Pauses after half of the hidden text, and after half of the answer, where the page is reloaded."""
    first, second = planter.show("before the pause"), planter.show("after the pause")
    steps: list[bytes | Pause] = [_chunk(reasoning_content=piece) for piece in cut(planter.text("reasoning before a reload"))]
    steps += [Pause.HERE, *(_chunk(reasoning_content=piece) for piece in cut(planter.text("reasoning after a reload")))]
    steps += [_chunk(content=f"First {first}, "), Pause.HERE, _chunk(content=f"then {second}."), _chunk("stop"), _DONE]
    return Script("paused", tuple(steps), (first, second))


def _stopped(planter: Planter) -> Script:
    steps = [_chunk(reasoning_content=piece) for piece in cut(planter.text("reasoning that was stopped"))]
    return Script("stopped", (*steps, Pause.HERE), ends=())


def _whole(planter: Planter) -> Script:
    shown = planter.show("whole answer")
    message = {"role": "assistant", "reasoning_content": planter.text("reasoning of a whole answer"), "content": f"Whole {shown}."}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "note": planter.text("field of a whole answer")}
    return Script("whole", (json.dumps(body).encode(),), (shown,), content_type=_JSON)


def _cut_short(planter: Planter) -> Script:
    shown = planter.show("answer that was cut")
    steps = (_chunk(reasoning=planter.text("reasoning of a cut answer")), _chunk(content=f"Cut {shown} and"), _chunk("length"), _DONE)
    return Script("cut", steps, (shown,), ends=("incomplete",))


def _broken_off(planter: Planter) -> Script:
    return Script("broken-off", (_chunk(reasoning=planter.text("reasoning of a stream that broke")),), ends=("failed", "interrupted"))


def _error_inside(planter: Planter) -> Script:
    shown = planter.show("half an answer before an error")
    steps = (
        _chunk(reasoning=planter.text("reasoning before an error")),
        _chunk(content=f"Half {shown} "),
        event({"error": {"message": planter.text("error inside a stream"), "code": 500, "type": planter.word("type of an error")}}),
    )
    return Script("error-inside", steps, (shown,), ends=("failed", "interrupted"))


def _refusals(planter: Planter) -> list[Script]:
    refused = json.dumps({"error": {"message": planter.text("body of a refusal"), "param": planter.word("refused parameter")}})
    failed = f"<html><title>{planter.text('title of an error page')}</title></html>"
    return [
        Script("refused", (refused.encode(),), ends=("failed",), status=400, content_type=_JSON, headers=headers(planter)),
        Script("failing", (failed.encode(),), ends=("failed",), status=500, content_type="text/html"),
    ]


def _chunk(finish: str | None = None, **delta: Any) -> bytes:
    return event({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
