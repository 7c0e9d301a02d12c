"""Answers of a Chat Completions server, with a marker in each place of one that nobody may read."""

from __future__ import annotations

import json
from typing import Any

from chatui.canary.answers.planting import Pause, Planter, Script, cut, event, headers

_DONE = b"data: [DONE]\n\n"
_JSON = "application/json"


def scripts(planter: Planter) -> list[Script]:
    """All of them, in the order in which they are asked for."""
    return [
        _fields(planter),
        _paused(planter),
        *(_in_the_answer(planter, name, text) for name, text in _LEAKS.items()),
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
    return Script("fields", tuple(chunks), (shown,), headers=headers(planter))


def _call(planter: Planter) -> dict[str, object]:
    arguments = json.dumps({"query": planter.text("arguments of a call")})
    return {"index": 0, "id": planter.word("id of a call"), "function": {"name": planter.word("name of a tool"), "arguments": arguments}}


# What servers that know no channels put into the answer field itself: the hidden text, then the visible.
_LEAKS = {
    "think-tag": "<think>{}</think>\n\n{}",
    "harmony-text": "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "collapsed": "analysis{}assistantfinal{}",
}


def _in_the_answer(planter: Planter, name: str, text: str) -> Script:
    shown = planter.show(name)
    content = text.format(planter.text(f"{name} in the answer"), f"Answer {shown}.")
    return Script(name, (*(_chunk(content=piece) for piece in cut(content)), _chunk("stop"), _DONE), (shown,))


def _paused(planter: Planter) -> Script:
    """Half the hidden text, then half the answer: somebody reloads the page in between, both times."""
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
