"""The rows of the quirk catalogue that concern a backend: text without markers, and events of servers."""

from __future__ import annotations

import json

import pytest

from chatui.backends.base import BackendError
from chatui.backends.chat.backend import _Reader
from chatui.backends.chat.deltas import Deltas
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from renderer.events import Assembler
from renderer.gate import Audience, show, visible
from tests.support.places import QUIRKS

ROWS = {row["id"]: row for row in map(json.loads, QUIRKS.read_text("utf-8").splitlines())}
WIRE = [row for row in ROWS.values() if row["mode"] == "wire"]
STRIPPED = [row for row in ROWS.values() if row["mode"] == "stripped"]


def deltas() -> Deltas:
    return Deltas(lambda: "call_1", max_chars=10_000)


def visible_text(raws: list) -> str:
    assembler = Assembler()
    frames = [done.frame for raw in raws if (done := assembler.feed(raw))]
    return "".join(show(frame, Audience.END_USER) for frame in visible(frames, Audience.END_USER))


@pytest.mark.parametrize("row", [row for row in WIRE if "choices" in row["raw"]], ids=lambda row: row["id"])
def test_an_odd_server_event_shows_exactly_the_visible_text(row: dict[str, str]) -> None:
    reader = deltas()
    events = reader.feed(json.loads(row["raw"]))
    rest, _ = reader.finish()
    assert visible_text([*events, *rest]) == row["visible"]


def test_content_of_a_non_final_channel_is_hidden() -> None:
    reader = deltas()
    events = reader.feed({"choices": [{"index": 0, "delta": {"content": "SECRET", "channel": "analysis"}}]})
    events += reader.feed({"choices": [{"index": 0, "delta": {"content": "Hello", "channel": "final"}}]})
    rest, _ = reader.finish()
    assert visible_text([*events, *rest]) == "Hello"


def test_an_error_with_a_success_status_is_an_error() -> None:
    with pytest.raises(BackendError) as refused:
        list(_Reader(deltas()).feed([ServerSentEvent("message", ROWS["srv-200-error"]["raw"])]))
    assert refused.value.code == ProductCode.BACKEND_REFUSED


def test_an_event_of_another_wire_format_shows_nothing() -> None:
    reader = deltas()
    assert reader.feed(json.loads(ROWS["srv-reasoning-output-text"]["raw"])) == []


@pytest.mark.parametrize("row", STRIPPED, ids=lambda row: row["id"])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_answer_with_stripped_markers_shows_its_proven_part_through_the_adapter(row: dict[str, str], size: int) -> None:
    reader = deltas()
    raw, field = row["raw"], "delta" if size else "message"
    parts = [raw[start : start + size] for start in range(0, len(raw), size)] if size else [raw]
    events = [event for part in parts for event in reader.feed({"choices": [{"index": 0, field: {"content": part}}]})]
    events += reader.feed({"choices": [{"index": 0, "finish_reason": "stop"}]})
    rest, _ = reader.finish()
    assert visible_text([*events, *rest]) == row["visible"]
