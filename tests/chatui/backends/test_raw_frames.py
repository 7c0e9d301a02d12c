"""Frames as they are written one after another: what is withdrawn, and what the open frame becomes then."""

from __future__ import annotations

from chatui.backends.raw_frames import FrameSource, FrameWriter, call_frame, leak, tool_name
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header, Terminator
from tests.support.cases import for_each


@for_each(
    [
        *(f"lab_pick{rest}" for rest in ("", "<|channel|>commentary", "<|constrain|>json", "<|channel|>analysis", "<|call|>", " json")),
        *(
            "functions.lab_pick<|channel|>commentary",
            " lab_pick",
            "lab_pick\n",
            "lab_pick commentary",
            "to=lab_pick",
            "commentary to=lab_pick",
        ),
        "assistant<|channel|>commentary to=functions.lab_pick",
        "assistant<|channel|>commentary to=functions.lab_pick <|constrain|>json<|message|>to=x",
        'lab_pick<|message|>{"a": "to=x"}',
    ]
)
def test_the_name_of_a_call_is_cut_out_of_its_header(name: str) -> None:
    opened = call_frame("c", name, "{}", None)[0]
    assert isinstance(opened, FrameOpened) and opened.header.recipient == "functions.lab_pick"


@for_each([("", "no_name"), ("<|call|>lab_pick", "no_name"), ("é", "no_name"), ("x" * 65, "no_name"), ("lab_pickjson", "lab_pickjson")])
def test_a_name_that_is_none_is_never_that_of_a_tool(name: str, known_as: str) -> None:
    assert tool_name(name) == known_as


@for_each([ANSWER, PREAMBLE])
def test_a_frame_that_people_see_is_withdrawn_and_holds_what_is_hidden_of_the_same_message(header: Header) -> None:
    writer = FrameWriter()
    assert writer.write(FrameSource(3, "text", header), "so") == [FrameOpened(header), FrameText("so")]
    assert writer.withdraw() == [FrameWithdrawn()]
    assert writer.withdraw() == [], "it is hidden already"
    assert writer.write(leak(3, is_withheld=True), "more") == [FrameText("more")]
    assert writer.close(Terminator.RETURN) == [FrameClosed(Terminator.END, ProductCode.WITHHELD)], "and the page says so"


@for_each([ANALYSIS, BROKEN])
def test_a_hidden_frame_is_not_withdrawn(header: Header) -> None:
    writer = FrameWriter()
    assert writer.withdraw() == [], "nothing is open"
    writer.write(FrameSource(3, "text", header, Code.PARSE_HEADER), "so")
    assert writer.withdraw() == []
    assert writer.close(Terminator.END) == [FrameClosed(Terminator.END, Code.PARSE_HEADER)], "its own error stays"
