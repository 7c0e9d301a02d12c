"""Joining chunks that were read together: only their number changes."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatui.backends.chat.deltas import Deltas
from chatui.backends.joining import joined
from chatui.backends.sse import ServerSentEvent
from renderer.events import Assembler, RawEvent

EVENT = ServerSentEvent("", "")


def chunk(finish: str | None = None, more: dict[str, Any] | None = None, **delta: object) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **(more or {})}


def texts(*chunks: Any, name: str = "content") -> list[Any]:
    found = [read for _, read in joined([(EVENT, deepcopy(each)) for each in chunks])]
    return [read["choices"][0]["delta"].get(name) if isinstance(read, dict) and read.get("choices") else read for read in found]


def test_chunks_that_differ_only_in_text_are_joined() -> None:
    assert texts(chunk(content="a"), chunk(content=" b"), chunk(content=" c")) == ["a b c"]
    assert texts(chunk(reasoning="a"), chunk(reasoning=" b"), name="reasoning") == ["a b"]
    assert texts(chunk(role="assistant", content=""), chunk(content="a"), chunk(content="b")) == ["", "ab"]


@pytest.mark.parametrize(
    "other",
    [
        None,
        7,
        {},
        {"error": "broken"},
        chunk(content="b", channel="analysis"),
        chunk(content="b", reasoning="c"),
        chunk(content="b", tool_calls=[{"index": 0}]),
        chunk(content=["b"]),
        chunk(content="b", role="tool"),
        chunk(reasoning="b"),
        chunk("stop", content="b"),
        chunk(content="b", more={"usage": {"completion_tokens": 2}}),
        {"id": "1", "choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": None}]},
        {"id": "1", "choices": [*chunk(content="b")["choices"], *chunk(content="c")["choices"]]},
    ],
)
def test_chunks_that_differ_otherwise_stay_separate(other: object) -> None:
    found = [read for _, read in joined([(EVENT, deepcopy(each)) for each in (chunk(content="a"), other, chunk(content="d"))])]
    assert found == [chunk(content="a"), other, chunk(content="d")]


def test_a_named_event_is_not_joined() -> None:
    events = [(EVENT, chunk(content="a")), (ServerSentEvent("error", ""), chunk(content="b"))]
    assert [read for _, read in joined(events)] == [chunk(content="a"), chunk(content="b")]


DELTAS = [
    {"role": "assistant", "content": ""},
    *(
        {"content": text}
        for text in ("word", " and", " more.", "\n", "<think>", "</think>", "analysis", "<|", "end", "|>", "assistantfinal")
    ),
    *({"reasoning_content": text} for text in ("hm", " so")),
    {"content": "x", "channel": "analysis"},
    {"thought": True},
    {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]},
]


def deltas_of(chunks: list[dict[str, Any]]) -> list[object]:
    deltas, assembler = Deltas(lambda: "call_1", max_chars=1000), Assembler()
    events: list[RawEvent] = [event for each in chunks for event in deltas.feed(each)]
    events += deltas.finish()[0]
    return [(done.frame, done.error) for event in events if (done := assembler.feed(event))]


@given(st.lists(st.sampled_from(DELTAS), max_size=12))
def test_joined_chunks_give_the_same_frames(received: list[dict[str, Any]]) -> None:
    chunks = [*(chunk(**delta) for delta in received), chunk("stop")]
    assert deltas_of([read for _, read in joined([(EVENT, deepcopy(each)) for each in chunks])]) == deltas_of(deepcopy(chunks))


def test_white_space_at_the_beginning_and_text_with_a_reason_to_stop_stay_alone() -> None:
    assert texts(chunk(content=" "), chunk(content="a"), chunk(content="b")) == [" ", "ab"]
    assert texts(chunk("stop", content="a"), chunk("stop", content="b")) == ["a", "b"]


def test_empty_fields_beside_the_text_do_not_keep_chunks_apart() -> None:
    assert texts(chunk(content="a", refusal=None, role="assistant"), chunk(content="b", refusal=None, role="assistant")) == ["ab"]
    assert texts(chunk(content="a", reasoning=""), chunk(content="b", reasoning="")) == ["ab"]
    assert texts(chunk(content="a", reasoning="x"), chunk(content="b", reasoning="x")) == ["a", "b"]


def test_text_of_one_field_is_never_joined_to_that_of_another() -> None:
    chunks = [chunk(content="a", reasoning=""), chunk(content="", reasoning="b")]
    assert (texts(*chunks), texts(*chunks, name="reasoning")) == (["a", ""], ["", "b"])
