"""Scripted token-id answers, with a marker on each channel and in each hidden place."""

from __future__ import annotations

import json

from chatui.canary.answers.planting import ENDS_OF_A_CALL, Planter, Script, event, headers
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
