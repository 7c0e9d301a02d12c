"""Frame headers: the fast path and the slow path return the same, and every fault has a location."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import Code
from renderer.frames import Frame, Header
from renderer.ocml import frame_header
from renderer.tokens import Token
from tests.renderer.examples import frames

_WORDS = [
    "user",
    "assistant",
    "tool",
    "functions.x",
    "robot",
    "to=a",
    "to=b",
    "call_id=1",
    "name=n",
    "intent=preamble",
    "content_type=json",
]
_PARTS = [*_WORDS, " ", " ", " ", "\t", "\n", "<|channel|>", "<|constrain|>", "final", "analysis", "json", "<", "=", "é", "<|end|>"]
headers = st.lists(st.sampled_from(_PARTS), max_size=10).map("".join)


@given(headers)
def test_the_fast_path_and_the_slow_path_agree(raw: str) -> None:
    assert frame_header.read(raw) == frame_header.read_word_by_word(raw)


@given(frames())
def test_a_header_that_was_written_has_no_fault(frame: Frame) -> None:
    raw = frame_header.write(frame.header).removeprefix(Token.START).removesuffix(Token.MESSAGE)
    reading = frame_header.read_word_by_word(raw)
    assert (reading.header, reading.faults) == (frame.header, ())
    assert frame_header.read(raw) == reading


@given(headers)
def test_faults_are_in_the_order_of_the_header(raw: str) -> None:
    faults = frame_header.read(raw).faults
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)
    assert all(0 <= fault.at <= len(raw) and fault.code is Code.PARSE_HEADER for fault in faults)


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        ("robot", 0),
        ("user name=a name=b", 12),
        ("user colour=red", 5),
        ("assistant<|channel|>finale", 20),
        ("assistant<|channel|>final<|channel|>final", 36),
        ("assistant<|channel|>commentary call_id=1", 31),
        ("user name=é", 10),
        ("", 0),
        ("tool", 0),
        ("tool<|channel|>final", 0),
        ("user name=", 5),
        ("user name", 5),
        ("user to=a to=b", 10),
        ("assistant<|channel|>", 20),
        ("assistant<|channel|>final name=n", 26),
        ("assistant<|constrain|>", 22),
        ("assistant<|constrain|>json text", 22),
        ("assistant<|constrain|>json<|constrain|>json", 39),
        ("assistant<|constrain|>json<|channel|>final", 37),
        ("assistant<|end|>", 16),
    ],
)
def test_a_fault_points_at_its_word(raw: str, at: int) -> None:
    assert [fault.at for fault in frame_header.read(raw).faults] == [at]


def test_a_legacy_role_is_written_as_the_tool_that_it_means() -> None:
    assert frame_header.write(Header("functions.x")) == "<|start|>tool name=functions.x<|message|>"
