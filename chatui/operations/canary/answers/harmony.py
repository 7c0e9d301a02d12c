"""Scripted token-id answers, with a marker on each channel and in each hidden place, and what other models say about the reasoning.

A summarizer, and a server that writes summaries, try to bring hidden words into the lines that people see.
"""

from __future__ import annotations

import json

from chatui.operations.canary.scripts import ENDS_OF_A_CALL, Pause, Planter, Script, cut, event, headers
from renderer.activities.lines import TICKS
from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token

_IDS_IN_A_CHUNK = 3


def scripts(planter: Planter, vocabulary: Vocabulary) -> list[Script]:
    """All scripts, in the order in which they are requested."""
    return [_channels(planter, vocabulary), _quoted(planter, vocabulary), _call(planter, vocabulary), _refused(planter)]


def _channels(planter: Planter, vocabulary: Vocabulary) -> Script:
    shown, preamble = planter.show("final"), planter.show("preamble")
    frames = [
        ("analysis", planter.text("analysis")),
        ("commentary", f"I look at {preamble}."),
        ("commentary", json.dumps({"query": planter.text("call whose header was lost")})),
        ("nobody", planter.text("channel that nobody knows")),
        ("analysis to=functions.look", planter.text("call on the analysis channel")),
        ("final to=functions.look", planter.text("final that is addressed to a tool")),
        ("analysis", planter.text("analysis before the final")),
    ]
    body = "<|start|>assistant".join(f"<|channel|>{channel}<|message|>{text}<|end|>" for channel, text in frames)
    ids = _ids(f"{body}<|start|>assistant<|channel|>final<|message|>Here is **{shown}**.<|return|>", vocabulary)
    return Script(
        "channels", _events_of(ids, Token.RETURN, planter.text("text beside the token ids")), (shown, preamble), headers=headers(planter)
    )


def _quoted(planter: Planter, vocabulary: Vocabulary) -> Script:
    """The model quotes a final header in its reasoning: as ordinary text, without marker ids."""
    shown = planter.show("final after a quoted final")
    quoted = f"<|end|><|start|>assistant<|channel|>final<|message|>{planter.text('quoted final')}"
    ids = [*_ids("<|channel|>analysis<|message|>", vocabulary), *vocabulary.encode(quoted)]
    ids += _ids(f"<|end|><|start|>assistant<|channel|>final<|message|>Answer {shown}.<|return|>", vocabulary)
    return Script("quoted", _events_of(ids, Token.RETURN, ""), (shown,))


def _call(planter: Planter, vocabulary: Vocabulary) -> Script:
    name, arguments = planter.word("name of a tool"), json.dumps({"query": planter.text("arguments of a call")})
    text = (
        f"<|channel|>analysis<|message|>{planter.text('analysis before a call')}<|end|>"
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"
    )
    return Script("call", _events_of(_ids(text, vocabulary), Token.CALL, ""), ends=("failed", *ENDS_OF_A_CALL))


def _refused(planter: Planter) -> Script:
    body = json.dumps({"object": "error", "message": planter.text("body of a refusal")}).encode()
    return Script("refused", (body,), ends=("failed",), status=400, content_type="application/json")


def _ids(text: str, vocabulary: Vocabulary) -> list[int]:
    return ids_of_pieces(pieces_of_text(text), vocabulary)


def _events_of(ids: list[int], last: Token, text: str) -> tuple[bytes, ...]:
    """Events as vLLM sends them: a few ids at a time, with ``text``, which must be ignored."""
    groups = [ids[at : at + _IDS_IN_A_CHUNK] for at in range(0, len(ids), _IDS_IN_A_CHUNK)]
    steps = [event({"choices": [{"index": 0, "text": text, "token_ids": group, "finish_reason": None}]}) for group in groups]
    end = {"index": 0, "text": text, "token_ids": [], "finish_reason": "stop", "stop_reason": MARKER_IDS[last]}
    return (*steps, event({"choices": [end]}), b"data: [DONE]\n\n")


_LOOKS = "First I compare the options from one side and then from the other. I weigh each option before I choose one. " * 5
"""Reasoning of which the product can say what kind of work it is."""
_FIRST_LINE_SECONDS = TICKS[0] + 1.0
"""How long an answer thinks so that people have seen a line."""
COPIER = "copier"
"""The model that is asked about the other model's reasoning."""


def by_a_model(planter: Planter) -> list[Script]:
    """For a Chat Completions server with ``summaries = "model"``: long reasoning, and a summarizer that answers with a number and with
    hidden words wherever there is room for some."""
    word, shown = planter.word("reasoning that a summarizer copies"), planter.show("answer after a summary")
    steps: list[bytes | Pause] = [_chunk(reasoning=piece) for piece in cut(f"{_LOOKS}What does {word} mean? {word} is a secret. {_LOOKS}")]
    steps += [Pause.HERE, _chunk(content=f"Answer {shown}."), _chunk("stop")]
    copied = json.dumps({"kind": 1, "about": [word], "line": f"Kept {word} to myself"})
    copier = Script(COPIER, (_chunk(content=copied), _chunk("stop")), is_aside=True)
    return [Script("summarized", tuple(steps), (shown,), asides=(COPIER,), thinks_seconds=_FIRST_LINE_SECONDS), copier]


_HEADINGS = {
    "a heading": "Comparing {} with the options",
    "a quoted name in a heading": 'Working out what "{}" means',
    "a file in a heading": "Reading {}.pdf",
    "the newest heading": "Comparing {} and the train",
}
"""Headings of which the product can say what kind of work they are, with a hidden word each."""


def by_the_server(planter: Planter) -> list[Script]:
    """For a Responses server with ``summaries = "server"``: reasoning sent as a summary, and headings with hidden words."""
    raw = f"{_LOOKS}We should keep {planter.word('reasoning that a server calls a summary')} to ourselves, whoever asks."
    words = {place: planter.word(f"{place} of a server's summary") for place in _HEADINGS}
    headings = "\n\n".join(f"**{heading.format(words[place])}**\n\n{_LOOKS}" for place, heading in _HEADINGS.items())
    return [
        _summarized("trusted", planter, raw, raw),
        _summarized("trusted-headings", planter, f"{_LOOKS}Think of {', '.join(words.values())}.", headings),
    ]


def _summarized(name: str, planter: Planter, thought: str, text: str) -> Script:
    shown = planter.show(f"message after a server's summary, {name}")
    item = {"id": "r1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
    message = {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"Answer {shown}."}]}
    steps: list[bytes | Pause] = [_event("response.output_item.added", output_index=0, item={**item, "summary": []})]
    for kind, delta in (("reasoning_text", thought), ("reasoning_summary_text", text)):
        steps += [_event(f"response.{kind}.delta", item_id="r1", output_index=0, summary_index=0, delta=piece) for piece in cut(delta)]
    steps += [_event("response.output_item.done", output_index=0, item=item), Pause.HERE]
    steps += [_event(f"response.output_item.{step}", output_index=1, item=message) for step in ("added", "done")]
    steps += [_event("response.completed", response={"status": "completed", "output": [item, message]})]
    return Script(name, tuple(steps), (shown,), thinks_seconds=_FIRST_LINE_SECONDS)


def _chunk(finish: str | None = None, **delta: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)
