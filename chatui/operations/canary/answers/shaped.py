"""Scripted answers in every known shape in which a server leaks reasoning, for each wire format, in random pieces and whole.

The shapes are in ``shapes.jsonl``.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from chatui.operations.canary.scripts import Planter, Script, Shape, event, pieces, scattered
from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token

_DONE = b"data: [DONE]\n\n"
_JSON = "application/json"
_ITEMS = 20
_MAX_IDS = 40
# Characters of several bytes, so that cuts fall inside some of them.
_MORE = " — größer, 大きい, ❤️."


def by_chat(planter: Planter, shapes: Sequence[Shape], chooser: random.Random) -> list[Script]:
    """For a Chat Completions server: one answer for each shape, occasionally not streamed."""
    return [_chat(planter, shape, chooser, whole=chooser.random() < 0.2) for shape in shapes]


def by_items(planter: Planter, shapes: Sequence[Shape], chooser: random.Random) -> list[Script]:
    """For a Responses server: one response for each shape, because all messages of a response are judged together."""
    return [_items(planter, number, [shape], chooser, whole=not number % 3) for number, shape in enumerate(shapes)]


def by_ids(planter: Planter, shapes: Sequence[Shape], vocabulary: Vocabulary, chooser: random.Random) -> list[Script]:
    """For a server that sends token ids: each shape is reasoning in ordinary tokens, and the answer follows on its own channel."""
    return [_thoughts(planter, number, group, vocabulary, chooser) for number, group in enumerate(_groups(shapes, _ITEMS))]


def _groups(shapes: Sequence[Shape], size: int) -> Iterator[list[Shape]]:
    return (list(itertools.islice(shapes, at, at + size)) for at in range(0, len(shapes), size))


def _chat(planter: Planter, shape: Shape, chooser: random.Random, *, whole: bool) -> Script:
    text, shows = _filled(planter, shape)
    if whole:
        body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
        return Script(shape.name, (json.dumps(body).encode(),), shows, _ENDS, content_type=_JSON)
    is_ascii = chooser.random() < 0.5
    chunks = [_chunk({"content": piece}, is_ascii=is_ascii) for piece in pieces(text, chooser)]
    steps = scattered([_chunk({"role": "assistant", "content": ""}), *chunks, _chunk({}, "stop"), _DONE], chooser)
    return Script(shape.name, tuple(steps), shows, _ENDS)


def _filled(planter: Planter, shape: Shape) -> tuple[str, tuple[str, ...]]:
    """The answer, and the visible markers that must arrive."""
    hidden = planter.text(shape.name)
    if not shape.shows:
        return shape.filled(hidden, "Answer forty-two."), ()
    shown = planter.show(shape.name)
    return shape.filled(hidden, f"Answer {shown}."), (shown,)


_ENDS = ("completed", "failed", "incomplete")
"""A turn fails if nothing is left of its answer."""


def _items(planter: Planter, number: int, shapes: Sequence[Shape], chooser: random.Random, *, whole: bool) -> Script:
    items: list[dict[str, Any]] = []
    shows: list[str] = []
    for at, shape in enumerate(shapes):
        text, shown = _filled(planter, shape)
        shows += shown
        items.append(_message(f"m{at}", text))
    response = {"object": "response", "status": "completed", "output": items}
    name = f"items-{number}"
    if whole:
        return Script(name, (json.dumps(response).encode(),), tuple(shows), _ENDS, content_type=_JSON)
    is_ascii = chooser.random() < 0.5
    events = [step for at, item in enumerate(items) for step in _item_events(at, item, chooser, is_ascii=is_ascii)]
    steps = scattered([*events, _event("response.completed", is_ascii=is_ascii, response=response)], chooser)
    return Script(name, tuple(steps), tuple(shows), _ENDS)


def _item_events(index: int, item: dict[str, Any], chooser: random.Random, *, is_ascii: bool) -> Iterator[bytes]:
    at: dict[str, Any] = {"item_id": item["id"], "output_index": index, "is_ascii": is_ascii}
    yield _event("response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})
    for piece in pieces(item["content"][0]["text"], chooser):
        yield _event("response.output_text.delta", content_index=0, delta=piece, **at)
    yield _event("response.output_item.done", output_index=index, item=item)


def _thoughts(planter: Planter, number: int, shapes: Sequence[Shape], vocabulary: Vocabulary, chooser: random.Random) -> Script:
    ids: list[int] = []
    for shape in shapes:
        text = shape.filled(planter.text(shape.name), planter.text(f"{shape.name}, its answer"))
        ids += ids_of("<|channel|>analysis<|message|>", vocabulary)
        ids += vocabulary.encode(text + _MORE)
        ids += ids_of("<|end|><|start|>assistant", vocabulary)
    shown = planter.show(f"final after thoughts {number}")
    ids += ids_of(f"<|channel|>final<|message|>Answer {shown}{_MORE}<|return|>", vocabulary)
    steps: list[bytes] = []
    while ids:
        count = chooser.randint(1, _MAX_IDS)
        steps.append(event({"choices": [{"index": 0, "text": "", "token_ids": ids[:count], "finish_reason": None}]}))
        ids = ids[count:]
    end = {"index": 0, "text": "", "token_ids": [], "finish_reason": "stop", "stop_reason": MARKER_IDS[Token.RETURN]}
    return Script(f"thoughts-{number}", tuple(scattered([*steps, event({"choices": [end]}), _DONE], chooser)), (shown,))


def ids_of(text: str, vocabulary: Vocabulary) -> list[int]:
    """Harmony text as token ids, with the ids of its markers."""
    return ids_of_pieces(pieces_of_text(text), vocabulary)


def _message(key: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": key, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _chunk(delta: dict[str, Any], finish: str | None = None, *, is_ascii: bool = True) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"object": "chat.completion.chunk", "choices": [choice]}, is_ascii=is_ascii)


def _event(kind: str, *, is_ascii: bool = True, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind, is_ascii=is_ascii)
