"""Frame headers: the fast path and the slow path return the same, and every fault has a location."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import Code, ParseHeaderError
from renderer.frame_kinds import BROKEN
from renderer.frames import Channel, Frame, Header, Terminator
from renderer.gate import Audience, may_see
from renderer.ocml import document, frame_header
from renderer.tokens import Token
from tests.renderer.examples import bodies, frames

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


@pytest.mark.parametrize(
    ("word", "role", "name"),
    [
        ("functions.x", "tool", "functions.x"),
        ("functions.a-B_9", "tool", "functions.a-B_9"),
        ("functions.", "functions.", None),
        ("functions.a.b", "functions.a.b", None),
        ("functions.a/b", "functions.a/b", None),
        ("Functions.x", "Functions.x", None),
        ("functionsxx", "functionsxx", None),
    ],
)
def test_only_the_legacy_role_of_a_function_is_a_tool(word: str, role: str, name: str | None) -> None:
    reading = frame_header.read(word)
    assert reading.header == Header(role, name=name)
    assert [fault.hides for fault in reading.faults] == ([] if name else [True])
    assert frame_header.canonical(Header(word)) == Header(role, name=name)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("system", False),
        ("user", False),
        ("assistant", False),
        ("developer", True),
        ("tool name=x", True),
        ("functions.x", True),
        ("robot", True),
        ("user name=ada", True),
        ("user content_type=text", True),
        ("assistant<|channel|>final", True),
        ("assistant<|constrain|>json", True),
    ],
)
def test_a_header_is_of_version_2_if_it_has_more_than_one_of_three_roles(raw: str, expected: bool) -> None:
    assert frame_header.read(raw).is_version_2 is expected
    assert frame_header.read_word_by_word(raw).is_version_2 is expected


@pytest.mark.parametrize(
    ("raw", "hides"),
    [
        ("user name=a\x7fb", [True]),
        ("user\nname=a", [True]),
        ("user\x0bname=a", [True]),
        ("user\tname=a", []),
        ("  user   name=a  ", []),
        ("user name=a name=a", []),
        ("assistant<|channel|>final to=user intent=preamble content_type=text", []),
        ("assistant<|channel|>final call_id=1", [False]),
        ("tool<|channel|>final name=x", [False]),
        ("assistant call_id=1<|channel|>final call_id=1", [False]),
        ("assistant call_id=1<|channel|>final call_id=2", [True]),
        ("user a<<|end|>", [True, True, True]),
        ("user<|literal|>", [True]),
    ],
)
def test_a_fault_hides_the_frame_unless_it_is_only_the_place_of_an_attribute(raw: str, hides: list[bool]) -> None:
    assert [fault.hides for fault in frame_header.read(raw).faults] == hides


def test_of_two_values_the_first_counts() -> None:
    raw = "user name=a name=b<|channel|>final name=c<|channel|>analysis<|constrain|>json<|constrain|>text"
    assert frame_header.read(raw).header == Header("user", "final", name="a", constrain="json")


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (Header("assistant", "commentary", "functions.x", "c1"), None),
        (Header("assistant", "commentary", "assistant", "c1"), None),
        (Header("assistant", "commentary", None, "c1"), Code.PARSE_HEADER),
        (Header("assistant", "commentary", "functions.x"), Code.PARSE_HEADER),
        (Header("user", "commentary", "functions.x", "c1"), Code.CALL_SCHEMA),
        (Header("tool", "commentary", "functions.x", "c1", "y"), Code.CALL_SCHEMA),
        (Header("assistant", "commentary", "user", "c1"), Code.CALL_SCHEMA),
        (Header("assistant", "commentary", "all", "c1"), Code.CALL_SCHEMA),
    ],
)
def test_a_call_needs_an_assistant_a_tool_and_an_id(header: Header, code: Code | None) -> None:
    fault = frame_header.fault_of_terminator(header, Terminator.CALL)
    assert (fault and fault.code) == code
    assert fault is None or fault.hides
    for terminator in (Terminator.END, Terminator.RETURN):
        assert frame_header.fault_of_terminator(header, terminator) is None


def test_a_header_is_written_in_one_order_and_no_value_escapes_a_token() -> None:
    full = Header("assistant", "final", "user", "c1", "n", "preamble", "text", "json")
    expected = "assistant to=user call_id=c1 name=n intent=preamble content_type=text<|channel|>final<|constrain|>json"
    assert frame_header.spelled(full) == expected
    assert frame_header.spelled(Header("user", name="a<")) == "user name=a< "
    assert frame_header.spelled(Header("user", "final", name="a<", constrain="b<")) == "user name=a< <|channel|>final<|constrain|>b< "


@pytest.mark.parametrize("length", [frame_header.HEADER_LIMIT, frame_header.HEADER_LIMIT + 1])
def test_a_header_is_written_up_to_the_length_that_is_read(length: int) -> None:
    header = Header("user", name="n" * (length - len("user name=")))
    if length > frame_header.HEADER_LIMIT:
        with pytest.raises(ParseHeaderError):
            frame_header.write(header)
    else:
        assert frame_header.write(header).endswith("n<|message|>")


def test_a_value_is_of_visible_ascii_characters_and_contains_no_token() -> None:
    visible = [chr(code) for code in range(0x21, 0x7F)]
    for value in ["".join(visible), *visible, "a<|", "<|end|", "<|End|>", "|end|>", "<end>"]:
        header = Header("user", name=value)
        written = frame_header.write(header).removeprefix(Token.START).removesuffix(Token.MESSAGE)
        assert frame_header.read(written).header == header and not frame_header.read(written).faults
    for value in ["\x00", "\x1f", " ", "\t", "\n", "\x7f", "\x80", "\xa0", "é", "", *Token, *(f"a{token}b" for token in Token)]:
        with pytest.raises(ParseHeaderError):
            frame_header.write(Header("user", name=value))


@pytest.mark.parametrize("character", ["\x00", "\x08", "\n", "\r", "\x1f", "\x7f", "\x80", "\x85", "\xa0", "\u2028", "é"])
def test_a_character_that_is_not_allowed_hides_the_frame_wherever_it_is(character: str) -> None:
    for raw in (f"{character}user", f"user{character}name=a", f"user name=a{character}", f"assistant<|channel|>final{character}"):
        foreign = [fault for fault in frame_header.read(raw).faults if "a character" in fault.hint]
        assert [(fault.at, fault.hides, fault.code) for fault in foreign] == [(raw.index(character), True, Code.PARSE_HEADER)]


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
        (Header("assistant", "a b"), BROKEN),
        (Header("assistant", ""), BROKEN),
        (Header("a b"), BROKEN),
        (Header(""), BROKEN),
        (Header("user", intent=""), BROKEN),
        (Header("user", "final", "a b"), BROKEN),
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
