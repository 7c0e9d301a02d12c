"""More than 550 answers that were written to get past the wall, over Chat Completions and, wrapped as messages, over Responses.

What must stay hidden is hidden at every moment. Where the server sent its reasoning in a field of its own, honest text is whole and
streams; elsewhere as many honest answers are whole as the judgement of the whole text leaves.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from chatui.backends.chat.deltas import Deltas
from chatui.backends.responses.reducer import Reducer
from renderer.events import RawEvent
from renderer.gate import Audience, Gate, VisibleDelta, VisibleOpened, VisibleWithdrawn
from tests.support.cases import for_each

Row = dict[str, Any]
ROWS: list[Row] = [json.loads(line) for line in (Path(__file__).parent / "data" / "wall.jsonl").read_text("utf-8").splitlines()]
SECRET = "SECRETzzq"
STREAMS_BEYOND = 60
"""A shorter text may be held for its last characters."""
WHOLE_WITHOUT_PROOF = 84
"""Of 102 honest answers. It may only grow."""


def of(*verdicts: str) -> list[Row]:
    return [row for row in ROWS if row["verdict"] in verdicts]


def pieces(text: str, seed: int | None) -> list[str]:
    if seed is None:
        return [text]
    chooser, cut = random.Random(seed), list[str]()
    while text:
        length = chooser.randint(1, 20)
        cut.append(text[:length])
        text = text[length:]
    return cut


def chunks(row: Row, seed: int | None) -> Iterator[Row]:
    """The chunks of a row; as one body without ``seed``."""
    if "chunks" in row:
        yield from row["chunks"]
        return
    is_whole = row["whole"] if "deltas" in row else seed is None
    name, field = "message" if is_whole else "delta", row.get("reasoning_field", "")
    if "deltas" in row:
        deltas = row["deltas"]
    elif is_whole:
        deltas = [{"content": row["content"]} | ({field: row["reasoning"]} if field else {})]
    else:
        deltas = [
            *({field: piece} for piece in pieces(row.get("reasoning", ""), seed)),
            *({"content": p} for p in pieces(row["content"], seed)),
        ]
    around, choice = row.get("event", {}), {"index": 0, **row.get("choice", {})}
    yield from ({"choices": [{name: delta, **choice}], **around} for delta in deltas)
    if row.get("finish", "stop"):
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": row.get("finish", "stop")}]}


def over_chat(row: Row, seed: int | None) -> tuple[list[RawEvent], list[RawEvent]]:
    reader = Deltas(lambda: "c", max_chars=100_000)
    events = [raw for chunk in chunks(row, seed) for raw in reader.feed(chunk)]
    return events, reader.finish()[0] if row.get("finish", "stop") else reader.break_off()


def over_responses(row: Row, seed: int | None) -> tuple[list[RawEvent], list[RawEvent]]:
    reader, text = Reducer(lambda: "c", max_chars=100_000), row["content"]
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    thought = {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": row.get("reasoning", "")}]}
    items = [thought, message] if "reasoning" in row else [message]
    events: list[Row] = []
    if seed is not None:
        events += [{"type": "response.output_item.done", "item": item} for item in items[:-1]]
        events.append({"type": "response.output_item.added", "item": {**message, "content": []}})
        events += [{"type": "response.output_text.delta", "item_id": "m", "delta": piece} for piece in pieces(text, seed)]
    events.append({"type": "response.completed", "response": {"status": "completed", "output": items}})
    return [raw for event in events for raw in reader.feed(event["type"], event)], reader.finish()[0]


def seen(events: list[RawEvent]) -> tuple[str, str]:
    """What is visible at the end, and all that ever was."""
    gate, messages, ever = Gate(Audience.END_USER), list[str](), ""
    for event in events:
        match gate.admit(event):
            case VisibleOpened():
                messages.append("")
            case VisibleDelta(text=text):
                messages[-1] += text
                ever += text
            case VisibleWithdrawn():
                messages.pop()
    return "".join(messages), ever


FORMATS = {"chat": over_chat, "responses": over_responses}


def in_format(row: Row, name: str) -> bool:
    return name == "chat" or ("content" in row and row.keys().isdisjoint(("choice", "event", "finish")))


@for_each(of("hides"))
def test_what_must_stay_hidden_is_hidden_at_every_moment(row: Row) -> None:
    for name, over in FORMATS.items():
        for seed in (None, 1, 2) if in_format(row, name) else ():
            begun, rest = over(row, seed)
            assert SECRET not in seen([*begun, *rest])[1], (name, seed)


@for_each(of("honest-structured"))
def test_honest_text_behind_separated_reasoning_is_whole_and_streams(row: Row) -> None:
    expected = row.get("expect", row.get("content"))
    for name, over in FORMATS.items():
        for seed in (None, 1, 2) if in_format(row, name) else ():
            begun, rest = over(row, seed)
            assert seen([*begun, *rest])[0] == expected, (name, seed)
            may_be_call = expected.startswith('{"name":')
            assert seed is None or len(expected) <= STREAMS_BEYOND or may_be_call or seen(begun)[0], (name, seed)


@pytest.mark.parametrize("name", FORMATS)
def test_honest_text_is_whole_without_proof_as_often_as_before(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = of("honest")
    readable = [row for row in rows if in_format(row, name)]
    whole = [row for row in readable if seen(list(chain(*FORMATS[name](row, 1))))[0] == row.get("expect", row.get("content"))]
    with capsys.disabled():
        print(f"\n  whole without proof over {name}: {len(whole)} of {len(readable)} honest answers")
    assert len(whole) >= WHOLE_WITHOUT_PROOF - (len(rows) - len(readable))
