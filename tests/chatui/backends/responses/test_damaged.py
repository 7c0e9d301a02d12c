"""Recorded Responses streams with random damage: whatever is lost, duplicated, moved or renamed, no reasoning becomes visible."""

import json
import random
from itertools import chain
from typing import Any

from chatui.backends.sse import Decoder
from renderer.events import Assembler
from renderer.gate import Audience, may_see
from tests.support import raw_answers
from tests.support.cases import for_each, seeds
from tests.support.places import RECORDINGS

CANARY = "RAW-COT-CANARY"
# Without a response template, transformers serve puts all model output into the answer: a case for the leak guard, tested elsewhere.
UNTOLD = ("responses-transformers-cut", "responses-transformers-greet", "responses-transformers-trip", "responses-transformers-weather")
STREAMS = sorted(path.name for path in RECORDINGS.glob("responses-*.[st]*") if not path.name.startswith(UNTOLD))
_LOST_NAMES = ("item_id", "output_index", "content_index", "sequence_number", "summary_index")


def events_of(name: str) -> list[dict[str, Any]]:
    """The events of a recording, with the texts of reasoning items and the arguments of calls replaced by the canary."""
    raw = (RECORDINGS / name).read_bytes()
    events = [json.loads(event.data) for event in Decoder(1 << 20).feed(raw) if event.data.startswith("{")]
    return [_with_canary(event) for event in events if "type" in event]


def _with_canary(event: dict[str, Any]) -> dict[str, Any]:
    kind = event["type"]
    if "reasoning" in kind or "arguments" in kind:
        event = {**event, **{name: CANARY for name in ("delta", "text", "arguments") if isinstance(event.get(name), str)}}
    if isinstance(event.get("item"), dict):
        event = {**event, "item": _item_with_canary(event["item"])}
    if isinstance(event.get("part"), dict) and event["part"].get("type") in ("reasoning_text", "summary_text"):
        event = {**event, "part": {**event["part"], "text": CANARY}}
    response = event.get("response")
    if isinstance(response, dict):
        output = [_item_with_canary(item) for item in response.get("output") or []]
        event = {**event, "response": {**response, "output": output, "instructions": CANARY}}
    return event


def _item_with_canary(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "message":
        return item
    parts = [{"type": "output_text", "text": CANARY}]
    return {**item, "content": parts, "summary": parts, "encrypted_content": CANARY, "arguments": json.dumps({"a": CANARY})}


def damaged(events: list[dict[str, Any]], chooser: random.Random) -> list[dict[str, Any]]:
    """Drop, duplicate and swap events, and remove the fields that identify them."""
    left: list[dict[str, Any]] = []
    lost = chooser.sample(_LOST_NAMES, chooser.randint(0, 2))
    for event in events:
        roll = chooser.random()
        if roll < 0.1:
            continue
        event = {name: value for name, value in event.items() if name not in lost or chooser.random() < 0.5}
        left += [event, event] if roll < 0.2 else [event]
        if roll > 0.9 and len(left) > 1 and "reasoning" not in event["type"]:
            left[-1], left[-2] = left[-2], left[-1]
    return left


@for_each(STREAMS)
def test_no_damaged_stream_makes_reasoning_visible(name: str) -> None:
    events = events_of(name)
    hidden_at_all = 0
    for seed in seeds(60):
        assembler, left = Assembler(), damaged(events, random.Random(seed))
        raws = chain(*raw_answers.over_responses(left, breaks=seed % 2 == 0))
        frames = [done.frame for raw in raws if (done := assembler.feed(raw))]
        for frame in frames:
            if may_see(frame.header, Audience.END_USER):
                assert CANARY not in frame.body, seed
            hidden_at_all += CANARY in frame.body
    assert hidden_at_all or CANARY not in json.dumps([{**event, "response": None} for event in events])
