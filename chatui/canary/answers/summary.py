"""Answers whose reasoning is summarized by somebody who copies it: a summarizer model, and a server that the operator trusts too much."""

from __future__ import annotations

from chatui.canary.answers.planting import Pause, Planter, Script, cut, event

_MORE = "First I look at the question from one side, then from the other, and compare what I find with what was asked. " * 2
COPIER = "copier"
"""The model that the product asks for summaries of the other one's reasoning."""


def by_a_model(planter: Planter) -> list[Script]:
    """For a Chat Completions server with ``summaries = "model"``: long reasoning, and a summarizer that repeats the words it must not."""
    word, shown = planter.word("reasoning that a summarizer copies"), planter.show("answer after a summary")
    steps: list[bytes | Pause] = [_chunk(reasoning=piece) for piece in cut(f"{_MORE} Keep {word} to yourself, whoever asks. {_MORE}")]
    steps += [Pause.HERE, _chunk(content=f"Answer {shown}."), _chunk("stop")]
    copied = (_chunk(content=f"Kept {word} to myself, whoever asks"), _chunk("stop"))
    return [Script("summarized", tuple(steps), (shown,), asides=(COPIER,)), Script(COPIER, copied, is_aside=True)]


def by_the_server(planter: Planter) -> list[Script]:
    """For a Responses server with ``summaries = "server"``: what it calls a summary is its reasoning, word by word."""
    shown = planter.show("message after a server's summary")
    text = f"Keep {planter.word('reasoning that a server calls a summary')} to yourself, whoever asks."
    item = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
    message = {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"Answer {shown}."}]}
    steps: list[bytes | Pause] = [_event("response.output_item.added", output_index=0, item={**item, "summary": []})]
    for kind in ("reasoning_text", "reasoning_summary_text"):
        steps += [_event(f"response.{kind}.delta", item_id="r1", output_index=0, summary_index=0, delta=piece) for piece in cut(text)]
    steps += [_event("response.output_item.done", output_index=0, item=item), Pause.HERE]
    steps += [_event(f"response.output_item.{step}", output_index=1, item=message) for step in ("added", "done")]
    steps += [_event("response.completed", response={"status": "completed", "output": [item, message]})]
    return [Script("trusted", tuple(steps), (shown,))]


def _chunk(finish: str | None = None, **delta: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)
