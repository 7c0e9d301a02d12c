"""Frame headers: what is written is read, and every fault has a location."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import Code, ParseHeaderError
from renderer.frame_kinds import BROKEN
from renderer.frames import Channel, Frame, Header, Intent, Terminator
from renderer.gate import Audience, may_see
from renderer.ocml import document
from tests.renderer.examples import bodies, frames


@given(frames())
def test_a_header_that_was_written_has_no_fault(frame: Frame) -> None:
    assert document.parse_frame(document.dump_frame(frame)) == frame


_KNOWN_WORDS = ["user", "assistant", "tool", "final", "analysis", "preamble", "functions.x", "a/b"]
anything = st.none() | st.text(max_size=6) | st.sampled_from(_KNOWN_WORDS)


@given(
    st.builds(Header, anything.map(str), anything, anything, anything, anything, anything, anything, anything),
    bodies,
    st.sampled_from(list(Terminator)),
)
def test_any_frame_can_be_made_writable_and_nobody_sees_more_of_it(header: Header, body: str, terminator: Terminator) -> None:
    frame = Frame(header, body, terminator)
    written = document.writable(frame)
    assert document.parse_frame(document.dump_frame(written)) == written
    assert may_see(header, Audience.END_USER) or not may_see(written.header, Audience.END_USER)


@pytest.mark.parametrize(
    ("header", "written"),
    [
        (Header("assistant", "final", name="a b", content_type="", constrain="json"), Header("assistant", "final", constrain="json")),
        (Header("user", call_id="é", name="ada"), Header("user", name="ada")),
        (Header("assistant", "final", intent="a b"), BROKEN),
        (Header("assistant", "final", recipient=""), BROKEN),
        (Header("assistant", "finale"), BROKEN),
        (Header("assistant", ""), BROKEN),
        (Header("a b"), BROKEN),
        (Header("user", intent=""), BROKEN),
        (Header("assistant", "final", name="n" * 4096), BROKEN),
        (Header("robot"), BROKEN),
        (Header("tool", "commentary", name="a b"), BROKEN),
        (Header("functions.x", "commentary"), Header("tool", "commentary", name="functions.x")),
    ],
)
def test_an_invalid_value_is_left_out_unless_it_decides_who_may_see_the_frame(header: Header, written: Header) -> None:
    assert document.writable(Frame(header, "x")) == Frame(written, "x")


def test_a_frame_that_can_be_written_is_left_as_it_is() -> None:
    frame = Frame(Header("assistant", Channel.COMMENTARY, "functions.x", "c1"), "{}", Terminator.CALL)
    assert document.writable(frame) is frame


def test_a_lone_surrogate_is_replaced_where_a_frame_is_made_writable() -> None:
    frame = Frame(Header("user"), "a\ud800b")
    with pytest.raises(ParseHeaderError):
        document.dump_frame(frame)
    assert document.dump_frame(document.writable(frame)) == "<|start|>user<|message|>a\ufffdb<|end|>"


@pytest.mark.parametrize(
    ("raw", "faults", "hides"),
    [
        ("user name=a\x7fb", 1, True),
        ("user\nname=a", 1, True),
        ("user\x0bname=a", 1, True),
        ("user\tname=a", 0, False),
        ("  user   name=a  ", 0, False),
        ("user name=a name=a", 0, False),
        ("assistant<|channel|>final to=user intent=preamble content_type=text", 0, False),
        ("assistant<|channel|>final call_id=1", 1, False),
        ("tool<|channel|>final name=x", 1, False),
        ("assistant call_id=1<|channel|>final call_id=1", 1, False),
        ("assistant call_id=1<|channel|>final call_id=2", 1, True),
        ("user a<<|end|>", 3, True),
        ("user<|literal|>", 1, True),
    ],
)
def test_a_fault_hides_the_frame_unless_it_is_only_the_place_of_an_attribute(raw: str, faults: int, hides: bool) -> None:
    reading = document.read_leniently(f"<|start|>{raw}<|message|>x<|end|>", fragment=True)
    assert [problem.code for problem in reading.problems].count(Code.PARSE_HEADER) == faults
    (done,) = reading.finished
    assert (done.frame.header.intent == Intent.DEBUG) is hides
